"""Submissions that stand on each other; LANDER, "Identity"."""

import pytest

from gitagent.core.snapshot import Snapshot, Target
from gitagent.core.stack import lost_below, with_needs
from gitagent.core.submission import Submission, SubmissionState, in_order

QUEUED = SubmissionState.QUEUED


def entry(name: str, state: SubmissionState = QUEUED, **fields: object) -> Submission:
    values = {"created": f"2026-11-30T12:00:0{name}Z", "since": "", "branch": name}
    return Submission(f"s-{name}", f"tip-{name}", state, **(values | fields))


def seen(*entries: Submission, **below: tuple[str, ...]) -> Snapshot:
    return Snapshot(
        target=Target("refs/heads/main", "t"),
        settings=None,
        submissions={each.id: each for each in entries},
        below={f"s-{key[1:]}": value for key, value in below.items()},
    )


def test_what_one_stands_on_comes_first_whatever_age_and_priority():
    one = entry("1", priority=9, needs=("s-2",))
    two = entry("2", needs=("s-4", "s-3"))
    entries = [one, two, entry("3"), entry("4", needs=("s-3",)), entry("5")]

    assert ["s-3", "s-4", "s-2", "s-1", "s-5"] == [s.id for s in in_order(entries)]


def test_what_is_needed_and_settled_holds_nothing_up():
    entries = [entry("1", SubmissionState.LANDED), entry("2", needs=("s-1", "s-9"))]

    assert ["s-2"] == [s.id for s in in_order(entries)]


def test_needs_are_what_was_in_the_queue_together():
    rejected = entry("1", SubmissionState.REJECTED)
    snapshot = seen(rejected, entry("2"), entry("3"), _3=("s-1", "s-2"))

    assert ("s-2",) == with_needs(snapshot)["s-3"].needs


def test_what_was_handed_over_later_is_needed_only_if_it_came_in_the_same_push():
    later = entry("1.5", created="2026-11-30T12:00:02.000000Z")
    entries = (entry("1"), entry("2"), later)
    snapshot = seen(*entries, _1=("s-2", "s-1.5"))
    same = entry("1.5", created="2026-11-30T12:00:01.000002Z")
    together = seen(entry("1"), same, _1=("s-1.5",))

    assert () == with_needs(snapshot)["s-1"].needs
    assert ("s-1.5",) == with_needs(together)["s-1"].needs


@pytest.mark.parametrize(
    ("state", "needs", "lost"),
    [
        (SubmissionState.REJECTED, ("s-1",), True),
        (SubmissionState.WITHDRAWN, ("s-1",), True),
        (SubmissionState.REJECTED, (), False),
        (SubmissionState.LANDED, ("s-1",), False),
        (SubmissionState.CHECKING, ("s-1",), False),
    ],
)
def test_a_lost_one_is_missed_by_what_stood_on_it_in_the_queue(state, needs, lost):
    lower, upper = entry("1", state), entry("2", needs=needs)
    snapshot = seen(lower, upper, _2=("s-1",))

    assert (lower if lost else None) == lost_below(upper, snapshot)


def test_one_that_only_grew_is_not_lost():
    lower = entry("1", SubmissionState.WITHDRAWN, branch="refs/heads/land/a")
    upper = entry("2", needs=("s-1",))
    grown = entry("3", branch="refs/heads/land/a")
    snapshot = seen(lower, upper, grown, _2=("s-1",), _3=("s-1",))

    assert lost_below(upper, snapshot) is None


def test_one_that_reached_the_target_some_other_way_is_not_lost():
    lower = entry("1", SubmissionState.REJECTED)
    upper = entry("2", needs=("s-1",))

    assert lost_below(upper, seen(lower, upper)) is None
