"""Which tools of MCP servers are offered, and what of their words a model reads."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.effect import Effect, Effects
from gitagent.core.reach import Facts
from gitagent.core.settings import Mcp
from gitagent.core.unseen import UNSEEN
from gitagent.worker.loop import foreign
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.offered import address, listed, offered

ANY = {"type": "object", "properties": {"text": {"type": "string"}}}
HIDDEN = re.compile(f"[{UNSEEN}]")
LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")


def said(name, schema=ANY, description="words"):
    return {"name": name, "description": description, "schema": schema, "print": name}


def offer(*tools, server="s", told=None, **spec):
    spec.setdefault("command", ("p", "a b"))
    specs = {server: Mcp(**spec)}
    lines = [] if told is None else told
    _, found = listed(specs, {server: {"tools": [*tools]}}, lines.append)
    return offered(specs, found, lines.append)


def test_the_thirteenth_tool_of_twelve_is_not_offered_and_that_is_told():
    told = []

    made = offer(*(said(f"t{n}") for n in range(1, 14)), most=12, told=told)

    assert [f"mcp__s__t{n}" for n in range(1, 13)] == [*made]
    assert ["MCP server s: t13 not offered: `most` is 12"] == told


def test_only_tools_that_are_named_are_offered_and_one_that_is_missing_is_told():
    told = []

    made = offer(said("a"), said("b"), said("c"), tools=("c", "x", "a"), told=told)

    assert ["mcp__s__c", "mcp__s__a"] == [*made]
    assert ["MCP server s: x not offered: the server has none of this name"] == told


def test_a_name_is_never_taken_apart():
    made = offer(said("a__b_c"), server="a_b")

    assert ("a_b", "a__b_c") == (
        made["mcp__a_b__a__b_c"].server,
        made["mcp__a_b__a__b_c"].called,
    )


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
        | st.sampled_from(["x" * 65, "x" * 66, "a.b", "a_b", "a/b"]),
        unique=True,
        max_size=8,
    )
)
def test_every_name_is_legal_and_each_tool_has_its_own(names):
    fit = [each for each in names if len(each) <= 200 and not HIDDEN.search(each)]

    made = offer(*(said(name) for name in fit))

    assert fit == [each.called for each in made.values()]
    assert all(LEGAL.fullmatch(name) for name in made)


def test_two_tools_that_would_have_one_name_have_two():
    specs = {"a": Mcp(command=("p",)), "a__b": Mcp(command=("p",))}
    tools = {"a": [said("b__c")], "a__b": [said("c")]}

    made = offered(specs, tools, lambda _: None)

    assert {("a", "b__c"), ("a__b", "c")} == {
        (each.server, each.called) for each in made.values()
    }


def test_what_a_tool_says_of_itself_is_visible_cut_and_says_whose_it_is():
    text = "safe\x1b[8m\u202e" + "x" * 5000

    tool = offer(said("a", description=text))["mcp__s__a"].tool

    start = "[a tool of the MCP server s] safe\\x1b[8m\\u202exxx"
    assert tool.description.startswith(start)
    assert len(tool.description) < 2100


def nested(depth):
    schema = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        {},
        {"type": "string"},
        {"type": ["object"]},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 3}},
        {"type": "object", "properties": {"a b": {}}},
        {"type": "object", "properties": {"a\u202e": {}}},
        {"type": "object", "properties": {"a": {"type": "thing"}}},
        {"type": "object", "properties": {"a": {"type": 3}}},
        {"type": "object", "properties": {"a": {"enum": 3}}},
        {"type": "object", "properties": {"a": {"items": 3}}},
        {"type": "object", "properties": {"a": {"anyOf": {}}}},
        {"type": "object", "properties": {"a": {"$ref": "https://x.example/s"}}},
        {"type": "object", "required": "a"},
        {"type": "object", "oneOf": [{"required": ["a"]}]},
        {"type": "object", "description": "x" * 20_000},
        {"type": "object", "x": nested(200)},
        nested(50),
    ],
)
def test_a_tool_whose_schema_is_none_is_not_offered_and_that_is_told(schema):
    told = []

    assert {} == offer(said("a", schema), told=told)
    assert "MCP server s: a not offered: its schema" in told[0]


@pytest.mark.parametrize(
    "tool", [None, 3, {}, {"name": 3}, {"name": " "}, said("x" * 201), said("a\x1b")]
)
def test_what_is_no_tool_is_passed_over_and_told(tool):
    told = []

    assert {"mcp__s__b"} == offer(tool, said("b"), told=told).keys()
    assert "a tool is not offered" in told[0]


def test_texts_in_a_schema_are_visible():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"a": {"type": "string", "description": "x\u202ey"}},
    }

    assert foreign.schema(said("a", schema)) == {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "x\\u202ey"}},
    }


def test_one_server_takes_only_so_much_of_the_context():
    told = []
    schema = {"type": "object", "description": "x" * 16_000}

    made = offer(*(said(f"t{n}", schema) for n in range(10)), told=told)

    assert 8 == len(made)
    assert "all the room" in told[0]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({}, "it did not answer"),
        ({"s": 3}, "it did not answer"),
        ({"s": {"tools": 3}}, "it did not answer"),
        ({"s": {"error": "no\x1b licence"}}, "no\\x1b licence"),
    ],
)
def test_a_server_that_is_away_is_told(found, why):
    told = []

    assert ({}, {}) == listed({"s": Mcp(command=("p",))}, found, told.append)
    assert [f"MCP server s is away: {why}"] == told


def test_a_tool_that_is_there_twice_is_offered_once():
    told = []

    assert 1 == len(offer(said("a"), said("a"), told=told))
    assert ["MCP server s: a is there twice"] == told


def test_the_key_of_a_call_is_no_argument_of_the_model():
    properties = {"key": {}, "idempotency_key": {}, "text": {}}
    schema = {"type": "object", "properties": properties, "required": ["key", "text"]}

    probed = offer(said("a", schema), probes={"a": "was"}, reads=("was",))["mcp__s__a"]
    other = offer(said("a", schema))["mcp__s__a"]

    assert ("key", "idempotency_key") == probed.keys
    assert (["text"], ["text"]) == (
        [*probed.tool.schema["properties"]],
        probed.tool.schema["required"],
    )
    # It may be the key of something that is looked up.
    assert ("idempotency_key",) == other.keys
    assert ["key", "text"] == [*other.tool.schema["properties"]]


@pytest.mark.parametrize(
    ("spec", "tool", "effect"),
    [
        ({}, "a", Effect(Effects.SHELL, "p 'a b'", content='a {"x": 1}')),
        ({"reads": ("a",)}, "a", Effect(Effects.READ, "p 'a b'")),
        (
            {"command": (), "url": "https://d.example/mcp"},
            "a",
            Effect(Effects.NETWORK, "d.example:443", content='a {"x": 1}'),
        ),
        (
            {"command": (), "url": "http://[::1]:8/mcp", "reads": ("a",)},
            "a",
            Effect(Effects.NETWORK, "[::1]:8"),
        ),
    ],
)
def test_a_call_has_the_effect_of_what_it_reaches(spec, tool, effect):
    forms = [each.form for each in offer(said(tool), **spec).values()]
    facts = Facts(network=("d.example:443", "[::1]:8"))

    effects = Offer(facts, more=forms).effects(f"mcp__s__{tool}", {"x": 1})

    assert (effect,) == effects


def test_an_agent_that_may_run_nothing_has_only_tools_that_read():
    forms = [e.form for e in offer(said("a"), said("b"), reads=("b",)).values()]

    names = Offer(Facts(may=()), more=forms).names

    assert ["mcp__s__b"] == [name for name in names if name.startswith("mcp")]


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("https://a.example/x", ("a.example", 443)),
        ("http://a.example", ("a.example", 80)),
        ("http://a.example:8080/x", ("a.example", 8080)),
    ],
)
def test_an_address_names_a_host_and_a_port(url, where):
    assert where == address(url)


def test_what_is_offered_can_be_sent_as_json():
    for each in offer(said("a"), said("ü")).values():
        json.dumps([each.tool.name, each.tool.description, each.tool.schema])
