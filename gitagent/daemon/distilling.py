"""What a task that distils is, and what its attempt begins with."""

from typing import TYPE_CHECKING

from gitagent.core.exposure import Told
from gitagent.core.submission import Submission
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository

if TYPE_CHECKING:
    from gitagent.memory.shelf import Shelf

PRODUCER = "distilling"


def task_file(submission: Submission, agent: str) -> bytes:
    """Return the file of the task that says what a landing teaches; always the same."""
    raise NotImplementedError


def material(
    repo: Repository, objects: Objects, shelf: "Shelf", submission: str
) -> tuple[Told, ...]:
    """Return what is known of a landing, for the attempt that distils it.

    ``submission`` is its id; of a task's id that is what follows ``tending.DISTIL``.
    The note, the claims of who did the work, what it changed, what its attempts have
    proposed, and all items with their sources. What cannot be read is said to be
    missing. The landing need not be on the target any more.
    """
    return ()
