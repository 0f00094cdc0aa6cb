"""What a request may still spend, and whose turn it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.budget import (
    GRANTED,
    Account,
    Granted,
    Limits,
    Need,
    Short,
    Waiting,
    Which,
    Wish,
    first,
    verdict,
)


def account(limit=None, spent=0.0, reserved=0.0, *, tokens=None, used=0):
    return Account(Limits(limit, tokens), Need(spent, used), Need(reserved))


@pytest.mark.parametrize(
    ("accounts", "need", "expected"),
    [
        ({"task a": account(5, 4, 0)}, Need(1.0), GRANTED),
        ({"task a": account(5, 3, 1)}, Need(1.5), Waiting(frozenset({"task a"}))),
        ({"task a": account(None, 900, 9)}, Need(1.5), GRANTED),
        ({"task a": account(0.0)}, Need(0.0, 10), GRANTED),
        (
            {"task a": account(5), "day": account(9, 1, 8)},
            Need(1.0),
            Waiting(frozenset({"day"})),
        ),
    ],
)
def test_a_request_is_granted_only_beside_all_that_is_spent_and_reserved(
    accounts, need, expected
):
    assert expected == verdict(accounts, need)


def test_a_short_budget_says_the_figures():
    task = verdict({"task a": account(5, 4.5)}, Need(0.75))
    day = verdict({"day": account(None, tokens=1000, used=900)}, Need(0.0, 200))

    assert isinstance(task, Short)
    assert Which.TASK == task.which
    assert "5.00 usd is short: 4.50 usd spent, " in task.sentence
    assert "0.75 usd" in task.sentence
    assert isinstance(day, Short)
    assert Which.DAY == day.which
    assert "1,000 tokens is short: 900 tokens spent" in day.sentence


def test_a_model_without_a_price_is_held_by_tokens_alone():
    full = Account(Limits(1.0, 100), Need(1.0, 50))

    assert GRANTED == verdict({"task a": full}, Need(0.0, 50))
    assert isinstance(verdict({"task a": full}, Need(0.0, 51)), Short)


def test_nobody_is_granted_what_somebody_before_them_waits_for():
    large = Wish({"task a": account(10, 0, 6), "day": account(99)}, Need(5.0))
    small = Wish({"task a": account(10, 0, 6), "day": account(99)}, Need(1.0))
    other = Wish({"task b": account(10), "day": account(99)}, Need(1.0))

    assert first([large, small]) is None
    assert (2, GRANTED) == first([large, small, other])


def test_who_can_never_be_granted_is_told_at_once():
    waits = Wish({"task a": account(10, 0, 6)}, Need(5.0))
    never = Wish({"task a": account(10, 0, 6)}, Need(11.0))

    found = first([waits, never])

    assert found is not None
    assert 1 == found[0]
    assert isinstance(found[1], Short)


cents = st.integers(0, 400).map(lambda each: each / 100)


@given(cents, cents, cents, cents)
def test_what_is_granted_never_passes_a_limit(limit, spent, reserved, need):
    found = verdict({"task a": account(limit, spent, reserved)}, Need(need))

    if isinstance(found, Granted) and need:
        assert spent + reserved + need <= limit
    if isinstance(found, Waiting):
        assert spent + need <= limit
