from dataclasses import replace

from gitagent.core.rates import learned, recent, window
from gitagent.core.submission import CheckLine, Submission, SubmissionState

GOOD = Submission(
    id="s-1",
    tip="1",
    state=SubmissionState.LANDED,
    created="2026-11-30T12:00:00.000000Z",
    since="2026-11-30T12:00:00Z",
    checks=(CheckLine("tests", "passed"),),
)
BAD = replace(
    GOOD, state=SubmissionState.REJECTED, checks=(CheckLine("tests", "failed"),)
)


def test_one_in_twenty_fails_as_long_as_nothing_is_known():
    assert 0.05 == learned(()).failure


def test_failures_are_learned_and_flakes_with_them():
    flaky = replace(GOOD, checks=(CheckLine("tests", "flaky", receipt="r:1"),))
    rates = learned([BAD] * 10 + [GOOD] * 8 + [flaky] * 2)

    assert 11 / 40 == rates.failure
    # The two landed together, by one run.
    assert 2 / 14 == rates.flake


def test_a_conflict_or_a_withdrawal_says_nothing_about_checks():
    conflict = replace(BAD, checks=())
    withdrawn = replace(GOOD, state=SubmissionState.WITHDRAWN)

    assert [] == recent([conflict, withdrawn])


def test_only_the_newest_count():
    old = [replace(BAD, id=f"s-{n}") for n in range(60)]
    new = [replace(GOOD, since="2026-11-30T13:00:00Z")] * 50

    assert [SubmissionState.LANDED] * 50 == [s.state for s in recent([*new, *old])]


def test_the_window_halves_after_a_rejection_and_grows_with_each_landing():
    assert 8 == window([], 8)
    assert 4 == window([GOOD, BAD], 8)
    assert 2 == window([BAD, BAD], 8)
    assert 5 == window([BAD, GOOD], 8)
    assert 8 == window([BAD] + [GOOD] * 9, 8)
    assert 1 == window([BAD] * 9, 8)
