"""What the end of an attempt means for its task, and the steps that a task takes."""

from dataclasses import replace

from gitagent.core.action import WriteTask, told
from gitagent.core.answering import card_of, owed
from gitagent.core.ident import submission_id
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Moment
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import (
    Attempt,
    AttemptEnd,
    Land,
    Outcome,
    TaskFile,
    TaskRecord,
    TaskState,
)

_WELL = frozenset({Outcome.OK, Outcome.NOTHING})

GONE = ""  # the blob of a task whose file was deleted: whatever comes back is new


def account(
    record: TaskRecord,
    ended: AttemptEnd,
    task: TaskFile | None,
    settings: Settings | None,
    now: Moment,
    answer_blob: str = "",
) -> WriteTask:
    """Turn the end of an attempt into the one record that settles it.

    ``answer_blob`` is of the answer file that is there already: what was written
    before a question is no answer to it.
    """
    attempt = ended.attempt
    done = replace(
        record,
        attempts=tuple(
            attempt if a.number == attempt.number else a for a in record.attempts
        ),
        tip=attempt.tip or record.tip,
        request=None,
    )
    number = f"Attempt {attempt.number}"
    if task is None:
        reason = "Its task file was deleted."
        return step(record, TaskState.STOPPED, now, reason, base=done, blob=GONE)
    if task.blob != record.blob:
        reason = f"The task was amended; {number.lower()} ended as {attempt.outcome}."
        base = replace(done, blob=task.blob, title=task.title, failures=0, feedback="")
        return step(record, TaskState.WAITING, now, reason, base=base)
    match attempt.outcome:
        case Outcome.OK | Outcome.NOTHING if ended.changed:
            sub = _handed_over(done)
            manual = task.land is Land.MANUAL
            reason = (
                f"Waits for a person: gitagent land {record.id}"
                if manual
                else f"The lander owes an answer to submission {sub}."
            )
            base = replace(done, submission=sub)
            return step(record, TaskState.SUBMITTED, now, reason, base=base)
        case Outcome.OK | Outcome.NOTHING:
            return step(
                record, TaskState.DONE, now, _without_change(attempt), base=done
            )
        case Outcome.STOPPED:
            return step(
                record, TaskState.STOPPED, now, "A person stopped it.", base=done
            )
        case Outcome.REFUSED:
            return step(record, TaskState.REFUSED, now, attempt.reason, base=done)
        case Outcome.INTERRUPTED | Outcome.AMENDED | Outcome.CLAIMED:
            reason = attempt.reason or f"{number} was {attempt.outcome}; it goes on."
            return step(record, TaskState.WAITING, now, reason, base=done)
        case Outcome.QUESTION:
            card = card_of(ended.asker, attempt.questions, attempt.reason, now.stamp)
            base = replace(done, state=TaskState.QUESTION, card=card)
            base = replace(base, answer_blob=answer_blob)
            reason = owed(base, attempt.reason)
            return step(record, TaskState.QUESTION, now, reason, base=base)
        case Outcome.BLOCKED:
            reason = f"The agent is blocked: {attempt.reason}"
            return step(record, TaskState.FAILED, now, reason, base=done)
        case _:
            return failed(
                record, done, task, settings, now, attempt.reason, ended.output
            )


def _without_change(attempt: Attempt) -> str:
    number = f"Attempt {attempt.number}"
    if not attempt.summary:
        return f"{number} ended well and changed nothing."
    if attempt.outcome is Outcome.OK:
        # It says that something was done, and nothing was.
        return f"{number} changed nothing, and says: {attempt.summary}"
    return attempt.summary


def failed(
    record: TaskRecord,
    base: TaskRecord,
    task: TaskFile,
    settings: Settings | None,
    now: Moment,
    reason: str,
    feedback: str,
) -> WriteTask:
    """Try again with the failing output, or give up when no attempt is left."""
    retries = task.retries
    if retries is None:
        retries = settings.worker.retries if settings else 0
    failures = base.failures + 1
    base = replace(base, failures=failures, feedback=feedback)
    if failures <= retries:
        reason = f"{reason} Another attempt follows ({failures} of {retries})."
        return step(record, TaskState.WAITING, now, reason, base=base)
    return step(record, TaskState.FAILED, now, reason, base=base)


def submission_of(
    record: TaskRecord, attempt: Attempt, priority: int, now: Moment
) -> Submission:
    """Return the submission that the work of a task's newest attempt becomes.

    Its id is always the same.
    """
    tip = record.tip or ""
    return Submission(
        id=_handed_over(record),
        tip=tip,
        state=SubmissionState.QUEUED,
        created=now.precise,
        since=now.stamp,
        branch=record.branch,
        task=record.id,
        task_blob=record.blob,
        submitter=worker_identity(record.agent),
        priority=priority,
        divergence=attempt.divergence or None,
        commands=attempt.commands,
    )


def _handed_over(record: TaskRecord) -> str:
    """Return the id of the submission that the newest attempt's work becomes.

    The same commit again, from a later attempt, is judged anew: the one before may
    have been stopped, or the target may have been at fault.
    """
    *before, newest = record.attempts
    tip = record.tip or ""
    again = any(e.tip == tip and e.outcome in _WELL for e in before)
    more = (str(newest.number),) if again else ()
    return submission_id(tip, record.id, record.blob, *more)


def worker_identity(agent: str) -> str:
    """Return the author of what an agent commits, as "Name <email>"."""
    return f"{agent} (gitagent) <{agent}@gitagent.invalid>"


def step(
    old: TaskRecord,
    state: TaskState,
    now: Moment,
    reason: str | None,
    *,
    base: TaskRecord | None = None,
    **fields: str | None,
) -> WriteTask:
    """Return the step to a state; ``fields`` replace those of ``base``, or of old."""
    new = replace(base or old, state=state, reason=reason, **fields)  # type: ignore[arg-type]
    return changed(old, new, now, told(state, reason))


def changed(
    old: TaskRecord | None, new: TaskRecord, now: Moment, message: str
) -> WriteTask:
    """Return the step to ``new``, dated if the state is another one.

    A state other than ``question`` has no card.
    """
    if old is None or old.state is not new.state:
        new = replace(new, since=now.stamp)
    if new.card is not None and new.state is not TaskState.QUESTION:
        new = replace(new, card=None)
    return WriteTask(old, new, message)
