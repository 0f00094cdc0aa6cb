"""The log of the memory: every ruling, as a chain of records.

A ruling stands there before its commit is on the target, and keeps it alive. Whether
it came to be is for the target's history to say: a reader asks it.
"""

from gitagent.core.remembering import Ruling
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository


def append(
    repo: Repository, ruling: Ruling, old: str | None, objects: Objects | None = None
) -> Ruling:
    """Add a ruling to the log, which is at ``old``; return it as recorded.

    Raises:
        LostRace: the log is elsewhere; nothing happened.
    """
    raise NotImplementedError


def read_all(objects: Objects) -> list[Ruling]:
    """Return every ruling that can be read, the oldest first."""
    raise NotImplementedError


def blobs(objects: Objects) -> frozenset[tuple[str, str]]:
    """Return (slug, blob) of each file that a ruling's commit made."""
    raise NotImplementedError
