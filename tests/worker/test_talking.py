"""What the gateway knows of how an agent ended."""

from types import SimpleNamespace

import pytest

from gitagent.core.failure import Failure
from gitagent.core.settings import Model, Provider
from gitagent.core.task import Outcome
from gitagent.worker.order import Ending
from gitagent.worker.talking import Talk

REFUSED = "The provider p answered auth (401): no."


def explained(said="Program: exit 1.", trouble=REFUSED, failed=None, **provider):
    model = Model(providers={"p": Provider(**provider)})
    gateway = SimpleNamespace(
        trouble=trouble,
        failed=failed,
        access=SimpleNamespace(task="a", model=model),
    )
    ending = Ending(Outcome.FAILED, said)
    return Talk(means=None, doors=(), gateway=gateway).explain(ending)


@pytest.mark.parametrize(
    ("provider", "mend"),
    [
        (
            {"key_env": "KEY"},
            "Put a good key into KEY where the daemon is started, and start it again",
        ),
        ({"key_file": "~/key"}, "Write a good key into ~/key"),
        ({"keyring": "work"}, "Run `keyring set gitagent work`"),
        ({}, "Name a key in [model.providers.p] by key_env, key_file or keyring"),
    ],
)
def test_a_refused_key_is_told_with_the_way_to_another(provider, mend):
    found = explained(failed=("p", Failure.AUTH), **provider)

    assert Outcome.REFUSED == found.outcome
    assert f"{REFUSED} {mend}; then: gitagent task retry a." == found.reason


def test_an_empty_account_is_told_with_two_ways_out():
    found = explained(trouble="Empty.", failed=("p", Failure.FUNDS), key_file="k")

    assert Outcome.REFUSED == found.outcome
    assert (
        "Empty. Pay for its account, or write a good key into k; then: "
        "gitagent task retry a." == found.reason
    )


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Program: exit 1.", "Program: exit 1. It is down."),
        ("Program: API Error: 400 It is down.", "It is down."),
        ('Program: {"error": "It is down."}', "It is down."),
    ],
)
def test_what_a_program_repeats_of_the_gateway_is_told_once(said, reason):
    found = explained(said, "It is down.", ("p", Failure.UNREACHABLE))

    assert (Outcome.FAILED, reason) == (found.outcome, found.reason)
