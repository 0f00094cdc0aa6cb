"""Differences with their intervals: against published figures, and by what they hold.

What is held is computed from all outcomes that there can be, so no seed was chosen.
"""

import math
from functools import cache
from statistics import fmean

import pytest

from gitagent.core.interval import Difference, means, needed, proportions

SHARES = (0.05, 0.2, 0.5, 0.7, 0.9)


@cache
def chances(count: int, share: float) -> list[float]:
    """Return how likely each number of successes is."""
    return [
        math.comb(count, k) * share**k * (1 - share) ** (count - k)
        for k in range(count + 1)
    ]


@cache
def interval(*counts: int) -> Difference:
    found = proportions(*counts)
    assert found is not None
    return found


def held(count: int, other: int, share: float, more: float) -> float:
    """Return how likely the interval has the true difference in it."""
    own, theirs = chances(count, share + more), chances(other, share)
    return sum(
        p * q
        for yes, p in enumerate(own)
        for no, q in enumerate(theirs)
        if interval(yes, count, no, other).low - 1e-9
        <= more
        <= interval(yes, count, no, other).high + 1e-9
    )


# Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 11.
@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0428, 0.3422),
        ((9, 10, 3, 10), 0.1013, 0.8387),
        ((6, 7, 2, 7), -0.0290, 0.8423),
        ((5, 56, 0, 29), -0.0667, 0.2037),
        ((0, 10, 0, 20), -0.2005, 0.3445),
        ((0, 10, 0, 10), -0.3445, 0.3445),
        ((10, 10, 0, 20), 0.6014, 1.0),
        ((10, 10, 0, 10), 0.5128, 1.0),
    ],
)
def test_the_interval_of_two_shares_is_the_published_one(counts, low, high):
    found = proportions(*counts)

    assert found is not None
    assert (low, high) == pytest.approx((found.low, found.high), abs=2e-4)


@pytest.mark.parametrize("sizes", [(5, 5), (20, 20), (18, 2), (45, 5)])
def test_the_interval_of_two_shares_holds_its_level_for_few_and_for_unlike(sizes):
    found = [
        held(*sizes, share, more)
        for share in SHARES
        for more in (0.0, 0.2)
        if share + more <= 1
    ]

    assert min(found) >= 0.95


def test_without_an_effect_it_finds_one_in_less_than_one_of_twenty():
    wrong = [1 - held(60, 60, share, 0.0) for share in SHARES]

    assert max(wrong) <= 0.05
    assert fmean(wrong) <= 0.035


def test_an_empty_group_has_no_difference():
    assert proportions(0, 0, 1, 2) is None
    assert proportions(1, 2, 0, 0) is None


def test_a_stricter_level_is_a_wider_interval():
    narrow, wide = proportions(8, 10, 3, 10), proportions(8, 10, 3, 10, 0.99)

    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low < narrow.high < wide.high


# Both as R's t.test has them, with var.equal = FALSE and TRUE; the wider counts.
def test_the_interval_of_two_means_is_the_wider_of_two():
    alike = means([1, 2, 3, 4], [2, 3, 4, 5])
    unlike = means([1, 2, 3, 4, 5, 6, 7, 8], [0, 9])

    assert alike is not None
    assert unlike is not None
    assert (-1, -3.2338, 1.2338) == pytest.approx(
        (alike.estimate, alike.low, alike.high), abs=1e-4
    )
    assert unlike.estimate == 0
    assert -unlike.low == unlike.high > 50


def test_means_of_too_few_or_of_what_is_all_alike_are_not_compared():
    assert means([1], [1, 2]) is None
    assert means([1, 1], [1, 1]) is None


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_what_is_needed_finds_the_difference_in_four_of_five_cases(share):
    count = needed(0.2, share)
    few = round(count * share)
    many = count - few
    # Around one half shares vary most, so it is found least often there.
    own, theirs = chances(many, 0.6), chances(few, 0.4)
    likely = [(yes, p) for yes, p in enumerate(own) if p > 1e-5]
    found = sum(
        p * q
        for yes, p in likely
        for no, q in enumerate(theirs)
        if q > 1e-5 and interval(yes, many, no, few).low > 0
    )

    assert 0.8 <= found <= 0.9


def test_a_smaller_difference_and_unlike_groups_need_more():
    assert needed(0.2, 0.5) < needed(0.2, 0.1) < needed(0.1, 0.1)
