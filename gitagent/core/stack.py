"""Submissions that stand on each other: a tip that holds the tip of another one.

The lower one comes first (see ``submission.in_order``). One that is rejected or
replaced takes along what stood on it while both were in the queue; what is submitted
on top of it later is judged by itself, since that is how a repair is made.

Nobody is made to stand on something by others: who hands over a commit from the middle
of somebody's work, after it, has only handed over a part of it.
"""

from collections.abc import Mapping
from dataclasses import replace

from gitagent.core.snapshot import Snapshot
from gitagent.core.submission import Submission, SubmissionState

_SECONDS = len("2026-11-30T12:00:00")
_LOST = frozenset({SubmissionState.REJECTED, SubmissionState.WITHDRAWN})


def with_needs(snapshot: Snapshot) -> Mapping[str, Submission]:
    """Return the submissions by id; the open ones know what they stand on."""
    found = dict(snapshot.submissions)
    for each in snapshot.submissions.values():
        if not each.settled and (needs := _needs(each, snapshot)) != each.needs:
            found[each.id] = replace(each, needs=needs)
    return found


def _needs(submission: Submission, snapshot: Snapshot) -> tuple[str, ...]:
    under = snapshot.below.get(submission.id, ())
    lower = (snapshot.submissions[each] for each in under)
    now = {
        each.id for each in lower if not each.settled and _no_later(each, submission)
    }
    return tuple(sorted({*submission.needs, *now}))


def _no_later(lower: Submission, upper: Submission) -> bool:
    """Whether it was there when the other one came; one push brings both at once."""
    return lower.created[:_SECONDS] <= upper.created[:_SECONDS]


def lost_below(submission: Submission, snapshot: Snapshot) -> Submission | None:
    """Return one that it needs and that will not land; None: there is none."""
    for each in snapshot.below.get(submission.id, ()):
        lower = snapshot.submissions[each]
        if (
            each in submission.needs
            and lower.state in _LOST
            and not _went_on(lower, snapshot)
        ):
            return lower
    return None


def _went_on(lower: Submission, snapshot: Snapshot) -> bool:
    """Whether its branch was submitted again with more on top of it."""
    return lower.branch is not None and any(
        lower.id in under and snapshot.submissions[upper].branch == lower.branch
        for upper, under in snapshot.below.items()
    )
