"""What the memory is owed: a look at what a landing teaches, a ruling on what is asked.

Both follow from records alone, so a restart owes the same, and nothing twice. What
comes of the memory's own work is never looked at again: no task that distils, and no
submission of the memory executor, teaches anything.
"""

from collections.abc import Iterator
from typing import Final

from gitagent.core.action import Action, AddTask, Remember, Submit
from gitagent.core.layout import TASKS
from gitagent.core.remembering import Ruling
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord, TaskState

DISTIL: Final = "distil-"  # and the submission: the id of the task that looks at it
KIND: Final = "distil"  # of such a task
AGAIN: Final = 3  # rulings after one whose commit the lander rejected

_ENDED_WELL = frozenset({TaskState.LANDED, TaskState.DONE})


def decide_memory(snapshot: Snapshot, now: Moment) -> list[Action]:
    """Return what is owed: tasks that distil, submissions of rulings, one ruling."""
    if snapshot.target.commit is None or snapshot.settings is None:
        return []
    return [
        *_distil(snapshot),
        *_submit(snapshot, now),
        *_rule(snapshot, now),
    ]


def distils(submission: Submission) -> str:
    """Return the id of the task that says what a landing teaches."""
    return f"{DISTIL}{submission.id}"


def teaches(submission: Submission, snapshot: Snapshot) -> bool:
    """Whether a submission is one whose landing is to be looked at.

    That is the work of a task that landed under settings which want it.
    """
    return (
        submission.state is SubmissionState.LANDED
        and submission.task is not None
        and not submission.remembers
        and not submission.task.startswith(DISTIL)
        and (submission.config or "") in snapshot.memory.distillers
    )


def owes(record: TaskRecord, snapshot: Snapshot) -> Remember | None:
    """Return the ruling that a task is owed; None: none is.

    A ruling is about all that the attempts up to its own have proposed.
    """
    if not record.settled:
        return None
    ruled = _ruled(record.id, snapshot)
    upto = max((each.attempt for each in ruled), default=0)
    if any(each.proposed and each.number > upto for each in record.attempts):
        return Remember(record, _dropped(record, snapshot))
    return _again(record, ruled, snapshot) if ruled else None


def _distil(snapshot: Snapshot) -> Iterator[AddTask]:
    refused = {each.path for each in snapshot.refused}
    for each in sorted(snapshot.submissions.values(), key=lambda s: (s.since, s.id)):
        if not teaches(each, snapshot):
            continue
        name = distils(each)
        known = (
            name in snapshot.tasks
            or name in snapshot.finished
            or name in snapshot.records
            or f"{TASKS}{name}.md" in refused
        )
        if not known:
            yield AddTask(each, snapshot.memory.distillers[each.config or ""])


def _submit(snapshot: Snapshot, now: Moment) -> Iterator[Submit]:
    return iter(())


def _rule(snapshot: Snapshot, now: Moment) -> Iterator[Remember]:
    return iter(())


def _ruled(task: str, snapshot: Snapshot) -> list[Ruling]:
    return [each for each in snapshot.memory.rulings if each.task == task]


def _dropped(record: TaskRecord, snapshot: Snapshot) -> str:
    return ""


def _again(
    record: TaskRecord, ruled: list[Ruling], snapshot: Snapshot
) -> Remember | None:
    return None
