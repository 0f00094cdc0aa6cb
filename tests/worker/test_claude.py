"""The backend ``claude``: what the program is told, and that it does it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import ANTHROPIC, ModelRef, Route
from gitagent.worker.backends import claude
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from tests.support import agents
from tests.support.provider import Call, Fault, Mcp, Provider, Say, Shell, Write

MODEL = "claude-sonnet-4-5"
SESSION = "32ea4c2d-f98a-471f-8747-8bb7464ac910"

SERVER = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    tool = {"name": "ask", "inputSchema": {"type": "object"}}
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "gitagent", "version": "1"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": "it was noted"}]},
    }
    if "id" in asked:
        answer = {"id": asked["id"], "result": results.get(asked["method"], {})}
        print(json.dumps({"jsonrpc": "2.0", **answer}), flush=True)
"""

HOOK = """\
import json, pathlib, sys
log = pathlib.Path(sys.argv[1])
told = json.load(sys.stdin)
with log.open("a") as file:
    file.write(sys.argv[2] + " " + told.get("tool_name", "") + "\\n")
if sys.argv[2] == "stop" and log.read_text().count("stop") == 1:
    sys.stderr.write("the tests fail")
    sys.exit(2)
"""


def means(url: str = "http://127.0.0.1:3130", **fields) -> Means:
    values = {
        "route": Route((ModelRef("anthropic", MODEL),), ANTHROPIC, pinned=True),
        "anthropic_url": url,
        "openai_url": f"{url}/v1",
        "token": "token-1",
        "socket": "/nowhere",
        "home": "/home",
        **fields,
    }
    return Means(**values)


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "fix-1", confined=True)
    made.home.mkdir(parents=True)
    return made


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Have a program that only looks like Claude Code."""
    package = tmp_path / "lib/node_modules/@anthropic-ai/claude-code"
    package.mkdir(parents=True)

    def at(version: str) -> Path:
        values = {"name": "@anthropic-ai/claude-code", "version": version}
        (package / "package.json").write_text(json.dumps(values))
        (package / "claude").write_text("#!/bin/sh\nexit 9\n")
        (package / "claude").chmod(0o755)
        monkeypatch.setenv("PATH", f"{package}:{os.environ['PATH']}")
        return package / "claude"

    return at


def prepared(work, folder, agent=None, *, given=None, **fields) -> Launch:
    work.agent = agent or Agent("c", "claude")
    launch = claude.prepare(
        work.order(**fields), folder, "Mend it.\n", given or means()
    )

    assert isinstance(launch, Launch)
    return launch


def flag(launch: Launch, name: str) -> str:
    return launch.argv[launch.argv.index(name) + 1]


def settings(launch: Launch) -> dict:
    return json.loads(dict(launch.files)[claude.SETTINGS_FILE])


def test_without_the_program_it_is_refused_with_the_command(
    work, folder, monkeypatch, tmp_path
):
    order = work.order()
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = claude.prepare(order, folder, "x", means())

    assert isinstance(refused, Refused)
    assert "npm install -g @anthropic-ai/claude-code" in refused.reason


def test_too_old_a_program_is_refused_with_the_command(work, folder, installed):
    installed("2.0.76")
    refused = claude.prepare(work.order(), folder, "x", means())

    assert isinstance(refused, Refused)
    assert "2.0.76" in refused.reason
    assert "npm install" in refused.reason


def test_without_a_model_it_is_refused(work, folder):
    assert isinstance(claude.prepare(work.order(), folder, "x", None), Refused)


def test_the_only_model_is_the_one_of_the_gateway(work, folder, installed):
    program = installed("2.1.197")
    launch = prepared(work, folder)
    env = dict(launch.env)

    assert str(program) == launch.argv[0]
    assert "2.1.197" == launch.program
    assert b"Mend it.\n" == launch.stdin
    assert MODEL == flag(launch, "--model")
    assert "http://127.0.0.1:3130" == env["ANTHROPIC_BASE_URL"]
    assert "token-1" == env["ANTHROPIC_API_KEY"]
    assert {MODEL} == {value for name, value in env.items() if name.endswith("MODEL")}
    assert env == settings(launch)["env"]


def test_files_are_named_as_the_agent_sees_them(work, folder, installed):
    installed("2.1.197")
    launch = prepared(work, folder)

    assert "/gitagent/in/claude-settings.json" == flag(launch, "--settings")
    assert "/gitagent/in/claude-mcp.json" == flag(launch, "--mcp-config")
    assert "--strict-mcp-config" in launch.argv
    assert () == launch.home


def test_hooks_and_the_server_are_those_it_is_given(work, folder, installed):
    installed("2.1.197")
    given = means(mcp=("python", "mcp.py"), hook=("python", "a b.py"))
    launch = prepared(work, folder, given=given)
    hooks = settings(launch)["hooks"]
    without = prepared(work, folder)

    assert "python 'a b.py' pre-tool" == hooks["PreToolUse"][0]["hooks"][0]["command"]
    assert "python 'a b.py' stop" == hooks["Stop"][0]["hooks"][0]["command"]
    assert {
        "mcpServers": {
            "gitagent": {"type": "stdio", "command": "python", "args": ["mcp.py"]}
        }
    } == json.loads(dict(launch.files)[claude.MCP_FILE])
    assert "hooks" not in settings(without)
    assert {"mcpServers": {}} == json.loads(dict(without.files)[claude.MCP_FILE])


@pytest.mark.parametrize(
    ("fields", "has", "lacks"),
    [
        ({}, {"Bash", "Write", "Read", "Task"}, {"WebFetch", "WebSearch"}),
        ({"may": ("write",)}, {"Write"}, {"Bash", "BashOutput", "KillShell"}),
        ({"may": ("shell",)}, {"Bash"}, {"Write", "Edit", "NotebookEdit"}),
        ({"network": ("example.org:443",)}, {"WebFetch"}, {"WebSearch"}),
        ({"tools": ("Read", "Bash(git log:*)")}, {"Read", "Bash"}, {"Write", "Glob"}),
        ({"tools": ("Bash", "grep"), "may": ()}, {"Grep"}, {"Bash"}),
        ({"tools": ("Agent",)}, {"Agent", "Task"}, {"Read"}),
        ({"tools": ("*",)}, {"Bash", "Write"}, {"WebFetch"}),
        ({"tools": ("PowerShell", "WebFetch")}, set(), {"PowerShell", "WebFetch"}),
    ],
)
def test_tools_are_those_of_the_definition_that_its_grants_allow(fields, has, lacks):
    agent = Agent("c", "claude", **fields)
    found = {*claude.tools(agent, network=bool(agent.network))}

    assert has <= found
    assert not lacks & found


def test_a_conversation_goes_on_only_where_the_program_will_find_it(folder):
    assert not claude.saved(folder, SESSION)

    kept = folder.home / f".claude/projects/-workspace/{SESSION}.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}\n")

    assert claude.saved(folder, SESSION)
    assert not claude.saved(folder, "../x")
    assert not claude.saved(Folder(folder.path, confined=False), SESSION)


def test_a_conversation_goes_on_by_its_name(work, folder, installed):
    installed("2.1.197")

    kept = prepared(work, folder, given=means(session=SESSION))
    anew = prepared(work, folder)

    assert SESSION == flag(kept, "--resume")
    assert "--resume" not in anew.argv


# --- the real program


class Run:
    """The real program in a private HOME, without a sandbox."""

    def __init__(self, work, tmp_path: Path, provider: Provider) -> None:
        self._work, self._provider = work, provider
        self.folder = Folder(tmp_path / "fix-1", confined=False)
        self.tree = self.folder.tree
        self.log = tmp_path / "hooks.log"
        (tmp_path / "server.py").write_text(SERVER)
        (tmp_path / "hook.py").write_text(HOOK)
        for each in (self.tree, self.folder.home, self.folder.given):
            each.mkdir(parents=True)
        self._means = {
            "mcp": (sys.executable, str(tmp_path / "server.py")),
            "hook": (sys.executable, str(tmp_path / "hook.py"), str(self.log)),
        }

    def __call__(self) -> tuple[Launch, list]:
        given = means(
            self._provider.url,
            token=self._provider.key,
            home=str(self.folder.home),
            **self._means,
        )
        launch = prepared(self._work, self.folder, given=given)
        for name, data in launch.files:
            (self.folder.given / name).write_bytes(data)
        env = {"HOME": str(self.folder.home), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            launch.argv,
            cwd=self.tree,
            env={**env, **dict(launch.env)},
            input=b"script: fix\n",
            capture_output=True,
            timeout=60,
            check=False,
        )
        told = [
            e for line in done.stdout.splitlines() for e in launch.stream.feed(line)
        ]
        return launch, told


@pytest.fixture
def run(work, tmp_path, monkeypatch):
    agents.put_on_path(monkeypatch, "claude")
    with Provider(models=[MODEL]) as provider:
        made = Run(work, tmp_path, provider)
        made.provider = provider
        yield made


@pytest.mark.slow
def test_the_real_program_works_with_its_tools_hooks_and_server(run):
    # What a repository says of models does not count.
    (run.tree / ".claude").mkdir()
    (run.tree / ".claude/settings.json").write_text(
        json.dumps(
            {
                "model": "opus",
                "apiKeyHelper": "echo sk-other",
                "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
                "permissions": {"defaultMode": "plan"},
            }
        )
    )
    (run.tree / "CLAUDE.md").write_text("Be kind.\n")
    helper = {"description": "x", "prompt": "script: helper", "subagent_type": "Plan"}
    run.provider.script("helper", [Say("I have a plan.")])
    run.provider.script(
        "fix",
        [
            (Say("Let me look."), Shell("echo made >made.txt")),
            Write(str(run.tree / "new.txt"), "new\n"),
            Mcp("ask", {"questions": [{"text": "Which?"}]}),
            Call("Agent", helper),
            Say("All done."),
            Say("Now it is."),
        ],
    )

    launch, told = run()
    final = launch.stream.final()
    hooks = run.log.read_text().splitlines()

    assert "" == final.error
    assert "Now it is." == final.answer
    assert launch.program == final.program
    assert "made\n" == (run.tree / "made.txt").read_text()
    assert "new\n" == (run.tree / "new.txt").read_text()
    assert "it was noted" in [each.text for each in told if each.kind == "result"]
    assert [
        *("pre-tool Bash", "pre-tool Write", "pre-tool mcp__gitagent__ask"),
        *("pre-tool Agent", "stop ", "stop "),
    ] == hooks
    assert {MODEL} == {each.json["model"] for each in run.provider.requests}
    assert b"Be kind." in run.provider.requests[0].body
    assert b"the tests fail" in run.provider.requests[-1].body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "words"),
    [(Fault("funds"), "balance"), (Fault("cut", times=9), "API Error")],
)
def test_the_real_program_ends_with_a_sentence_when_its_model_fails(run, step, words):
    run.provider.script("fix", [step])
    launch, _ = run()
    final = launch.stream.final()

    assert words in final.error
    assert "" == final.answer
