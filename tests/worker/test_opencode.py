"""The backend ``opencode``: what the program is told, and how it fails."""

import json
import os
import subprocess
from typing import Any

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import ANTHROPIC, OPENAI, ModelRef, Route
from gitagent.worker import home
from gitagent.worker.backends import opencode, version
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from tests.support import agents
from tests.support.provider import Fault, Provider


def means(url: str = "http://127.0.0.1:3130", **fields: Any) -> Means:
    values = {
        "route": Route((ModelRef("p", "m-1"),), ANTHROPIC, pinned=True),
        "anthropic_url": url,
        "openai_url": f"{url}/v1",
        "token": "token",
        "socket": "/nowhere",
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


@pytest.mark.slow
def test_a_model_that_fails_is_the_reason(work, tmp_path, monkeypatch):
    agents.put_on_path(monkeypatch, "opencode")
    folder = Folder(tmp_path / "attempt", confined=False)
    for each in (folder.tree, folder.home):
        each.mkdir(parents=True)
    (folder.tree / "AGENTS.md").write_text("Heed the house rule.\n")
    order = work.order(agent=agent())
    with Provider() as provider:
        provider.script("fix", [Fault("invalid", message="no such luck")])
        given = means(provider.url, token=provider.key)
        launch = opencode.prepare(order, folder, "# Task fix: Make it.", given)

        assert isinstance(launch, Launch), launch

        home.put(folder.home, launch.home)
        done = subprocess.run(
            launch.argv,
            cwd=folder.tree,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder.home), **dict(launch.env)},
            input=launch.stdin,
            capture_output=True,
            timeout=100,
            check=False,
        )
        (seen,) = provider.requests
    for line in done.stdout.split(b"\n"):
        launch.stream.feed(line)
    final = launch.stream.final()

    assert 1 == done.returncode
    assert "" == final.answer
    assert "no such luck" in final.error
    assert "m-1" == seen.json["model"]
    assert b"Heed the house rule." in seen.body
    # It has downloaded nothing.
    assert not (folder.home / ".npm").exists()
