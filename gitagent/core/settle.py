"""What is recorded of a submission without any check: offered, landed, withdrawn."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitagent.core.action import Action, DropRef, Submit, WriteSubmission, told
from gitagent.core.ident import submission_id
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Moment, Offer, Snapshot
from gitagent.core.stack import lost_below
from gitagent.core.submission import Push, Submission, SubmissionState, in_order
from gitagent.core.task import TaskState


def offers(snapshot: Snapshot, now: Moment) -> Iterator[Action]:
    """Take what is offered, and let go of what has landed."""
    by_tip = {s.tip: s for s in snapshot.submissions.values() if s.task is None}
    taken: set[str] = set()
    for offer in snapshot.offers:
        known = by_tip.get(offer.tip)
        if known is None and offer.tip not in taken:
            yield Submit(submission_for(offer, now, len(taken)))
            taken.add(offer.tip)
        elif known is not None and known.state is SubmissionState.LANDED:
            yield DropRef(offer.ref, offer.tip)


def submission_for(offer: Offer, now: Moment, nth: int = 0) -> Submission:
    """Return the submission that an offered tip becomes, the ``nth`` of this moment."""
    created = datetime.fromisoformat(now.precise) + timedelta(microseconds=nth)
    return Submission(
        id=submission_id(offer.tip),
        tip=offer.tip,
        state=SubmissionState.QUEUED,
        created=f"{created:%Y-%m-%dT%H:%M:%S.%f}Z",
        since=now.stamp,
        branch=offer.ref,
        submitter=offer.author,
    )


def settle(snapshot: Snapshot, now: Moment) -> Iterator[WriteSubmission]:
    """Record landings that happened, and withdraw what nobody wants any more."""
    newest = {
        s.branch: s.created
        for s in sorted(snapshot.submissions.values(), key=lambda s: s.created)
        if s.branch and s.task is None
    }
    for submission in in_order(snapshot.submissions.values()):
        if submission.id in snapshot.landed:
            yield landed(submission, snapshot.settings, now)
            continue
        reason = _unwanted(submission, snapshot)
        later = newest.get(submission.branch or "", "")
        if not reason and submission.task is None and later > submission.created:
            reason = "Its branch was submitted again with newer work."
        state = SubmissionState.WITHDRAWN
        if not reason and (lower := lost_below(submission, snapshot)):
            state = lower.state
            reason = (
                f"It needs {lower.id}, which is {lower.state}; make it anew on what "
                "the target has, or on a repair, and submit that."
            )
        if reason:
            yield write(submission, state, now, reason)


def landed(
    submission: Submission, settings: Settings | None, now: Moment
) -> WriteSubmission:
    """Return the final record of a submission whose commit is on the target."""
    push = Push.PENDING if settings and settings.lander.push else None
    commit = (submission.commit or "")[:12]
    return write(
        submission, SubmissionState.LANDED, now, f"Landed as {commit}.", push=push
    )


def _unwanted(submission: Submission, snapshot: Snapshot) -> str:
    """Return why the task behind a submission no longer asks for it, or nothing."""
    if submission.task is None:
        return ""
    task = snapshot.tasks.get(submission.task)
    record = snapshot.records.get(submission.task)
    if task is None:
        return f"The file of task {submission.task} was deleted."
    if task.blob != submission.task_blob:
        return f"Task {submission.task} was amended; a new attempt follows."
    if record and record.request == "stop":
        return f"A person stopped task {submission.task}."
    if record and record.submission == submission.id:
        if record.state in {TaskState.STOPPED, TaskState.WAITING}:
            return f"Task {submission.task} is {record.state}."
    elif record and record.state is not TaskState.SUBMITTED:
        return f"Task {submission.task} is {record.state}."
    return ""


def write(
    old: Submission,
    state: SubmissionState,
    now: Moment,
    reason: str,
    **fields: object,
) -> WriteSubmission:
    """Return the step to a state; ``fields`` replace those of the record."""
    new = replace(old, state=state, reason=reason, **fields)  # type: ignore[arg-type]
    return changed(old, new, now, told(state, reason))


def changed(
    old: Submission, new: Submission, now: Moment, message: str
) -> WriteSubmission:
    """Return the step to ``new``, dated if the state is another one."""
    if old.state is not new.state:
        new = replace(new, since=now.stamp)
    return WriteSubmission(old, new, message)
