"""Whether an effect is found where there is one, and only there.

The trials are records as a daemon writes them; seeds are 0 and up. How often it is over
thousands of seeds, and exactly, say `bench/bench_effect.py` and `test_interval.py`.
"""

from collections import Counter
from functools import cache

import pytest

from bench.trial import Truth, trial
from gitagent.core.outcomes import Row
from gitagent.core.uplift import (
    LARGE,
    Verdict,
    enough,
    hurting,
    of_item,
    of_recall,
    one_rate,
    sentence,
    slugs,
    spoken,
)

TRIALS = 200
FEW = 20


def made(count, *, first_try, recalled=True, given=(), withheld=(), **fields):
    whole = {"rate": 0.5, "retries": 0, "tokens": None, "oid": "r"} | fields
    return [
        Row(
            f"t{n}",
            "2026-11-01T00:00:00Z",
            recalled=recalled,
            given=frozenset(given),
            withheld=frozenset(withheld),
            first_try=n < first_try,
            **whole,
        )
        for n in range(count)
    ]


def arms(given, withheld, **fields):
    """Return rows of an item, each arm as (first tries that landed, tasks)."""
    return [
        *made(given[1], first_try=given[0], given=["a"], **fields),
        *made(withheld[1], first_try=withheld[0], withheld=["a"], **fields),
    ]


@cache
def without_effect() -> list[list[Row]]:
    items = (("a", 0.0), ("b", 0.0))
    return [trial(seed, 80, Truth(items=items)) for seed in range(TRIALS)]


def test_without_an_effect_nothing_is_found_in_95_of_100_trials():
    found = Counter(of_recall(rows).verdict for rows in without_effect())

    assert 0.95 * TRIALS <= found[Verdict.UNKNOWN]


def test_without_an_effect_no_item_is_proposed_for_withdrawal():
    found = [rows for rows in without_effect() if hurting(rows)]

    assert len(found) <= 0.05 * TRIALS


@pytest.mark.parametrize(
    ("effect", "verdict"), [(LARGE, Verdict.HELPS), (-LARGE, Verdict.HURTS)]
)
def test_twenty_points_are_found_at_the_number_of_tasks_that_is_named(effect, verdict):
    truth = Truth(base=0.5, recall=effect)
    count = enough(truth.rate)[LARGE]
    found = Counter(of_recall(trial(seed, count, truth)).verdict for seed in range(FEW))

    assert 0.8 * FEW <= found[verdict]


def test_an_item_that_hurts_is_found_among_others():
    items = (("bad", -0.4), ("good", 0.0), ("other", 0.0))
    rows = trial(0, 400, Truth(base=0.6, items=items))
    (found,) = hurting(rows)

    assert ("bad", "hurts") == (found.slug, found.kind)
    assert 0 < len(found.evidence) <= 20
    assert of_item(rows, "bad").verdict is Verdict.HURTS
    assert ["bad", "good", "other"] == slugs(rows)


@pytest.mark.parametrize(
    ("given", "withheld", "kind"),
    [
        ((10, 100), (60, 100), "hurts"),
        ((500, 1000), (500, 1000), "never helps"),
        ((10, 20), (10, 20), None),  # too few to tell
        ((1100, 2000), (1000, 2000), None),  # it helps, if only by a little
    ],
)
def test_what_hurts_or_never_helps_is_proposed(given, withheld, kind):
    found = hurting(arms(given, withheld))

    assert [kind] * (kind is not None) == [each.kind for each in found]


def test_the_sentence_against_an_item_has_its_figures():
    (found,) = hurting(arms((10, 100), (60, 100)))

    assert (
        "It hurts: 10 of 100 tasks that were given it landed at the first try, and 60"
        " of 100 that it was withheld from, -50 points (-63 to -33) at 99 %."
    ) == found.sentence


def test_among_many_items_the_level_is_stricter():
    one = arms((12, 40), (27, 40))
    names = [f"i{n}" for n in range(40)]
    many = [
        *one,
        *made(9, first_try=5, given=names),
        *made(9, first_try=5, withheld=names),
    ]

    assert ["hurts"] == [each.kind for each in hurting(one)]
    assert ["never helps"] == [each.kind for each in hurting(many)]


def test_an_item_that_nobody_was_spared_is_not_judged():
    assert [] == hurting(made(100, first_try=0, given=["a"]))


def test_only_tasks_whose_coin_was_tossed_for_an_item_are_compared():
    rows = [*arms((1, 2), (1, 3)), *made(50, first_try=50)]
    found = of_item(rows, "a")

    assert (2, 3) == (found.given.tasks, found.withheld.tasks)


def test_tasks_of_another_rate_are_not_mixed_in():
    rows = [*made(3, first_try=1), *made(2, first_try=1, rate=0.1)]

    assert (rows[:3], 2) == one_rate(rows)
    assert ([], 0) == one_rate([])


def test_of_two_rates_with_as_many_the_later_counts():
    early, late = made(2, first_try=1, rate=0.1), made(2, first_try=1)

    assert (late, 2) == one_rate([*early, *late])


def test_retries_and_tokens_are_told_and_decide_nothing():
    rows = [
        *made(50, first_try=25, retries=0, tokens=100),
        *made(50, first_try=25, retries=2, tokens=900, recalled=False),
        *made(1, first_try=0, retries=1, tokens=None, recalled=False),
        *made(1, first_try=0, retries=1, tokens=101),
    ]
    found = of_recall(rows)

    assert found.retries is not None
    assert found.tokens is not None
    assert found.retries.high < 0
    assert found.tokens.high < 0
    assert (50, 51) == (found.withheld.counted, found.withheld.tasks)
    assert Verdict.UNKNOWN is found.verdict


@pytest.mark.parametrize(
    ("given", "withheld", "words"),
    [
        ((90, 100), (50, 100), "Recall helps: +40 points (+27 to +51)"),
        ((50, 100), (90, 100), "Recall hurts: -40 points (-51 to -27)"),
        ((500, 1000), (500, 1000), "Recall changes little: +0 points (-4 to +4)"),
        (
            (5, 10),
            (5, 10),
            "No effect of recall can be told yet, of 20 tasks. 346 find 20 points",
        ),
        (
            (65, 100),
            (50, 100),
            "No effect of recall can be told yet, of 200 tasks. It looks as if it",
        ),
    ],
)
def test_a_plain_sentence_says_what_is_known(given, withheld, words):
    rows = [
        *made(given[1], first_try=given[0]),
        *made(withheld[1], first_try=withheld[0], recalled=False),
    ]

    assert sentence(of_recall(rows), "Recall", 0.5).startswith(words)


def test_without_tasks_there_is_nothing_to_compare():
    found = of_recall([])

    assert Verdict.UNKNOWN is found.verdict
    assert "nothing to compare" == spoken(found.first_try)
    assert {} == enough(0.0) == enough(1.0)
    assert "No effect of recall can be told yet, of 0 tasks." == sentence(
        found, "Recall", 0.0
    )
