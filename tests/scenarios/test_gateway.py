"""A worker and its model, from a committed task on: keys, budgets, and bad providers.

The agents here are small programs of the backend ``command``, so that each can try what
no honest one would. `tests/agents` has those that people use.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitagent.host.place import cache_root
from tests.support.daemon import Daemon, gitagent, record
from tests.support.provider import Fault, Gate, Provider, Say, Script
from tests.support.repos import Repo

KEY = "PLANTED_KEY"

CONFIG = """\
[model]
default = "one:model-1"
patience = "2s"
{model}

[model.providers.one]
base_url = "{url}"
key_env = "PLANTED_KEY"
prices = {{ model-1 = {{ input = 1000, output = 1000 }} }}

[model.providers.two]
base_url = "{url}"
key_env = "PLANTED_KEY"
prices = {{ model-2 = {{ input = 1, output = 1 }} }}

[budget]
{budget}

[[check]]
name = "true"
run = "true"
"""

# In front of each agent: `ask` talks to the gateway as any program would.
TALK = """
import http.client, json, os, sys
TASK = os.environ["GITAGENT_TASK"]
HOST = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://")
def send(method, path, body=None, **headers):
    link = http.client.HTTPConnection(HOST, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    link.request(method, path, body, named)
    got = link.getresponse()
    return got.status, dict(got.getheaders()), got.read()
def ask(text, most=16, model=os.environ["GITAGENT_MODEL"], **more):
    body = {"model": model, "max_tokens": most, **more,
            "messages": [{"role": "user", "content": f"script: {TASK} {text}"}],
            "tools": [{"name": "bash", "input_schema": {"type": "object"}}]}
    return send("POST", "/v1/messages", json.dumps(body),
                x_api_key=os.environ["ANTHROPIC_API_KEY"])
"""


@dataclass(slots=True)
class World:
    """A repository, a provider, and a daemon that has its key."""

    repo: Repo
    provider: Provider
    daemons: list[Daemon] = field(default_factory=list)

    def start(self, budget: str = "", model: str = "") -> Daemon:
        """Commit the settings and start a daemon."""
        url = self.provider.url
        config = CONFIG.format(url=url, budget=budget, model=model)
        message = "Keep it\n\nGitagent-Record: init\n"
        self.repo.commit({".agent/config.toml": config}, message)
        return self.again()

    def again(self) -> Daemon:
        """Start a daemon."""
        made = Daemon.start(self.repo, env={KEY: self.provider.key})
        self.daemons.append(made)
        return made

    def task(self, name: str, agent: str, script: Script, **front: Any) -> None:
        """Commit a task that is done by a Python program."""
        self.provider.script(name, script)
        model = front.pop("model", "one:model-1")
        argv = [sys.executable, "-c", TALK + agent]
        definition = f'+++\nbackend = "command"\nmodel = "{model}"\n'
        definition += f"argv = {json.dumps(argv)}\n+++\n"
        rows = "".join(f"{key} = {value}\n" for key, value in front.items())
        text = f'+++\nagent = "a-{name}"\n{rows}+++\n# Do {name}\n'
        files = {
            f".agent/agents/a-{name}.md": definition,
            f".agent/tasks/{name}.md": text,
        }
        self.repo.commit(files, "Ask\n\nGitagent-Record: task-add\n")

    def log(self, name: str) -> str:
        """Return the log of the newest attempt at a task."""
        found = record(self.repo, f"refs/gitagent/tasks/{name}") or {}
        oid = found["attempts"][-1]["log"]
        return self.repo.raw("cat-file", "blob", oid).decode(errors="replace")

    def exchanges(self, name: str) -> list[dict[str, Any]]:
        """Return the newest record of each exchange of a task."""
        ref = f"refs/gitagent/exchanges/{name}"
        found: dict[int, dict[str, Any]] = {}
        for commit in self.repo.git("rev-list", "--first-parent", ref).split():
            if each := record(self.repo, commit):
                found.setdefault(each["number"] + 1000 * each["attempt"], each)
        return [found[number] for number in sorted(found)]

    def leaks(self) -> list[str]:
        """Return where the key is written down."""
        key = self.provider.key.encode()
        listed = subprocess.run(
            ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
            cwd=self.repo.path,
            capture_output=True,
            check=True,
        )
        found = ["an object"] if key in listed.stdout else []
        for top in (self.repo.common_dir, cache_root(self.repo.common_dir)):
            for path in _below(top):
                # The daemon deletes what it needs no more.
                with contextlib.suppress(FileNotFoundError):
                    plain = path.is_file() and not path.is_symlink()
                    if plain and key in path.read_bytes():
                        found.append(str(path))
        found += ["a daemon's log" for each in self.daemons if key.decode() in each.log]
        return found


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, though some go meanwhile."""
    for top, _, names in os.walk(folder):
        yield from (Path(top, name) for name in names)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Provider(strict=False) as provider:
        made = World(Repo.make(tmp_path / "kept", {"a.txt": "a\n"}), provider)
        try:
            yield made
        finally:
            for each in made.daemons:
                each.close()

        assert [] == made.leaks()


def test_a_worker_that_looks_everywhere_never_sees_the_key(world):
    looks = """
for name, value in os.environ.items():
    print("env", name, value)
for path in ("/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline"):
    print(path, open(path, "rb").read())
for top, _, names in os.walk("/gitagent"):
    print(top, names)
    for name in names:
        try:
            print(open(os.path.join(top, name), "rb").read()[:2000])
        except OSError as error:
            print(error)
token = os.environ["ANTHROPIC_API_KEY"]
for path in ("/", "/v1/models", "/gitagent/status", "/headers", "/v1/headers", "/env"):
    print(send("GET", path, x_api_key=token))
print(send("TRACE", "/v1/messages", x_api_key=token))
print(ask("say my headers"))
print(ask("echo the key"))
"""
    daemon = world.start()
    key = world.provider.key
    world.task("look", looks, [Say("hello"), Fault("invalid", message=f"bad {key}")])

    daemon.wait_task("look", "done")
    log = world.log("look")

    assert "hello" in log
    assert "bad " in log
    assert key not in log
    assert KEY not in log


def test_only_the_token_and_the_model_of_the_attempt_are_let_through(world):
    tries = """
codes = [send("POST", "/v1/messages", "{}", **more)[0]
         for more in ({}, {"x_api_key": "guess"})]
code, _, said = ask("hi", model="model-9")
print(*codes, code, said.decode(), ask("hello")[0])
"""
    daemon = world.start()
    key = world.provider.key
    world.task("tries", tries, [Say("hello")])

    daemon.wait_task("tries", "done")
    # The other model is neither asked nor paid for.
    (seen,) = world.provider.requests
    log = world.log("tries")

    assert log.startswith("401 401 404 ")
    assert log.rstrip().endswith(" 200")
    assert "this agent has model-1" in log
    assert "model-1" == seen.json["model"]
    assert key == seen.headers["x-api-key"]
    assert "authorization" not in seen.headers
    assert b"gitagent-" not in seen.body


def test_a_budget_is_kept_to_by_requests_side_by_side(world):
    """Each may cost 0.1 usd, and the task may spend 0.35."""
    many = """
import threading
codes = []
def one():
    codes.append(ask("x", most=100)[0])
threads = [threading.Thread(target=one) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(sorted(codes))
"""
    daemon = world.start("task = { usd = 0.35 }")
    world.task("many", many, [Say("y " * 99)] * 8)

    found = daemon.wait_task("many", "question")
    spent = sum(each["usage"]["usd"] for each in world.exchanges("many"))

    assert 0 < spent <= 0.35
    assert "budget" == found["card"]["asker"]
    assert "0.35" in found["reason"]


def test_more_money_lets_a_task_go_on(world):
    twice = """
for number in range(2):
    code, _, body = ask("x", most=100)
    print(code, body.decode())
    if code != 200:
        sys.exit(1)
open("made.txt", "w").write("made")
"""
    daemon = world.start("task = { usd = 0.2 }")
    world.task("more", twice, [Say("y " * 99)] * 4)

    daemon.wait_task("more", "question")
    done = gitagent(world.repo, "answer", "more", "1=2")

    assert 0 == done.returncode, done.stderr

    daemon.wait_task("more", "landed")

    assert "made" == world.repo.git("show", "main:made.txt")


def test_what_a_day_may_cost_holds_for_all_tasks_and_after_a_restart(world):
    once = 'print(ask("x", most=100))\nopen(os.environ["GITAGENT_TASK"], "w")'
    daemon = world.start("task = {}\nday = { usd = 0.2 }")
    world.task("first", once, [Say("y " * 99)])
    daemon.wait_task("first", "landed")
    daemon.stop()

    daemon = world.again()
    world.task("second", once, [Say("y " * 99)])
    found = daemon.wait_task("second", "question")

    assert "day" in found["reason"]
    assert 1 == len(world.provider.requests)


FAULTS = (
    *(Fault("hung"), Fault("cut"), Fault("garbage", begun=True)),
    *(Fault("overflow"), Fault("auth"), Fault("funds"), Fault("invalid")),
)


def test_a_provider_that_fails_ends_in_a_named_state(world):
    once = """
code, _, body = ask("x", stream=True)
print(code, body.decode())
sys.exit(b"message_stop" not in body)
"""
    daemon = world.start()
    for fault in FAULTS:
        world.task(f"is-{fault.kind}", once, [fault])

    for fault in FAULTS:
        name = f"is-{fault.kind}"
        found = daemon.wait_task(name, "failed", "refused")
        (last,) = world.exchanges(name)

        assert ("failed", fault.kind) == (last["state"], last["failure"])
        assert last["reason"] in found["reason"]


def test_no_other_model_stands_in_for_one_that_is_named(world):
    once = 'print(ask("x"))\nopen(os.environ["GITAGENT_TASK"], "w")'
    busy = Fault("server", headers={"retry-after-ms": "1"})
    daemon = world.start(model='fallback = ["two:model-2"]')

    def script(asked):
        return Say("two") if asked.model == "model-2" else busy

    world.task("named", once, script)
    daemon.wait_task("named", "landed")
    (named,) = world.exchanges("named")

    assert ("one:model-1", "failed", 3) == (
        named["model"],
        named["state"],
        named["tries"],
    )


def test_a_task_that_is_stopped_ends_its_request(world):
    gate = Gate()
    daemon = world.start()
    world.task("slow", 'print(ask("x"))', [gate, Say("hello")])
    gate.wait()

    assert 0 == gitagent(world.repo, "task", "stop", "slow").returncode

    daemon.wait_task("slow", "stopped")
    (last,) = world.exchanges("slow")

    assert "left" == last["state"]


def test_a_request_under_way_when_the_daemon_dies_counts_as_spent(world):
    gate = Gate()
    daemon = world.start("task = { usd = 0.2 }")
    world.task("dies", 'print(ask("x", most=100))', [gate, Say("hello")])
    gate.wait()
    daemon.kill()

    found = world.again().wait_task("dies", "question")

    assert "interrupted" == found["attempts"][0]["outcome"]
    assert found["attempts"][0]["usage"]["usd"] > 0.1


def test_a_key_that_is_missing_is_a_refusal_with_its_mend(world, monkeypatch):
    monkeypatch.setattr(world.provider, "key", "")
    daemon = world.start()
    world.task("lost", 'print(ask("x"))', [Say("hello")])

    found = daemon.wait_task("lost", "refused")

    assert KEY in found["reason"]
    monkeypatch.undo()


def test_without_a_sandbox_the_gateway_is_there_too(world):
    daemon = world.start()
    text = world.repo.git("show", "main:.agent/config.toml")
    off = text + '\n[sandbox]\nmode = "off"\n'
    world.repo.commit({".agent/config.toml": off}, "Off\n\nGitagent-Record: init\n")
    world.task("off", 'print(ask("x"))', [Say("hello")])

    daemon.wait_task("off", "done")

    assert "hello" in world.log("off")
