"""A task's state for whoever goes on, told by its record, its submission and its diff."""

from collections.abc import Collection, Sequence

from gitagent.core.candidate import PathChange
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord

_NONE: frozenset[str] = frozenset()


def handoff(
    record: TaskRecord,
    submission: Submission | None,
    changes: Sequence[PathChange],
    withdrawn: Collection[str] = _NONE,
) -> str:
    """Return a task's state as Markdown; "" before its first attempt.

    ``changes`` is what its work does to the target so far, ``withdrawn`` the slugs of
    items that were taken back. All that others wrote is between fences or quoted, but
    not cleaned; see `files.clean`.
    """
    raise NotImplementedError
