"""The backend ``opencode``, and opencode as an ACP agent, with the real program."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import ANTHROPIC, OPENAI, ModelRef, Route
from gitagent.worker import home
from gitagent.worker.backends import acp, opencode, version
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.backends.stream import Entry, Final
from gitagent.worker.folder import Folder
from gitagent.worker.workspace import give
from tests.support import agents
from tests.support.provider import Fault, Gate, Provider, Say, Shell
from tests.worker.work import Work


def means(url: str = "http://127.0.0.1:3130", **fields: Any) -> Means:
    values = {
        "route": Route((ModelRef("p", "m-1"),), ANTHROPIC, pinned=True),
        "anthropic_url": url,
        "openai_url": f"{url}/v1",
        "token": "token",
        "home": "/home/worker",
    }
    return Means(**{**values, **fields})


def configuration(agent: Agent, given: Means, *, network: bool = False) -> Any:
    return opencode.configuration(agent, given, network=network)


def agent(**fields: Any) -> Agent:
    return Agent("helper", "opencode", **fields)


def denied(found: Agent, *, network: bool = False) -> set[str]:
    config = configuration(found, means(), network=network)

    assert config["permission"] == config["agent"]["build"]["permission"]
    assert "allow" == config["permission"].pop("*")
    assert {"deny"} == set(config["permission"].values())
    return set(config["permission"])


# --- what it is told


def test_the_gateway_is_the_only_provider_and_one_model_the_only_one():
    config = configuration(agent(), means(mcp=("python", "mcp.py")))
    provider = config["provider"]["gitagent"]

    assert ["gitagent"] == config["enabled_providers"]
    assert "gitagent/m-1" == config["model"] == config["small_model"]
    assert "@ai-sdk/anthropic" == provider["npm"]
    assert {"baseURL": "http://127.0.0.1:3130/v1", "apiKey": "token"} == provider[
        "options"
    ]
    assert ["m-1"] == list(provider["models"])
    assert ["python", "mcp.py"] == config["mcp"]["gitagent"]["command"]


def test_an_openai_api_is_spoken_to_with_its_own_kit():
    route = Route((ModelRef("p", "qwen/q:30b"),), OPENAI, pinned=True)
    config = configuration(agent(), means(route=route))

    assert "gitagent/qwen/q:30b" == config["model"]
    assert "@ai-sdk/openai-compatible" == config["provider"]["gitagent"]["npm"]
    assert "mcp" not in config


def test_what_is_not_granted_is_switched_off():
    assert {"question", "webfetch", "websearch"} == denied(agent())
    assert {"question"} == denied(agent(), network=True)
    assert {"bash", "edit", "question"} == denied(agent(may=()), network=True)
    assert {"bash", "edit", "question"} <= denied(agent(tools=("Read", "Grep")))
    some = denied(agent(tools=("Bash(git *)", "Write", "Task")))

    assert {"bash", "edit", "task"}.isdisjoint(some)
    assert {"read", "skill"} <= some


def test_only_a_conversation_that_can_be_found_is_gone_on_with(tmp_path):
    folder = Folder(tmp_path, confined=True)
    before = opencode.saved(folder, "ses_1")
    data = folder.home / ".local/share/opencode"
    data.mkdir(parents=True)
    (data / "opencode.db").touch()

    assert not before
    assert opencode.saved(folder, "ses_1")
    assert not opencode.saved(folder, "")
    assert not opencode.saved(folder, "--help")
    assert not opencode.saved(Folder(tmp_path, confined=False), "ses_1")


# --- which program


def test_a_program_that_is_missing_or_too_old_is_refused(work, tmp_path, monkeypatch):
    order = work.order(agent=agent())
    folder = Folder(tmp_path, confined=True)
    install = "`npm install -g opencode-ai`"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    missing = opencode.prepare(order, folder, "", means())
    program = tmp_path / "opencode"
    program.write_text("#!/bin/sh\necho opencode 1.17.9\n")
    program.chmod(0o755)
    old = opencode.prepare(order, folder, "", means())

    assert (
        Refused(
            "There is no program `opencode` on the PATH of the daemon; install it:"
            f" {install}."
        )
        == missing
    )
    assert (
        Refused(
            f"`{program}` is opencode 1.17.9, and 1.18 is the oldest that can be used;"
            f" install a newer one: {install}."
        )
        == old
    )


def test_a_version_is_read_from_the_package_and_asked_for_once(tmp_path):
    package = tmp_path / "node_modules/opencode-ai"
    program = package / "bin/opencode"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho x >>{tmp_path}/asked; echo 2.0\n")
    program.chmod(0o755)
    twice = [version.of(str(program), "opencode-ai") for _ in range(2)]
    os.utime(program, (1, 1))
    values = {"name": "opencode-ai", "version": "1.20.3-beta"}
    (package / "package.json").write_text(json.dumps(values))

    assert ["2.0", "2.0"] == twice
    assert "x\n" == (tmp_path / "asked").read_text()
    assert "1.20.3-beta" == version.of(str(program), "opencode-ai")
    assert "" == version.of(str(tmp_path / "none"), "opencode-ai")


# --- the real one


@dataclass(slots=True)
class Place:
    """One agent's home and worktree, without a sandbox."""

    work: Work
    folder: Folder
    provider: Provider
    agent: Agent
    running: subprocess.Popen[bytes] | None = None
    heard: bytes = b""

    def start(self, prompt: str, session: str = "") -> tuple[Launch, Any]:
        # Its path does not change here, so that going on is possible.
        module = acp if self.agent.backend == "acp" else opencode
        order = self.work.order(agent=self.agent)
        given = means(self.provider.url, token=self.provider.key, session=session)
        launch = module.prepare(order, _Same(self.folder), prompt, given)

        assert isinstance(launch, Launch), launch
        for name, data in launch.files:
            give(self.folder, name, data)
        home.put(self.folder.home, launch.home)
        self.running = subprocess.Popen(
            launch.argv,
            cwd=self.folder.tree,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(self.folder.home),
                **dict(launch.env),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.running.stdin is not None
        self.running.stdin.write(launch.stdin or b"")
        self.running.stdin.close()
        self.running.stdin = None
        return launch, self.running

    def hear_session(self) -> None:
        """Read until the name of the conversation was told."""
        assert self.running is not None
        assert self.running.stdout is not None
        while b'"ses_' not in self.heard:
            line = self.running.stdout.readline()

            assert line, "it ended"
            self.heard += line

    def kill(self) -> None:
        """End the program and what it started, as the end of its sandbox does."""
        assert self.running is not None
        os.killpg(self.running.pid, signal.SIGKILL)

    def end(self, launch: Launch) -> tuple[int, list[Entry], Final]:
        assert self.running is not None
        assert launch.stream is not None
        output, _ = self.running.communicate(timeout=100)
        lines = (self.heard + output).split(b"\n")
        self.heard = b""
        entries = [each for line in lines for each in launch.stream.feed(line)]
        return self.running.returncode, entries, launch.stream.final()


class _Same(Folder):
    """A folder at the same path each time, as one is inside a sandbox."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(folder.path, confined=True)

    @property
    def inside_tree(self) -> str:
        return str(self.tree)

    @property
    def inside_given(self) -> str:
        return str(self.given)


@pytest.fixture
def place(request, work, tmp_path, monkeypatch) -> Iterator[Place]:
    agents.put_on_path(monkeypatch, "opencode")
    folder = Folder(tmp_path / "attempt", confined=False)
    for each in (folder.tree, folder.home, folder.given, folder.out):
        each.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "."], cwd=folder.tree, check=True)
    Path(folder.tree, "AGENTS.md").write_text("Heed the house rule.\n")
    argv = ("opencode", "acp") if request.param == "acp" else ()
    found = Agent("helper", request.param, argv=argv)
    with Provider() as provider:
        place = Place(work, folder, provider, found)
        yield place
        if place.running is not None and place.running.poll() is None:
            place.kill()
            place.running.communicate(timeout=30)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["opencode", "acp"], indirect=True)
def test_one_that_is_killed_goes_on_with_its_conversation(place):
    gate = Gate()
    steps = [Shell("echo hi > made.txt"), gate, Say("It is made.")]
    place.provider.script("fix", steps)
    launch, _ = place.start("# Task fix: Make it.")
    gate.wait()
    place.hear_session()
    place.kill()
    _, entries, final = place.end(launch)

    assert "hi\n" == (place.folder.tree / "made.txt").read_text()
    assert final.error
    assert "" == final.answer

    gate.release.set()
    launch, _ = place.start("# Task fix: Go on.", final.session)
    code, entries, again = place.end(launch)
    newest = place.provider.requests[-1].body.decode()

    assert (0, "") == (code, again.error)
    assert final.session == again.session
    assert "It is made." == again.answer
    assert [Entry("say", "It is made.")] == entries
    assert "Task fix: Make it." in newest
    assert "echo hi > made.txt" in newest
    assert "Heed the house rule." in newest
    assert {"m-1"} == {each.json["model"] for each in place.provider.requests}
    assert not (place.folder.home / ".npm").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["opencode"], indirect=True)
def test_a_model_that_fails_is_the_reason(place):
    place.provider.script("fix", [Fault("invalid", message="no such luck")])
    launch, _ = place.start("# Task fix: Make it.")
    code, _, final = place.end(launch)

    assert 1 == code
    assert "" == final.answer
    assert "no such luck" in final.error
