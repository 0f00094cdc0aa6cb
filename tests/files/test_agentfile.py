import pytest

from gitagent.core.agent import Agent
from gitagent.core.task import Refusal
from gitagent.files.agentfile import parse


def agent(text, name="helper"):
    got = parse(name, text.encode(), f".agent/agents/{name}.md")
    assert isinstance(got, Agent), got
    return got


def test_every_key_is_read():
    got = agent(
        """\
+++
backend = "command"
argv = ["tool", "-v", "-v", ""]
model = "anthropic:x"
tools = ["read", "edit"]
paths = ["src/**"]
network = ["api.example.org:443"]
may = ["write", "network"]
+++

Be brief.
"""
    )

    assert got == Agent(
        name="helper",
        backend="command",
        argv=("tool", "-v", "-v", ""),
        model="anthropic:x",
        tools=("read", "edit"),
        paths=("src/**",),
        network=("api.example.org:443",),
        may=("write", "network"),
        instructions="Be brief.",
    )


def test_a_definition_made_for_another_tool_works_as_it_is():
    got = agent(
        """\
---
name: code-reviewer
description: Use this after every change
tools: Read, Grep, Bash
model: inherit
color: green
---
You review code.
"""
    )

    assert got == Agent(
        name="helper",
        backend="model",
        model="inherit",
        tools=("Read", "Grep", "Bash"),
        instructions="You review code.",
    )


@pytest.mark.parametrize(
    ("name", "backend"), [("claude", "claude"), ("shell", "shell"), ("x", "model")]
)
def test_without_a_backend_the_name_says_it_or_it_is_a_model(name, backend):
    assert backend == agent("Be brief.\n", name).backend


def test_grants_can_be_taken_away_altogether():
    assert () == agent("+++\nmay = []\n+++\n").may
    assert ("write", "shell") == agent("+++\n+++\n").may


@pytest.mark.parametrize(
    ("name", "text", "mend"),
    [
        ("Bad", "x", "rename"),
        ("shell", '+++\nbackend = "command"\nargv = ["x"]\n+++\n', "rename"),
        ("helper", '+++\nbackend = "comand"\n+++\n', "did you mean command"),
        ("helper", '+++\nbackend = "command"\n+++\n', "argv ="),
        ("helper", '+++\nbackend = "command"\nargv = [" "]\n+++\n', "argv ="),
        ("helper", '+++\nbackend = "shell"\nargv = ["x"]\n+++\n', "delete argv"),
        ("helper", '+++\nbackend = "command"\nargv = "x y"\n+++\n', '["x y"]'),
        ("helper", '+++\nbackend = "command"\nargv = ["x", 1]\n+++\n', "argv ="),
        ("helper", '+++\nmay = ["start-task"]\n+++\n', "start_task"),
        ("helper", '+++\nmay = ["fly"]\n+++\n', "write some of"),
        ("helper", '+++\nnetwork = ["example.org"]\n+++\n', "host:port"),
        ("helper", '+++\ntool = ["x"]\n+++\n', "did you mean tools"),
        ("helper", '+++\ntools = "Read"\n+++\n', '["Read"]'),
        ("helper", "---\ntools:\n  write: false\n---\n", "tools:"),
        ("helper", "---\npaths: [/etc]\n---\n", "top of the repository"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_mend(name, text, mend):
    got = parse(name, text.encode(), f".agent/agents/{name}.md")

    assert isinstance(got, Refusal)
    assert mend in got.reason
    assert len(got.reason.splitlines()) == 1
