"""The lander's planner: what happens next to each submission.

One candidate at a time, in order of priority and age. A candidate is looked at anew
each time: which of its checks have receipts, and what they say. So a target that
moved, a restart or a resubmission costs exactly the runs whose key is new.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from gitagent.core.action import (
    Action,
    DropRef,
    Land,
    Prepare,
    PushTarget,
    StartRun,
    StopRuns,
    Submit,
    WriteSubmission,
    told,
)
from gitagent.core.admission import agent_of
from gitagent.core.candidate import Candidate
from gitagent.core.glob import named
from gitagent.core.ident import submission_id
from gitagent.core.judge import (
    Judged,
    all_checks,
    failing_output,
    failures,
    judge,
    lines,
    missing_runs,
)
from gitagent.core.pause import pause
from gitagent.core.policy import offences
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Moment, Offer, Snapshot
from gitagent.core.stack import lost_below, with_needs
from gitagent.core.submission import (
    CheckLine,
    Push,
    Submission,
    SubmissionState,
    in_order,
)
from gitagent.core.task import TaskFile, TaskState

RACES = 5  # landings that may lose the race for the target before a pause


def decide_submissions(snapshot: Snapshot, now: Moment) -> list[Action]:
    """Return what is to be done about every submission, the queue's head included."""
    recorded = snapshot.submissions
    snapshot = replace(snapshot, submissions=with_needs(snapshot))
    actions: list[Action] = list(_offers(snapshot, now))
    settled = list(_settle(snapshot, now))
    actions += settled
    gone = {action.old.id for action in settled if isinstance(action, WriteSubmission)}
    queue = [s for s in in_order(snapshot.submissions.values()) if s.id not in gone]
    blocked = pause(snapshot)
    for submission in queue:
        if blocked:
            actions += _stay(submission, blocked, now)
            continue
        steps = list(_advance(submission, snapshot, now))
        actions += steps
        if submission.state is not SubmissionState.HELD or steps:
            break
    if not blocked:
        actions += _behind(queue, actions, now)
    actions += _stacked(queue, actions, recorded, now)
    actions += _pushes(snapshot, now)
    return actions


def _offers(snapshot: Snapshot, now: Moment) -> Iterator[Action]:
    by_tip = {s.tip: s for s in snapshot.submissions.values() if s.task is None}
    for offer in snapshot.offers:
        known = by_tip.get(offer.tip)
        if known is None:
            yield Submit(submission_for(offer, now))
        elif known.state is SubmissionState.LANDED:
            yield DropRef(offer.ref, offer.tip)


def submission_for(offer: Offer, now: Moment) -> Submission:
    """Return the submission that an offered tip becomes."""
    return Submission(
        id=submission_id(offer.tip),
        tip=offer.tip,
        state=SubmissionState.QUEUED,
        created=now.precise,
        since=now.stamp,
        branch=offer.ref,
        submitter=offer.author,
    )


def _settle(snapshot: Snapshot, now: Moment) -> Iterator[Action]:
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
            yield StopRuns(submission.id)
            yield _write(submission, state, now, reason)


def landed(
    submission: Submission, settings: Settings | None, now: Moment
) -> WriteSubmission:
    """Return the final record of a submission whose commit is on the target."""
    push = Push.PENDING if settings and settings.lander.push else None
    commit = (submission.commit or "")[:12]
    return _write(
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


def _stay(submission: Submission, reason: str, now: Moment) -> Iterator[Action]:
    if submission.reason != reason or submission.state is not SubmissionState.QUEUED:
        yield StopRuns(submission.id)
        yield _write(submission, SubmissionState.QUEUED, now, reason)


def _behind(
    queue: list[Submission], actions: list[Action], now: Moment
) -> Iterator[Action]:
    """Say to those that wait whom they wait for."""
    touched = {a.old.id for a in actions if isinstance(a, WriteSubmission)}
    for ahead, submission in pairwise(queue):
        reason = f"Waits for {ahead.id}, which is ahead of it."
        quiet = submission.state is SubmissionState.QUEUED
        if quiet and submission.id not in touched and submission.reason != reason:
            yield _write(submission, SubmissionState.QUEUED, now, reason)


def _stacked(
    queue: list[Submission],
    actions: list[Action],
    recorded: Mapping[str, Submission],
    now: Moment,
) -> Iterator[Action]:
    """Record what a submission stands on, for when that is gone."""
    touched = {a.old.id for a in actions if isinstance(a, WriteSubmission)}
    for submission in queue:
        known = submission.needs == recorded[submission.id].needs
        if not known and submission.id not in touched:
            message = f"stands on {', '.join(submission.needs)}"
            yield _changed(submission, submission, now, message)


def _pushes(snapshot: Snapshot, now: Moment) -> Iterator[Action]:
    """Bring landings to the remote; a failed push never touches the landing."""
    live, settings = snapshot.live, snapshot.settings
    waiting = []
    for submission in snapshot.submissions.values():
        if submission.push not in {Push.PENDING, Push.FAILED}:
            continue
        landed_as = f"Landed as {(submission.commit or '')[:12]}"
        if submission.id in live.pushed:
            reason = f"{landed_as} and pushed."
            yield _write(submission, submission.state, now, reason, push=Push.PUSHED)
            continue
        reason = f"{landed_as}; the push is tried again: {live.push_error}"
        if live.push_error and submission.reason != reason:
            yield _write(submission, submission.state, now, reason, push=Push.FAILED)
        waiting.append(submission)
    due = live.waits.get("push", 0.0) <= now.monotonic
    if due and waiting and settings and settings.lander.push:
        yield PushTarget(tuple(waiting))


def _advance(
    submission: Submission, snapshot: Snapshot, now: Moment
) -> Iterator[Action]:
    """Take the head of the queue one step on."""
    base, settings = snapshot.target.commit, snapshot.settings
    if base is None or settings is None:
        return
    candidate = snapshot.live.candidates.get(submission.id)
    if candidate is None or candidate.base != base or candidate.tip != submission.tip:
        if _put_off(f"Prepare {submission.id}", snapshot, now):
            yield from _hold(submission, snapshot, now)
        else:
            yield Prepare(submission, base)
        return
    if candidate.contained:
        reason = "Its tip was already part of the target; there was nothing to land."
        yield StopRuns(submission.id)
        yield _write(
            submission, SubmissionState.LANDED, now, reason, commit=submission.tip
        )
        return
    task = snapshot.tasks.get(submission.task or "")
    refusal = _refusal(submission, candidate, settings, task, snapshot)
    if refusal:
        yield StopRuns(submission.id)
        yield _write(submission, SubmissionState.REJECTED, now, refusal, base=base)
        return
    judged = judge(all_checks(settings, submission, task), candidate, snapshot)
    yield from _stop_stale(submission, judged, snapshot)
    failed = failures(judged, settings, snapshot)
    runs = tuple(missing_runs(submission, candidate, judged, failed))
    if failed and not runs and not any(j.running for j in judged):
        yield _write(
            submission,
            SubmissionState.REJECTED,
            now,
            " ".join(failure.reason for failure in failed),
            base=base,
            checks=lines(judged),
            output=failing_output(failed),
        )
        return
    if all(j.green for j in judged) and not failed:
        yield from _land(submission, candidate, lines(judged), snapshot, now)
        return
    running = any(j.running for j in judged)
    if runs and not running and _all_put_off(runs, snapshot, now):
        yield from _hold(submission, snapshot, now, checks=lines(judged))
        return
    yield from runs
    new = replace(
        submission,
        state=SubmissionState.CHECKING,
        reason=None,
        base=base,
        candidate=candidate.commit,
        config=snapshot.target.config,
        checks=lines(judged, runs),
    )
    if new != submission:
        yield _changed(submission, new, now, _progress(new))


def _stop_stale(
    submission: Submission, judged: tuple[Judged, ...], snapshot: Snapshot
) -> Iterator[Action]:
    """Stop runs on an earlier candidate: a target that moves must not pile them up."""
    live = snapshot.live
    wanted = frozenset(each.key for each in judged)
    if any(
        of == submission.id and run not in live.halting and run[0] not in wanted
        for run, of in live.runs.items()
    ):
        yield StopRuns(submission.id, wanted)


def _progress(submission: Submission) -> str:
    """Return how far the checks are, in words."""
    return "; ".join(f"{line.name} {line.state}" for line in submission.checks)


def _land(
    submission: Submission,
    candidate: Candidate,
    checks: tuple[CheckLine, ...],
    snapshot: Snapshot,
    now: Moment,
) -> Iterator[Action]:
    if not _put_off(f"land {submission.id}", snapshot, now):
        record = snapshot.records.get(submission.task or "")
        ready = replace(submission, checks=checks, config=snapshot.target.config)
        yield Land(ready, candidate, record)
        return
    yield from _hold(submission, snapshot, now, checks=checks)


def _hold(
    submission: Submission, snapshot: Snapshot, now: Moment, **fields: object
) -> Iterator[Action]:
    """Say why it cannot go on just now; held, it lets the others pass."""
    reason = snapshot.live.held.get(submission.id)
    same = submission.state is SubmissionState.HELD and submission.reason == reason
    if reason and not same:
        yield _write(submission, SubmissionState.HELD, now, reason, **fields)


def _put_off(key: str, snapshot: Snapshot, now: Moment) -> bool:
    return snapshot.live.waits.get(key, 0.0) > now.monotonic


def _all_put_off(runs: tuple[StartRun, ...], snapshot: Snapshot, now: Moment) -> bool:
    return all(_put_off(f"run {run.key}", snapshot, now) for run in runs)


def _refusal(
    submission: Submission,
    candidate: Candidate,
    settings: Settings,
    task: TaskFile | None,
    snapshot: Snapshot,
) -> str:
    if candidate.conflicts:
        paths = named(candidate.conflicts)
        return (
            f"It conflicts with the target in {paths}. Merge "
            f"{settings.target} into the work, resolve, and submit again."
        )
    if candidate.fault:
        return candidate.fault
    agent = agent_of(task, snapshot) if task else None
    return " ".join(offences(candidate, submission, settings, task, agent))


def _write(
    old: Submission,
    state: SubmissionState,
    now: Moment,
    reason: str,
    **fields: object,
) -> WriteSubmission:
    new = replace(old, state=state, reason=reason, **fields)  # type: ignore[arg-type]
    return _changed(old, new, now, told(state, reason))


def _changed(
    old: Submission, new: Submission, now: Moment, message: str
) -> WriteSubmission:
    if old.state is not new.state:
        new = replace(new, since=now.stamp)
    return WriteSubmission(old, new, message)
