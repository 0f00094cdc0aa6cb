"""Tasks that look at a landing, told by their names."""

from typing import Final

KIND: Final = "distil"  # of such a task

_PREFIX: Final = "distil-"  # and the submission that landed


def task_of(submission: str) -> str:
    """Return the id of the task that says what a landing teaches."""
    return f"{_PREFIX}{submission}"


def landing_of(task: str) -> str | None:
    """Return the submission that a task distils; None if it is no such task."""
    return task.removeprefix(_PREFIX) if task.startswith(_PREFIX) else None
