"""What the newest outcomes say about those to come: failures, flakes, the window."""

from collections.abc import Iterable
from typing import Final

from gitagent.core.search import Rates
from gitagent.core.submission import Submission, SubmissionState

RECENT: Final = 50  # outcomes that are looked at

# Before there are outcomes: one submission in twenty fails, and one red set in three is
# a flake, so that a first red set of many is run again before it is cut: a flake then
# costs one run more. One that proves real is enough to cut the next at once.
_FAILED, _SETTLED = 1.0, 20.0
_FLAKY, _REDS = 1.0, 3.0
_LEAST, _MOST = 0.01, 0.5


def recent(submissions: Iterable[Submission]) -> list[Submission]:
    """Return the newest that checks have decided, oldest first."""
    decided = [each for each in submissions if each.checks and _decided(each)]
    return sorted(decided, key=lambda s: (s.since, s.created, s.id))[-RECENT:]


def _decided(each: Submission) -> bool:
    return each.state is SubmissionState.LANDED or failed(each)


def failed(each: Submission) -> bool:
    """Whether a submission was rejected because of its checks."""
    rejected = each.state is SubmissionState.REJECTED
    return rejected and any(line.state == "failed" for line in each.checks)


def learned(outcomes: Iterable[Submission]) -> Rates:
    """Return the rates that these outcomes let expect; any order."""
    outcomes = list(outcomes)
    reds = sum(map(failed, outcomes))
    flaky = {
        line.receipt
        for each in outcomes
        for line in each.checks
        if line.state == "flaky"
    }
    failure = (reds + _FAILED) / (len(outcomes) + _SETTLED)
    flake = (len(flaky) + _FLAKY) / (reds + len(flaky) + _REDS)
    return Rates(min(max(failure, _LEAST), _MOST), flake)


def window(outcomes: Iterable[Submission], most: int) -> int:
    """Return how many sets a chain checks at once after these, the oldest first.

    A rejection makes all behind it start anew, so it halves the window; each landing
    adds one, up to ``most``.
    """
    size = most
    for each in outcomes:
        size = max(1, size // 2) if failed(each) else min(most, size + 1)
    return size
