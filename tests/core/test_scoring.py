"""Fusion, and figures with their intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.scoring import (
    Figure,
    Judged,
    fused,
    mean,
    ndcg,
    reciprocal_rank,
    scores,
    share,
)


def judged(wanted: str, found: str) -> Judged:
    return Judged(frozenset(wanted), tuple(found))


def test_what_two_rankings_have_beats_what_one_has_higher():
    assert ["b", "a", "c"] == fused([["a", "b"], ["b", "c"]])
    assert ["b", "c", "a"] == fused([["a", "c", "b"], ["b", "c"], ["b"]])


def test_fusion_is_by_rank_with_sixty_added():
    # 1/61 + 1/64 > 2/63 > 1/61
    assert ["a", "c", "x"] == [
        each for each in fused([["a", "b", "c"], ["x", "y", "c", "a"]]) if each in "acx"
    ]


def test_a_ranking_that_names_one_twice_counts_it_once():
    assert ["a", "b"] == fused([["a", "a", "b"], ["a"]])
    assert [] == fused([[], []])


@pytest.mark.parametrize(
    ("wanted", "found", "rank", "gain"),
    [
        ("a", "a", 1.0, 1.0),
        ("a", "ba", 1 / 2, 0.6309),
        ("a", "bcd", 0.0, 0.0),
        ("ab", "ab", 1.0, 1.0),
        ("ab", "acb", 1.0, 0.9197),
        ("ab", "", 0.0, 0.0),
    ],
)
def test_ranks_and_gains_are_as_defined(wanted, found, rank, gain):
    one = judged(wanted, found)

    assert rank == reciprocal_rank(one)
    assert gain == pytest.approx(ndcg(one), abs=1e-4)


def test_the_figures_of_a_set_are_counted_over_what_they_are_about():
    found = scores(
        [
            judged("a", "ax"),
            judged("bc", "yb"),
            judged("d", ""),
            judged("", "z"),
            judged("", ""),
        ]
    )

    assert (5, 2) == (found.queries, found.empty)
    assert (2 / 5, 5) == (found.precision.value, found.precision.n)
    assert (2 / 4, 4) == (found.recall.value, found.recall.n)
    assert (2 / 3, 3) == (found.hit.value, found.hit.n)
    assert (1 / 2, 2) == (found.quiet.value, found.quiet.n)
    assert (0.5, 3) == (found.mrr.value, found.mrr.n)
    assert 3 == found.ndcg.n


def test_without_anything_to_count_there_is_no_figure():
    found = scores([])

    assert Figure(None) == found.precision == found.mrr == found.quiet


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)],
)
def test_a_share_has_wilsons_interval(count, n, low, high):
    found = share(count, n)

    assert (low, high) == pytest.approx((found.low, found.high), abs=1e-4)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_lies_in_its_interval(given):
    found = share(*given)

    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_mean_has_the_bootstraps_interval_and_always_the_same():
    values = [0.0] * 30 + [1.0] * 70
    found = mean(values)

    assert 0.7 == pytest.approx(found.value)
    assert 0.60 < found.low < 0.64
    assert 0.76 < found.high < 0.80
    assert found == mean(values)


def test_a_mean_of_one_value_is_sure_of_it():
    assert Figure(0.5, 0.5, 0.5, 3) == mean([0.5, 0.5, 0.5])
