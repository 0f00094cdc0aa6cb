"""Tasks that look at a landing, told by their names, which gitagent alone gives."""

import re
from typing import Final

from gitagent.core.layout import DONE, TASKS

KIND: Final = "distil"  # of such a task

_PREFIX: Final = "distil-"  # and the submission that landed
_NAME: Final = re.compile(rf"{_PREFIX}(s-[0-9a-f]{{1,64}})")


def task_of(submission: str) -> str:
    """Return the id of the task that says what a landing teaches."""
    return f"{_PREFIX}{submission}"


def landing_of(task: str) -> str | None:
    """Return the submission that a task distils; None if it is no such task."""
    found = _NAME.fullmatch(task)
    return found[1] if found else None


def is_file(path: str) -> bool:
    """Whether a path is the file of such a task, open or done."""
    name = path.removeprefix(DONE).removeprefix(TASKS)
    return path.startswith(TASKS) and landing_of(name.removesuffix(".md")) is not None
