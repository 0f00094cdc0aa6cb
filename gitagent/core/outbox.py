"""What goes to the remote, and what comes from there.

A landing is pushed, and pushed again until the remote has it; a failed push never
touches the landing. Nothing is forced: where the remote has commits that the target
lacks, they become a submission, ahead of all others, and the next push adds to them.
"""

from collections.abc import Iterator
from typing import Final

from gitagent.core.action import Action, PushTarget, Submit
from gitagent.core.ident import submission_id
from gitagent.core.layout import REMOTES
from gitagent.core.settle import write
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Push, Submission, SubmissionState

FIRST: Final = 1_000_000_000  # priority; nobody's own is as high


def decide_pushes(snapshot: Snapshot, now: Moment) -> Iterator[Action]:
    """Bring landings to the remote, and what the remote has into the queue.

    A push of no submissions only looks at what the remote has.
    """
    live, settings = snapshot.live, snapshot.settings
    remote = settings.lander.push if settings else ""
    in_the_way = ""
    if remote and live.remote is not None:
        known = snapshot.submissions.get(submission_id(live.remote))
        if known is None:
            yield Submit(taken_in(live.remote, remote, now))
        in_the_way = _in_the_way(known, remote)
    told = in_the_way
    if not told and live.push_error:
        told = f"the push is tried again: {live.push_error}"
    unpushed = [
        each
        for each in snapshot.submissions.values()
        if each.push in {Push.PENDING, Push.FAILED}
    ]
    for submission in unpushed:
        yield from _tell(submission, told, snapshot, now)
    if not remote or live.waits.get("push", 0.0) > now.monotonic:
        return
    waiting = tuple(each for each in unpushed if each.id not in live.pushed)
    if waiting and not in_the_way:
        yield PushTarget(waiting)
    elif live.waits.get("remote", 0.0) <= now.monotonic:
        yield PushTarget(())


def _tell(
    submission: Submission, told: str, snapshot: Snapshot, now: Moment
) -> Iterator[Action]:
    """Record how far a landing got."""
    state, landed_as = submission.state, f"Landed as {(submission.commit or '')[:12]}"
    if submission.id in snapshot.live.pushed:
        yield write(
            submission, state, now, f"{landed_as} and pushed.", push=Push.PUSHED
        )
    elif told and submission.reason != f"{landed_as}; {told}":
        reason = f"{landed_as}; {told}"
        yield write(submission, state, now, reason, push=Push.FAILED)


def taken_in(tip: str, remote: str, now: Moment) -> Submission:
    """Return the submission that the commit of a remote's target becomes."""
    return Submission(
        id=submission_id(tip),
        tip=tip,
        state=SubmissionState.QUEUED,
        created=now.precise,
        since=now.stamp,
        branch=REMOTES + remote,
        divergence=(
            f"This is what {remote} has and the target lacks: somebody moved it there. "
            "It is merged, so that the next push adds to it and takes nothing back."
        ),
        priority=FIRST,
    )


def _in_the_way(known: Submission | None, remote: str) -> str:
    """Return why nothing can be pushed while the target lacks what the remote has."""
    if known is None or not known.settled:
        return f"it is pushed once what {remote} has beyond it is merged."
    return (
        f"it is not pushed, since the target and {remote} have diverged: a person has"
        f" to merge what {remote} has ({known.tip[:12]}) and submit that; see"
        f" {known.id}."
    )
