"""Providers that asked to be left alone."""

import pytest

from gitagent.host import clock
from gitagent.model.breaker import Breaker


@pytest.fixture
def moment(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    return now


def test_a_provider_is_left_alone_for_the_longest_time_that_was_asked(moment):
    breaker = Breaker()
    breaker.hold("one", 60, "It said so.")
    breaker.hold("one", 10, "It said less.")

    assert 60 == breaker.left("one")
    assert 0 == breaker.left("two")
    (sentence,) = breaker.holds().values()
    assert sentence.startswith("The provider one is left alone until 20")
    assert sentence.endswith("Z: It said so.")
    moment[0] += 60
    assert {} == breaker.holds()
    assert 0 == breaker.left("one")


@pytest.mark.usefixtures("moment")
def test_no_word_of_a_provider_holds_it_for_longer_than_a_week():
    breaker = Breaker()
    breaker.hold("one", 1e12, "For ever.")

    assert 7 * 24 * 3600 == breaker.left("one")
