"""What the memory is owed: a look at what a landing teaches, a ruling on what is asked.

All of it follows from records, so a restart owes the same, and nothing twice. What
comes of the memory's own work is never looked at again: no landing of a task that
distils, and none of the memory's executor, teaches anything.
"""

from collections.abc import Iterator
from typing import Final

from gitagent.core.action import Action, AddTask, Remember, Submit
from gitagent.core.distil import landing_of, task_of
from gitagent.core.layout import TASKS
from gitagent.core.remembering import Ruling
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import ENDED_WELL, Attempt, Outcome, TaskRecord

AGAIN: Final = 3  # rulings that may follow one whose commit the lander rejected

# The attempt that follows one of these goes on with what it had begun.
_GOES_ON: Final = frozenset({Outcome.QUESTION, Outcome.INTERRUPTED, Outcome.CLAIMED})


def decide_memory(snapshot: Snapshot, now: Moment) -> list[Action]:
    """Return what is owed: tasks that distil, submissions of rulings, one ruling."""
    known = snapshot.memory.readable and snapshot.settings is not None
    if not known or snapshot.target.commit is None:
        return []
    return [*_distil(snapshot), *_submit(snapshot, now), *_rule(snapshot, now)]


def teaches(submission: Submission, snapshot: Snapshot) -> bool:
    """Whether the landing of a submission is to be looked at.

    That is the work of a task that landed under settings which want it.
    """
    return (
        submission.state is SubmissionState.LANDED
        and submission.task is not None
        and not submission.remembers
        and landing_of(submission.task) is None
        and (submission.config or "") in snapshot.memory.distillers
    )


def owed(snapshot: Snapshot) -> list[Remember]:
    """Return the rulings that tasks are owed, the oldest first.

    A ruling is about all that the attempts up to its own have proposed. One whose
    commit was rejected is made anew on what the target has by then, a few times.
    """
    ruled: dict[str, list[Ruling]] = {}
    for each in snapshot.memory.rulings:
        ruled.setdefault(each.task, []).append(each)
    found = []
    for record in snapshot.records.values():
        known = ruled.get(record.id, [])
        if record.settled and (known or any(a.proposed for a in record.attempts)):
            again = _again(record, known, snapshot)
            found.append(again or _first(record, known, snapshot))
    some = [each for each in found if each is not None]
    return sorted(some, key=lambda each: (each.record.since, each.record.id))


def weighed(action: Remember) -> tuple[tuple[Attempt, str], ...]:
    """Return the attempts that a ruling is about, with why what each says is dropped.

    "" for the one whose work passed, and for those that it had gone on from.
    """
    found: list[tuple[Attempt, str]] = []
    why = action.dropped
    for each in reversed(action.record.attempts):
        if not action.after < each.number <= action.upto:
            continue
        if each.number < action.upto and each.outcome not in _GOES_ON:
            why = why or f"Attempt {each.number} did not pass, and another followed."
        found.append((each, why))
    return tuple(reversed(found))


def _distil(snapshot: Snapshot) -> Iterator[AddTask]:
    if not snapshot.memory.distillers:
        return
    refused = {each.path for each in snapshot.refused}
    new = []
    for each in snapshot.submissions.values():
        name = task_of(each.id)
        known = (
            name in snapshot.tasks
            or name in snapshot.finished
            or name in snapshot.records
            or f"{TASKS}{name}.md" in refused
        )
        if not known and teaches(each, snapshot):
            new.append(each)
    for each in sorted(new, key=lambda s: (s.since, s.id)):
        yield AddTask(each, snapshot.memory.distillers[each.config or ""])


def _unsubmitted(snapshot: Snapshot) -> Iterator[Ruling]:
    """Yield the rulings whose commit has not been handed to the lander yet."""
    known = snapshot.memory.archived
    for each in snapshot.memory.rulings:
        name = each.submission
        if name and name not in snapshot.submissions and name not in known:
            yield each


def _submit(snapshot: Snapshot, now: Moment) -> Iterator[Submit]:
    for each in _unsubmitted(snapshot):
        yield Submit(
            Submission(
                id=each.submission,
                tip=each.commit,
                state=SubmissionState.QUEUED,
                created=now.precise,
                since=now.stamp,
                submitter=each.by,
                priority=_priority(each.task, snapshot),
                remembers=True,
            )
        )


def _priority(task: str, snapshot: Snapshot) -> int:
    """Return the priority of the work that something was learned from."""
    record, file = snapshot.records.get(task), snapshot.tasks.get(task)
    work = landing_of(task) or (record.submission if record else None) or ""
    submission = snapshot.submissions.get(work)
    if submission is not None:
        return submission.priority
    return file.priority if file else 0


def _rule(snapshot: Snapshot, now: Moment) -> Iterator[Remember]:
    """Yield one ruling at most: the next has to be told what this one does."""
    if snapshot.live.remembering:
        return
    under_way: bool | None = None
    for each in owed(snapshot):
        due = snapshot.live.waits.get(f"remember {each.record.id}", 0.0)
        if due > now.monotonic:
            continue
        if not each.dropped and under_way is None:
            under_way = _under_way(snapshot)
        if each.dropped or not under_way:
            yield each
            return


def _under_way(snapshot: Snapshot) -> bool:
    """Whether the target does not have all yet that was ruled on."""
    made = (each for each in snapshot.submissions.values() if each.remembers)
    return any(not each.settled for each in made) or any(_unsubmitted(snapshot))


def _first(
    record: TaskRecord, ruled: list[Ruling], snapshot: Snapshot
) -> Remember | None:
    """Return the ruling on what was proposed since the newest one."""
    after = max((each.attempt for each in ruled), default=0)
    if any(each.proposed and each.number > after for each in record.attempts):
        return Remember(record, after, record.attempt, _dropped(record, snapshot))
    return None


def _dropped(record: TaskRecord, snapshot: Snapshot) -> str:
    if record.state not in ENDED_WELL:
        return f"The work did not pass: task {record.id} is {record.state}."
    landed = snapshot.submissions.get(record.submission or "")
    if landed is not None and teaches(landed, snapshot):
        return f"It is left to {task_of(landed.id)}, which looks at what was learned."
    return ""


def _again(
    record: TaskRecord, ruled: list[Ruling], snapshot: Snapshot
) -> Remember | None:
    """Return the ruling that follows one whose commit was rejected."""
    newest = ruled[-1] if ruled else None
    submission = snapshot.submissions.get(newest.submission) if newest else None
    if (
        newest is None
        or submission is None
        or submission.state is not SubmissionState.REJECTED
    ):
        return None
    same = [each for each in ruled if each.attempt == newest.attempt]
    before = [each.attempt for each in ruled if each.attempt < newest.attempt]
    why = ""
    if len(same) > AGAIN:
        reason = submission.reason or "It was rejected."
        why = f"The lander has rejected it {len(same)} times, at last since: {reason}"
    return Remember(record, max(before, default=0), newest.attempt, why)
