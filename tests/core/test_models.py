"""Which model an agent talks to, and which may stand in for it."""

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import ModelRef, Route, price, resolve, route, talks
from gitagent.core.settings import Model, Provider

CLAUDE = Agent("claude", "claude")
CODEX = Agent("codex", "codex")
SETTINGS = Model(
    fallback=("second:claude-x", "gpt:gpt-5", "gpt:gpt-4", "nobody:x"),
    aliases={"big": "second:huge"},
    providers={
        "anthropic": Provider(),
        "second": Provider(prices={"claude-x": {"input": 1.0, "output": 2.0}}),
        "gpt": Provider(kind="openai", base_url="https://example.org/v1"),
    },
)


def names(agent, settings=SETTINGS):
    found = route(agent, settings)

    assert isinstance(found, Route), found
    return [str(each) for each in found.models], found.pinned


def test_who_names_none_has_the_default_and_what_stands_in_by_the_same_api():
    expected = (["anthropic:claude-sonnet-4-5", "second:claude-x"], False)

    assert expected == names(CLAUDE)


def test_who_cannot_speak_to_the_default_has_the_first_that_it_can():
    assert (["gpt:gpt-5", "gpt:gpt-4"], False) == names(CODEX)


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("second:claude-x", "second:claude-x"),
        ("claude-opus-4-5", "anthropic:claude-opus-4-5"),
        ("haiku", "anthropic:claude-haiku-4-5"),
        ("big", "second:huge"),
    ],
)
def test_a_named_model_is_pinned_and_nothing_stands_in(model, found):
    assert ([found], True) == names(Agent("x", "claude", model=model))


@pytest.mark.parametrize("model", ["inherit", "default"])
def test_what_claude_code_calls_the_same_as_before_is_the_default(model):
    assert names(CLAUDE) == names(Agent("x", "claude", model=model))


@pytest.mark.parametrize(
    ("agent", "part"),
    [
        (
            Agent("x", "claude", model="nobody:y"),
            "Agent x names nobody:y. There is no provider nobody",
        ),
        (Agent("x", "claude", model="gpt:gpt-5"), "speaks the API anthropic"),
        (Agent("x", "codex", model="second:claude-x"), "speaks the API openai"),
        (Agent("x", "claude", model="second:"), "has no name"),
    ],
)
def test_a_named_model_that_cannot_be_had_is_a_sentence_and_never_replaced(agent, part):
    found = route(agent, SETTINGS)

    assert isinstance(found, str)
    assert part in found
    assert found.endswith(".")


def test_without_any_model_by_its_api_the_mend_names_both_places():
    found = route(CODEX, Model())

    assert "in its definition, or in model.fallback" in found


def test_a_model_whose_name_has_a_colon_keeps_it():
    assert ModelRef("gpt", "llama:8b") == resolve("gpt:llama:8b", SETTINGS)


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (CLAUDE, True),
        (Agent("x", "acp", ("a",)), True),
        (Agent("x", "command", ("a",)), False),
        (Agent("x", "command", ("a",), model="m"), True),
        (Agent("shell", "shell"), False),
    ],
)
def test_a_way_to_a_model_has_who_needs_one(agent, told):
    assert told is talks(agent)


def test_a_price_is_the_settings_or_the_list_of_the_providers_own_address():
    listed = price(ModelRef("anthropic", "claude-haiku-4-5"), SETTINGS)

    assert {"input": 1.0, "output": 5.0} == {k: listed[k] for k in ("input", "output")}
    assert {"input": 1.0, "output": 2.0} == price(
        ModelRef("second", "claude-x"), SETTINGS
    )
    assert None is price(ModelRef("gpt", "gpt-5"), SETTINGS)
