"""What happens next to each task.

The committed file says what is wanted, the record how far it has come, the live
facts what runs here; each task is decided on its own, first match wins. A state that
needs nothing gives no action, so deciding again after enacting gives nothing new.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitagent.core import answering
from gitagent.core.action import (
    Action,
    MoveDone,
    RecoverAttempt,
    StartAttempt,
    StopAttempt,
    Submit,
    WriteTask,
)
from gitagent.core.admission import Never, Ready, Wait, admit, agent_of
from gitagent.core.ending import GONE, account, changed, failed, step, submission_of
from gitagent.core.layout import ANSWERS
from gitagent.core.question import Misfit
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import (
    ENDED_WELL,
    Attempt,
    Land,
    Outcome,
    TaskFile,
    TaskRecord,
    TaskState,
)

_ANSWERABLE = (None, answering.ANSWER)  # requests


def decide_tasks(snapshot: Snapshot, now: Moment) -> list[Action]:
    """Return what is to be done about every task, most urgent first."""
    actions: list[Action] = []
    for record in snapshot.records.values():
        if record.id not in snapshot.tasks:
            actions += _without_file(record, snapshot, now)
    busy = len(snapshot.live.attempts)
    for task in _in_order(snapshot):
        for action in _with_file(
            task, snapshot.records.get(task.id), snapshot, now, busy
        ):
            busy += isinstance(action, StartAttempt)
            actions.append(action)
    return actions


def _in_order(snapshot: Snapshot) -> list[TaskFile]:
    def key(task: TaskFile) -> tuple[int, str, str]:
        record = snapshot.records.get(task.id)
        return (-task.priority, record.since if record else "~", task.id)

    return sorted(snapshot.tasks.values(), key=key)


def _without_file(
    record: TaskRecord, snapshot: Snapshot, now: Moment
) -> Iterator[Action]:
    submission = _submission(record, snapshot)
    if record.id in snapshot.live.attempts or record.state is TaskState.RUNNING:
        yield from _running(record, None, snapshot, now)
    elif submission and submission.state is SubmissionState.LANDED:
        yield from _follow(record, submission, snapshot, now)
    elif (other := _closed_by(record, snapshot)) and not record.settled:
        reason = f"Somebody did it: {other.id} landed for it."
        yield step(record, TaskState.STOPPED, now, reason, request=None)
    elif not _moved(record, submission, snapshot):
        reason = "Its task file was deleted."
        yield step(record, TaskState.STOPPED, now, reason, blob=GONE, request=None)


def _closed_by(record: TaskRecord, snapshot: Snapshot) -> Submission | None:
    """Return what landed for a task without being its own worker's result."""
    landed = SubmissionState.LANDED
    return next(
        (
            each
            for each in snapshot.submissions.values()
            if each.closes == record.id and each.state is landed
        ),
        None,
    )


def _moved(
    record: TaskRecord, submission: Submission | None, snapshot: Snapshot
) -> bool:
    """Whether the file is gone because the task ended, or was known to be gone."""
    if record.id in snapshot.finished or record.blob == GONE:
        return True
    if record.state in ENDED_WELL:
        return True
    return submission is not None and submission.id in snapshot.landed


def _with_file(
    task: TaskFile,
    record: TaskRecord | None,
    snapshot: Snapshot,
    now: Moment,
    busy: int,
) -> Iterator[Action]:
    if record is None:
        yield from _start(task, None, snapshot, now, busy)
    elif record.id in snapshot.live.attempts or record.state is TaskState.RUNNING:
        yield from _running(record, task, snapshot, now)
    elif _restarts(task, record, snapshot):
        yield from _anew(task, record, snapshot, now, busy)
    elif record.state is TaskState.SUBMITTED:
        yield from _submitted(record, task, snapshot, now)
    elif record.state is TaskState.QUESTION and record.request in _ANSWERABLE:
        yield from _asking(task, record, snapshot, now, busy)
    elif record.request is not None:
        state, reason = record.state, record.reason
        if record.request == "stop" and not record.settled:
            state, reason = TaskState.STOPPED, "A person stopped it."
        yield step(record, state, now, reason, request=None)
    elif record.state is TaskState.WAITING:
        yield from _start(task, record, snapshot, now, busy)
    elif record.state is TaskState.DONE and _due(f"done {task.id}", snapshot, now):
        yield MoveDone(record)


def _restarts(task: TaskFile, record: TaskRecord, snapshot: Snapshot) -> bool:
    """Whether the task is asked for anew: amended, back again, or `task retry`."""
    if record.blob != task.blob:
        # A landing that is about to be recorded comes first: what was amended after
        # it is a new task.
        submission = _submission(record, snapshot)
        return not (
            submission and submission.id in snapshot.landed and not submission.settled
        )
    if record.request == "retry":
        return record.settled
    if record.state is TaskState.DONE:
        return task.id in snapshot.finished
    return record.state is TaskState.LANDED


def _asking(
    task: TaskFile, record: TaskRecord, snapshot: Snapshot, now: Moment, busy: int
) -> Iterator[Action]:
    """Go on from the work so far once all is answered."""
    if answering.complete(record):
        again = answering.resumed(record)
        yield from _start(task, again, snapshot, now, busy, old=record)
    elif record.request is not None:
        yield step(record, record.state, now, answering.owed(record), request=None)
    else:
        yield from _from_file(record, snapshot, now)


def _from_file(record: TaskRecord, snapshot: Snapshot, now: Moment) -> Iterator[Action]:
    """Take the answers that somebody committed since the task asked."""
    file = snapshot.answer_files.get(record.id)
    if file is None or file.blob == record.answer_blob:
        return
    path = f"{ANSWERS}{record.id}.md"
    taken = answering.answered(
        record, dict(file.answers), by=file.by, at=now.stamp, because=file.because
    )
    if isinstance(taken, Misfit):
        why = f"{path} is not taken: {taken.problem}; {taken.mend}."
        reason = answering.owed(record, why)
        new, message = replace(record, reason=reason), f"question: {why}"
    else:
        said = " ".join(taken.notes)
        new, message = taken.record, f"{taken.message} in {path}. {said}".rstrip()
    yield changed(record, replace(new, answer_blob=file.blob), now, message)


def _due(key: str, snapshot: Snapshot, now: Moment) -> bool:
    return snapshot.live.waits.get(key, 0.0) <= now.monotonic


def _anew(
    task: TaskFile, record: TaskRecord, snapshot: Snapshot, now: Moment, busy: int
) -> Iterator[Action]:
    """Start over with the file as it is now, from the work so far.

    A retry of the same task is told what went wrong before.
    """
    same = record.request == "retry" and record.blob == task.blob
    fresh = replace(
        record,
        blob=task.blob,
        title=task.title,
        failures=0,
        feedback=record.feedback if same else "",
        request=None,
        submission=None,
    )
    yield from _start(task, fresh, snapshot, now, busy, old=record)


def _start(
    task: TaskFile,
    record: TaskRecord | None,
    snapshot: Snapshot,
    now: Moment,
    busy: int,
    old: TaskRecord | None = None,
) -> Iterator[Action]:
    old = old or record
    agent = agent_of(task, snapshot)
    base = record or TaskRecord(
        id=task.id, state=TaskState.WAITING, blob=task.blob, since=now.stamp
    )
    base = replace(
        base, title=task.title, agent=agent.name if agent else task.agent or ""
    )
    match admit(task, snapshot, busy):
        case Wait(reason):
            new = replace(base, state=TaskState.WAITING, reason=reason)
            if old is None or new != replace(old, since=new.since, oid=new.oid):
                yield changed(old, new, now, f"waits: {reason}")
        case Never(reason):
            new = replace(base, state=TaskState.REFUSED, reason=reason)
            yield changed(old, new, now, f"refused: {reason}")
        case Ready(agent):
            commit = snapshot.target.commit
            if commit is None or not _due(f"task {task.id}", snapshot, now):
                return
            number = base.attempt + 1
            attempt = Attempt(
                number=number,
                blob=task.blob,
                base=snapshot.ahead.get(task.id, commit),
                target=commit,
                started=now.stamp,
                boot=snapshot.machine.boot,
            )
            new = replace(
                base,
                state=TaskState.RUNNING,
                since=now.stamp,
                reason=None,
                attempt=number,
                attempts=(*base.attempts, attempt),
                submission=None,
                request=None,
                card=None,
                branch=_branch(snapshot.settings, task.id),
            )
            message = f"attempt {number} starts with agent {agent.name}"
            yield StartAttempt(old, new, task, agent, message)


def _running(
    record: TaskRecord, task: TaskFile | None, snapshot: Snapshot, now: Moment
) -> Iterator[Action]:
    ended = next((e for e in snapshot.live.ended if e.task == record.id), None)
    if ended is not None:
        file = snapshot.answer_files.get(record.id)
        blob = file.blob if file else ""
        yield account(record, ended, task, snapshot.settings, now, blob)
    elif record.id not in snapshot.live.attempts:
        yield RecoverAttempt(record)
    elif (known := _with_pid(record, snapshot)) is not None:
        yield WriteTask(record, known, f"attempt {record.attempt} is under way")
    elif record.id not in snapshot.live.stopping:
        if record.request == "stop" or task is None:
            yield StopAttempt(record.id, Outcome.STOPPED)
        elif task.blob != record.blob:
            yield StopAttempt(record.id, Outcome.AMENDED)


def _with_pid(record: TaskRecord, snapshot: Snapshot) -> TaskRecord | None:
    """Return the record with the worker's process in it, if that is news."""
    newest = record.newest
    if newest is None or newest.pid or record.id not in snapshot.live.pids:
        return None
    pid, ticks = snapshot.live.pids[record.id]
    newest = replace(newest, pid=pid, ticks=ticks)
    return replace(record, attempts=(*record.attempts[:-1], newest))


def _submitted(
    record: TaskRecord, task: TaskFile, snapshot: Snapshot, now: Moment
) -> Iterator[Action]:
    submission = _submission(record, snapshot)
    attempt = record.newest
    if submission is not None and submission.settled:
        yield from _follow(record, submission, snapshot, now)
    elif record.request == "stop":
        if submission is None or submission.id not in snapshot.landed:
            yield step(
                record, TaskState.STOPPED, now, "A person stopped it.", request=None
            )
    elif submission is None and task.land is Land.AUTO and attempt and record.tip:
        yield Submit(submission_of(record, attempt, task.priority, now))


def _follow(
    record: TaskRecord, submission: Submission, snapshot: Snapshot, now: Moment
) -> Iterator[Action]:
    """Let the task end as its submission did."""
    match submission.state:
        case SubmissionState.LANDED if record.state is TaskState.SUBMITTED:
            reason = f"Landed as {(submission.commit or '')[:12]}."
            yield step(record, TaskState.LANDED, now, reason, request=None)
        case SubmissionState.REJECTED:
            task = snapshot.tasks.get(record.id)
            if task is not None:
                why = submission.reason or "Its submission was rejected."
                yield failed(
                    record,
                    record,
                    task,
                    snapshot.settings,
                    now,
                    why,
                    f"{why}\n\n{submission.output}".strip(),
                )
        case SubmissionState.WITHDRAWN:
            reason = submission.reason or "Its submission was withdrawn."
            yield step(record, TaskState.STOPPED, now, reason, request=None)
        case _:
            return


def _submission(record: TaskRecord, snapshot: Snapshot) -> Submission | None:
    return snapshot.submissions.get(record.submission or "")


def _branch(settings: Settings | None, task_id: str) -> str:
    pattern = settings.worker.branch if settings else "agent/{task}"
    return f"refs/heads/{pattern.replace('{task}', task_id)}"
