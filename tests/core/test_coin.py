"""The coin that withholds memory from a part of the tasks."""

from math import sqrt

from gitagent.core.coin import toss

_MANY = 10_000
_SLUGS = ("a", "b")


def _share_is(rate: float, hits: int, of: int) -> bool:
    """Whether so many hits are within five standard deviations of the rate."""
    return abs(hits - rate * of) <= 5 * sqrt(of * rate * (1 - rate))


def test_a_toss_is_the_same_whenever_it_is_made():
    tossed = [toss("fix-login", _SLUGS, 0.5) for _ in range(2)]

    assert tossed[0] == tossed[1]


def test_a_rate_of_nought_withholds_nothing_and_a_rate_of_one_all():
    for task in map(str, range(50)):
        assert (True, ()) == toss(task, _SLUGS, 0.0)
        assert (False, ()) == toss(task, _SLUGS, 1.0)


def test_recall_is_withheld_from_the_share_of_tasks_that_is_set():
    for rate in (0.1, 0.5):
        tossed = [toss(f"task-{n}", (), rate)[0] for n in range(_MANY)]

        assert _share_is(rate, tossed.count(False), _MANY)


def test_tasks_fall_evenly_whatever_their_numbers_begin_with():
    by_tenth = [
        sum(not toss(f"task-{n}", (), 0.2)[0] for n in range(first, first + 1000))
        for first in range(0, _MANY, 1000)
    ]
    expected = 200
    chi_square = sum((found - expected) ** 2 / (expected * 0.8) for found in by_tenth)

    assert chi_square < 30  # nine degrees of freedom: 27.9 at one in a thousand


def test_items_are_withheld_independently_of_recall_and_of_each_other():
    rate = 0.3
    tossed = [toss(f"task-{n}", _SLUGS, rate) for n in range(_MANY)]
    told = [withheld for recalled, withheld in tossed if recalled]

    assert all(recalled or not withheld for recalled, withheld in tossed)
    assert _share_is(rate, sum("a" in each for each in told), len(told))
    assert _share_is(rate, sum("b" in each for each in told), len(told))
    assert _share_is(rate**2, sum(len(each) == 2 for each in told), len(told))


def test_an_item_is_withheld_whatever_other_items_there_are():
    alone = [toss(str(n), ("a",), 0.3)[1] for n in range(100)]
    beside = [toss(str(n), ("b", "a", "c"), 0.3)[1] for n in range(100)]

    assert alone == [tuple(s for s in each if s == "a") for each in beside]
