"""What is wrong with [loop], [mcp.NAME] and [[hook]] is said in one line each."""

import pytest

from gitagent.core.settings import Hook, Mcp
from gitagent.errors import ConfigError
from gitagent.files.settings import parse


def test_servers_and_hooks_are_read_as_they_are_written():
    settings = parse(
        b"""
        [mcp.a_b]
        command = ["tracker-mcp", "--readonly"]
        env = { TZ = "UTC" }
        tools = ["search", "file_issue"]
        reads = ["search"]
        probes = { file_issue = "search" }
        most = 12
        timeout = "2m"

        [mcp.docs]
        url = "https://docs.example.org/mcp"

        [[hook]]
        name = "no-secrets"
        run = "ci/no-secrets"
        tools = ["write", "edit"]
        """
    )

    assert settings.mcp == {
        "a_b": Mcp(
            command=("tracker-mcp", "--readonly"),
            env={"TZ": "UTC"},
            tools=("search", "file_issue"),
            reads=("search",),
            probes={"file_issue": "search"},
            most=12,
            timeout=120,
        ),
        "docs": Mcp(url="https://docs.example.org/mcp"),
    }
    assert settings.hook == (
        Hook("no-secrets", "ci/no-secrets", tools=("write", "edit")),
    )


S = '[mcp.x]\ncommand = ["p"]\n'
H = '[[hook]]\nname = "h"\nrun = "true"\n'


@pytest.mark.parametrize(
    ("text", "problem", "mend"),
    [
        (
            "mcp = 3",
            "1: mcp is the number 3, expected tables by name",
            "write [mcp.NAME]",
        ),
        (
            "[mcp.x]",
            "1: mcp.x says nothing to reach",
            "write one of `command` and `url`",
        ),
        (
            S + 'url = "https://a.example"',
            "1: mcp.x has both a command and a url",
            "write one of `command` and `url`",
        ),
        (
            '[mcp.-x]\ncommand = ["p"]',
            "1: mcp.-x is no name of a server",
            "write letters, digits, _ and - (at most 40)",
        ),
        (
            '[mcp.x]\ncommand = [""]',
            "2: mcp.x.command names no program",
            "write it first",
        ),
        (
            '[mcp.x]\ncommand = "p"',
            '2: mcp.x.command is the text "p", expected a list',
            'write it in brackets: command = ["…"]',
        ),
        (
            '[mcp.x]\nurl = "ws://a.example"',
            '2: mcp.x.url is the text "ws://a.example"',
            "write an address that begins with https://",
        ),
        (
            '[mcp.x]\nurl = "https://u:p@a.example"',
            '2: mcp.x.url is the text "https://u:p@a.example"',
            "write it without @ and #: what is secret does not belong here",
        ),
        (
            '[mcp.x]\nurl = "https://:0"',
            '2: mcp.x.url is the text "https://:0"',
            "write an address such as https://mcp.example.org/mcp",
        ),
        (
            S + 'env = { GITAGENT_TOKEN = "x" }',
            "3: mcp.x.env.GITAGENT_TOKEN is no variable of a server",
            "write letters, digits and _, and nothing that begins with GITAGENT_",
        ),
        (
            '[mcp.x]\nurl = "https://a.example"\nenv = { A = "x" }',
            "3: mcp.x.env is for programs, and this is a url",
            "leave it out",
        ),
        (
            S + 'probes = { a = "b" }',
            '3: mcp.x.probes.a is the text "b"',
            "name one of `reads`: a probe changes nothing",
        ),
        (
            S + 'reads = ["a"]\nprobes = { a = "a" }',
            "4: mcp.x.probes.a is in `reads`, and may be called again",
            "leave it out",
        ),
        (
            S + "most = 0",
            "3: mcp.x.most is the number 0",
            "write a whole number from 1 to 200",
        ),
        (
            S + 'tools = ["a\\u0007"]',
            '3: mcp.x.tools contains the text "a\\u0007"',
            "write a tool's name as its server writes it",
        ),
        (
            S + 'timout = "1m"',
            "3: mcp.x.timout is not a setting",
            "did you mean mcp.x.timeout?",
        ),
        (
            "hook = 3",
            "1: hook is the number 3, expected a list of tables",
            "write [[hook]]",
        ),
        ('[[hook]]\nrun = "x"', "1: hook.1.name is missing", 'write name = "…"'),
        (
            H + H,
            "5: hook.h.name is the name of two hooks",
            "give every hook a name of its own",
        ),
        (
            H + 'on = "stop"',
            '4: hook.h.on is the text "stop"',
            'write "before_tool" or "after_tool"',
        ),
        (
            '[[hook]]\nname = "h"\nrun = " "',
            '3: hook.h.run is the text " "',
            "write what it is",
        ),
        (
            H + 'policy = "yes"',
            '4: hook.h.policy is the text "yes", expected true or false',
            "write policy = true or policy = false",
        ),
        (
            "[loop]\nturns = 0",
            "2: loop.turns is the number 0",
            "write a whole number from 1 to 10000",
        ),
        (
            "[loop]\ncontext = 40_000",
            "2: loop.context is the number 40000",
            "leave a quarter of the context beside `reserve` and `keep`",
        ),
    ],
)
def test_a_mistake_is_one_line_with_its_place_and_its_mend(text, problem, mend):
    with pytest.raises(ConfigError) as caught:
        parse(text.encode())

    assert f".agent/config.toml:{problem}; {mend}" == caught.value.line()
