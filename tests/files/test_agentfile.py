import pytest

from gitagent.core.agent import Agent
from gitagent.core.task import Refusal
from gitagent.files.agentfile import parse


def agent(text, name="helper", folder=".agent/agents/"):
    got = parse(name, text.encode(), f"{folder}{name}.md", "b" * 40)
    assert isinstance(got, Agent), got
    return got


def test_every_key_is_read():
    got = agent(
        """\
+++
description = "It helps"
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
        description="It helps",
        path=".agent/agents/helper.md",
        blob="b" * 40,
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
        backend="claude",
        model="inherit",
        tools=("Read", "Grep", "Bash"),
        instructions="You review code.",
        description="Use this after every change",
        path=".agent/agents/helper.md",
        blob="b" * 40,
    )


def test_what_other_tools_write_without_quotes_is_taken_as_it_is():
    got = agent(
        """\
---
name: helper
description: Use it so. Examples: <example>user: "hi"</example> & [more]: *now*
tools: Bash(git diff:*, git log:*), Read, Read
model: opus
---
Help.
"""
    )

    assert 'Examples: <example>user: "hi"' in got.description
    assert ("Bash(git diff:*, git log:*)", "Read") == got.tools
    assert "opus" == got.model


@pytest.mark.parametrize("tools", ["tools: '*'", "tools:", "tools: ['*']", "x: 1"])
def test_all_tools_of_another_tool_are_all_tools(tools):
    assert () == agent(f"---\n{tools}\n---\nHelp.\n").tools


def test_one_made_for_claude_code_is_for_claude_whatever_its_name():
    text = "---\nname: x\ndescription: y\n---\nHelp.\n"
    got = parse("codex", text.encode(), ".claude/agents/codex.md")

    assert "claude" == agent(text, "helper", ".claude/agents/").backend
    assert "codex" == agent(text, "codex").backend
    assert isinstance(got, Refusal)
    assert "rename the file" in got.reason


def test_an_agent_of_the_client_protocol_needs_a_program():
    got = agent('+++\nbackend = "acp"\nargv = ["gemini", "--acp"]\n+++\n')

    assert ("acp", ("gemini", "--acp")) == (got.backend, got.argv)


@pytest.mark.parametrize(
    ("name", "backend"), [("claude", "claude"), ("shell", "shell"), ("x", "model")]
)
def test_without_a_backend_the_name_says_it_or_it_is_a_model(name, backend):
    assert backend == agent("Be brief.\n", name).backend


def test_grants_can_be_taken_away_altogether():
    assert () == agent("+++\nmay = []\n+++\n").may
    assert ("write", "shell") == agent("+++\n+++\n").may


def test_the_built_in_agent_has_decisions_and_servers():
    got = agent('+++\ndecide = ["shell", "remember"]\nmcp = ["notes"]\n+++\n', "x")

    assert (("shell", "remember"), ("notes",)) == (got.decide, got.mcp)


def test_servers_that_a_definition_made_for_another_program_names_are_passed_over():
    got = agent("---\nmcp: {notes: {command: x}}\n---\n", "x", ".claude/agents/")

    assert () == got.mcp


@pytest.mark.parametrize(
    ("name", "text", "mend"),
    [
        ("x", '+++\ndecide = ["shel"]\n+++\n', "did you mean shell"),
        ("x", '+++\ndecide = ["fly"]\n+++\n', "read, write, shell, network, start"),
        ("x", '+++\ndecide = "shell"\n+++\n', '["shell"]'),
        ("x", '+++\nmcp = ["My Notes"]\n+++\n', "[mcp.NAME]"),
        ("claude", '+++\ndecide = ["shell"]\n+++\n', "delete decide"),
        ("codex", '+++\nmcp = ["notes"]\n+++\n', "delete mcp"),
        ("x", "---\ndecide: [shell]\n---\n", "backend model"),
        ("Bad", "x", "rename"),
        ("shell", '+++\nbackend = "command"\nargv = ["x"]\n+++\n', "rename"),
        ("helper", '+++\nbackend = "comand"\n+++\n', "did you mean command"),
        ("helper", '+++\nbackend = "command"\n+++\n', "argv ="),
        ("helper", '+++\nbackend = "acp"\n+++\n', "argv ="),
        ("helper", "---\nmodel: [x]\n---\n", "model:"),
        ("codex", '+++\nbackend = "claude"\n+++\n', "rename"),
        ("helper", "---\nname: x: y\n  z\n---\n", "quotes"),
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
