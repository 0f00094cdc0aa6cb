"""The backend ``codex``: what the program is told, and that it does it."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import OPENAI, ModelRef, Route
from gitagent.worker.backends import codex
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.inside import lines
from tests.support import agents
from tests.support.provider import Fault, Mcp, Provider, Say, Shell

MODEL = "some-model"
SESSION = "01a22e25-78c5-7e90-8014-e6cef372d856"
ROLLOUT = f"sessions/2026/11/30/rollout-2026-11-30T20-28-57-{SESSION}.jsonl"


def means(url: str = "http://127.0.0.1:3130", **fields) -> Means:
    values = {
        "route": Route((ModelRef("gpt", MODEL),), OPENAI, pinned=True),
        "anthropic_url": url,
        "openai_url": f"{url}/v1",
        "token": "token-1",
        "socket": "/nowhere",
        "home": "/home/worker",
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
    """Have a program that only looks like codex."""
    package = tmp_path / "lib/node_modules/@openai/codex"
    (package / "bin").mkdir(parents=True)

    def at(version: str) -> Path:
        values = {"name": "@openai/codex", "version": version}
        (package / "package.json").write_text(json.dumps(values))
        program = package / "bin/codex"
        program.write_text("#!/bin/sh\nexit 9\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return program

    return at


def prepared(work, folder, *, given=None, **fields) -> Launch:
    work.agent = Agent("c", "codex", **fields)
    launch = codex.prepare(work.order(), folder, "Mend it.\n", given or means())

    assert isinstance(launch, Launch)
    return launch


def config(launch: Launch) -> dict:
    return tomllib.loads(dict(launch.home)[".gitagent/codex/config.toml"].decode())


def test_without_the_program_it_is_refused_with_the_command(
    work, folder, monkeypatch, tmp_path
):
    order = work.order()
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = codex.prepare(order, folder, "x", means())

    assert isinstance(refused, Refused)
    assert "npm install -g @openai/codex" in refused.reason


def test_too_old_a_program_is_refused_with_the_command(work, folder, installed):
    installed("0.99.0")
    refused = codex.prepare(work.order(), folder, "x", means())

    assert isinstance(refused, Refused)
    assert "0.99.0" in refused.reason
    assert "npm install" in refused.reason


def test_without_a_model_it_is_refused(work, folder):
    assert isinstance(codex.prepare(work.order(), folder, "x", None), Refused)


def test_without_a_shell_it_could_do_nothing_and_is_refused(work, folder, installed):
    installed("0.171.0")
    work.agent = Agent("c", "codex", may=("write",))
    refused = codex.prepare(work.order(), folder, "x", means())

    assert isinstance(refused, Refused)
    assert "`shell`" in refused.reason


def test_the_only_model_is_the_one_of_the_gateway(work, folder, installed):
    program = installed("0.171.0")
    launch = prepared(work, folder)
    told = config(launch)
    provider = told["model_providers"][told["model_provider"]]
    env = dict(launch.env)

    assert (str(program), "exec") == launch.argv[:2]
    assert "-" == launch.argv[-1]
    assert "0.171.0" == launch.program
    assert b"Mend it.\n" == launch.stdin
    assert MODEL == told["model"]
    assert "http://127.0.0.1:3130/v1" == provider["base_url"]
    assert "token-1" == env[provider["env_key"]]
    assert "/home/worker/.gitagent/codex" == env["CODEX_HOME"]
    assert {False} == {*told["features"].values()}
    assert "mcp_servers" not in told


def test_any_name_of_a_model_is_written_down_as_it_is(work, folder, installed):
    installed("0.171.0")
    name = 'a"\\b\x7f\n\u00e4\U0001f600'
    route = Route((ModelRef("gpt", name),), OPENAI, pinned=True)

    assert name == config(prepared(work, folder, given=means(route=route)))["model"]


def test_the_server_is_the_one_it_is_given(work, folder, installed):
    installed("0.171.0")
    given = means(mcp=("python", "-I", "a b.py"))
    server = config(prepared(work, folder, given=given))["mcp_servers"]["gitagent"]

    assert ("python", ["-I", "a b.py"]) == (server["command"], server["args"])
    assert "GITAGENT_RETURN_FILE" in server["env_vars"]


def test_a_conversation_goes_on_only_where_it_was_saved(folder):
    assert not codex.saved(folder, SESSION)

    kept = folder.home / ".gitagent/codex" / ROLLOUT
    kept.parent.mkdir(parents=True)
    kept.write_text("{}\n")

    assert codex.saved(folder, SESSION)
    assert not codex.saved(folder, "*")


def test_a_conversation_goes_on_by_its_name(work, folder, installed):
    installed("0.171.0")

    kept = prepared(work, folder, given=means(session=SESSION))
    anew = prepared(work, folder)

    assert ("resume", SESSION, "-") == kept.argv[-3:]
    assert "resume" not in anew.argv


# --- the real program


class Run:
    """The real program in a private HOME, without a sandbox."""

    def __init__(self, work, tmp_path: Path, provider: Provider) -> None:
        self._work, self.provider = work, provider
        self.folder = Folder(tmp_path / "fix-1", confined=False)
        self.tree = self.folder.tree
        for each in (self.tree, self.folder.home, self.folder.given, self.folder.out):
            each.mkdir(parents=True)

    def __call__(self) -> tuple[Launch, list]:
        given = means(
            self.provider.url,
            token=self.provider.key,
            home=str(self.folder.home),
            mcp=lines.mcp(),
        )
        launch = prepared(self._work, self.folder, given=given)
        for name, data in launch.home:
            path = self.folder.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        env = {
            "HOME": str(self.folder.home),
            "PATH": os.environ["PATH"],
            "GITAGENT_OUT": str(self.folder.out),
            "GITAGENT_PROMPT_FILE": str(self.folder.given / "prompt.md"),
            "GITAGENT_RETURN_FILE": str(self.folder.out / "return.json"),
        }
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
    agents.put_on_path(monkeypatch, "codex")
    with Provider(models=[MODEL]) as provider:
        yield Run(work, tmp_path, provider)


@pytest.mark.slow
def test_the_real_program_works_with_its_shell_and_the_server(run):
    (run.tree / "AGENTS.md").write_text("Be kind.\n")
    run.provider.script(
        "fix",
        [
            Shell("echo made >made.txt; echo it was made"),
            Mcp("ask", {"questions": [{"text": "Which?", "options": ["a", "b"]}]}),
            Say("I have asked."),
        ],
    )

    launch, told = run()
    final = launch.stream.final()
    asked = json.loads((run.folder.out / "question.json").read_bytes())

    assert ("I have asked.", "") == (final.answer, final.error)
    assert "made\n" == (run.tree / "made.txt").read_text()
    assert "it was made\n" in [each.text for each in told if each.kind == "result"]
    assert "Which?" == asked["questions"][0]["text"]
    assert {MODEL} == {each.json["model"] for each in run.provider.requests}
    assert {"/v1/responses"} == {each.path for each in run.provider.requests}
    assert 1 == run.provider.requests[0].body.count(b"Be kind.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Fault("funds", times=9), "balance"),
        (Fault("cut", times=9), "stream"),
        (Fault("unreachable", times=9), "request"),
    ],
)
def test_the_real_program_ends_with_a_sentence_when_its_model_fails(run, step, words):
    run.provider.script("fix", [step])
    launch, _ = run()
    final = launch.stream.final()

    assert words in final.error
    assert "" == final.answer
