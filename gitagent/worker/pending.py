"""Stand-ins while their modules are being written."""

from gitagent.core.question import Question
from gitagent.core.usage import NOTHING, Usage
from gitagent.git.objects import Objects

NAME = "question.json"
LIMIT = 64 * 1024


def parse(data: bytes) -> tuple[Question, ...]:
    """Return nothing yet."""
    del data
    return ()


def usage(objects: Objects, task: str, attempt: int) -> Usage:
    """Return nothing yet."""
    del objects, task, attempt
    return NOTHING
