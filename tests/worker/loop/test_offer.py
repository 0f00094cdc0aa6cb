"""Which tools a conversation has, and what a call of them would do."""

import json

import pytest

from gitagent.core.effect import Effect, Effects
from gitagent.core.reach import Facts
from gitagent.core.settings import Loop
from gitagent.worker.loop.form import Form, Where, Who
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.table import TABLE

ALL = ("write", "shell", "start_task", "remember")
READS = ["read", "glob", "grep", "git"]
OWN = ["todo", "ask", "finish", "task_status"]
LOOKS = ["search_memory", "show_memory"]
STANDING = ["status", "log", "search_history"]
HOST = ("docs.example:443",)


def names(may=ALL, profile="", tools=(), *, chat=False, network=()):
    facts = Facts(may=may, network=network)
    return [each.name for each in Offer(facts, profile, tools, chat=chat).tools]


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ({}, [*READS, "write", "edit", "shell", "code", *OWN, *LOOKS, "remember"]),
        ({"may": ("write",)}, [*READS, "write", "edit", *OWN, *LOOKS]),
        ({"may": ("shell",)}, [*READS, "shell", "code", *OWN, *LOOKS]),
        ({"may": ("remember",)}, [*READS, *OWN, *LOOKS, "remember"]),
        ({"may": ()}, [*READS, *OWN, *LOOKS]),
        ({"may": (), "network": HOST}, [*READS, "web_fetch", *OWN, *LOOKS]),
        ({"profile": "plan", "network": HOST}, [*READS, *OWN, *LOOKS]),
        ({"profile": "unknown", "network": HOST}, [*READS, *OWN, *LOOKS]),
        ({"tools": ("Read", "BASH", "odd")}, ["read", "shell", *OWN]),
        ({"tools": ("Bash(git log:*)", "MultiEdit")}, ["edit", *OWN]),
        (
            {"chat": True, "may": ("start_task",)},
            [*READS, "todo", *LOOKS, *STANDING, "start_task", "propose"],
        ),
        (
            {"chat": True, "profile": "side"},
            [*READS, "todo", *LOOKS, *STANDING, "propose"],
        ),
    ],
)
def test_what_is_not_granted_is_not_offered(has, expected):
    assert expected == names(**has)


def test_every_tool_says_what_it_does_and_takes_an_object():
    for each in TABLE:
        properties = each.schema["properties"]
        assert each.description.endswith(".")
        assert "object" == each.schema["type"]
        assert {*each.schema.get("required", ())} <= {*properties}
        assert not each.about or each.about in properties
    assert len(TABLE) == len({each.name for each in TABLE})
    assert len(json.dumps([dict(each.schema) for each in TABLE])) < 12_000


def test_the_description_has_the_limit_of_the_settings():
    loop = Loop(shell=77)  # noqa: S604 - seconds
    found = Offer(Facts(may=ALL), loop=loop).tools
    (shell,) = [each for each in found if each.name == "shell"]

    assert "A call may take 77 s" in shell.description


@pytest.mark.parametrize(
    ("tool", "given", "effect"),
    [
        ("read", {"path": "a/../b"}, Effect(Effects.READ, "/workspace/b")),
        ("read", {"path": "/etc/x"}, Effect(Effects.READ, "/etc/x")),
        ("grep", {"pattern": "x"}, Effect(Effects.READ, "/workspace")),
        ("git", {"view": "log"}, Effect(Effects.READ, "git log", "/workspace")),
        (
            "write",
            {"path": "./a", "content": "x"},
            Effect(Effects.WRITE, "/workspace/a", content="x"),
        ),
        (
            "edit",
            {"path": "a", "old": "x", "new": "y"},
            Effect(
                Effects.WRITE,
                "/workspace/a",
                content='{"old": "x", "new": "y", "all": null}',
            ),
        ),
        (
            "shell",
            {"command": "make"},
            Effect(Effects.SHELL, "make", "/workspace"),
        ),
        (
            "code",
            {"source": "1"},
            Effect(Effects.SHELL, "python", "/workspace", content="1"),
        ),
        (
            "web_fetch",
            {"url": "https://docs.example/a"},
            Effect(Effects.NETWORK, "https://docs.example/a"),
        ),
    ],
)
def test_the_effect_of_a_call_is_what_it_is_about(tool, given, effect):
    assert (effect,) == Offer(Facts(may=ALL, network=HOST)).effects(tool, given)


def test_a_task_that_is_started_is_bound_to_all_that_it_says():
    offer = Offer(Facts(may=ALL), chat=True)
    given = {"id": "x", "title": "t", "text": "do it", "accept": ["true"]}
    (effect,) = offer.effects("start_task", given)

    assert (Effects.START_TASK, "x") == (effect.kind, effect.what)
    assert {key: given[key] for key in ("title", "text", "accept")} == json.loads(
        effect.content
    )


def test_what_is_remembered_is_bound_to_all_that_it_says():
    given = {"op": "add", "slug": "tabs", "line": "Indent with tabs."}
    (effect,) = Offer(Facts(may=ALL)).effects("remember", given)

    assert (Effects.REMEMBER, "tabs") == (effect.kind, effect.what)
    assert given == json.loads(effect.content)


def test_what_a_call_acts_on_is_told_to_people():
    offer = Offer(Facts())

    assert "src/a" == offer.about("write", {"path": "/workspace/src/./a"})
    assert "make" == offer.about("shell", {"command": "make"})
    assert "" == offer.about("todo", {"items": []})


def foreign(name, kind):
    return Form(name, "Does.", {"type": "object"}, Who.MCP, kind=kind, where=Where.BOTH)


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ({}, ["mcp__a__look", "mcp__a__act", "mcp__b__net"]),
        ({"profile": "plan"}, ["mcp__a__look"]),
        ({"tools": ("read",)}, ["mcp__a__look", "mcp__a__act", "mcp__b__net"]),
        ({"tools": ("read", "mcp__b")}, ["mcp__b__net"]),
        ({"tools": ("mcp__a__act",)}, ["mcp__a__act"]),
    ],
)
def test_tools_of_servers_come_by_grants_and_as_they_are_named(has, expected):
    more = [
        foreign("mcp__a__look", Effects.READ),
        foreign("mcp__a__act", Effects.SHELL),
        foreign("mcp__b__net", Effects.NETWORK),
    ]
    offer = Offer(Facts(network=HOST), **has, more=more)

    assert expected == [each for each in offer.names if each.startswith("mcp__")]


def test_the_arguments_of_a_servers_tool_are_left_to_it():
    offer = Offer(Facts(), more=[Form("mcp__a__x", "", {}, Who.MCP, strict=False)])

    assert {"odd": None} == offer.check("mcp__a__x", '{"odd": null}').given
    for odd in ("[]", "{", "[" * 100_000):
        assert "Nothing was done" in offer.check("mcp__a__x", odd).slip
