"""A chat with the standing agent, through a real daemon, on a scripted model."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitagent.core.chat import Decide, Greeting, Hello, Stop, Told
from gitagent.host import place
from gitagent.host.socket import ask
from tests.support.builtin import GPT, World
from tests.support.cli import call
from tests.support.daemon import gitagent
from tests.support.provider import Call, Gate, Provider, Say
from tests.support.repos import Repo
from tests.support.waiting import wait_for
from tests.worker.loop.talk import Person


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Provider() as provider:
        made = World(
            Repo.make(tmp_path / "repo", {"src/a.py": "ANSWER = 42\n"}), provider
        )
        made.start()
        says = ("--kind", "fact", "--line", "The ANSWER is 42.")
        added = ("add", "answer", *says, "--source", "main:src/a.py:1-1")
        assert 0 == call(made.repo, "memory", *added).code
        yield made
        made.close()


def chat(world: World, id_: str = "", *, new: bool = False) -> dict:
    message = {"op": "chat", "id": id_, "new": new}
    answer = ask(place.socket_path(world.repo.common_dir), message, 60)
    assert answer is not None
    return answer


def person(world: World, hello: Hello | None = None) -> Person:
    there = chat(world)
    assert "socket" in there, (there, world.daemon.log)
    made = Person(Path(there["socket"]), hello or Hello())
    made._socket.settimeout(60)
    return made


def leader(world: World) -> int:
    """Return the process that leads the newest chat."""
    line = [each for each in world.daemon.lines if "leads the chat" in each][-1]
    found = re.search(r"process (\d+) leads", line)
    assert found
    return int(found[1])


def test_a_chat_looks_starts_a_task_and_outlives_both_its_processes(world):
    gate = Gate()
    world.provider.script(
        "talk",
        [
            Call("read", {"path": "src/a.py"}),
            Call("search_memory", {"query": "answer"}),
            Say("It is 42."),
            Call("write", {"path": "src/a.py", "content": "no"}),
            Call(
                "start_task", {"id": "mend", "title": "Mend it", "text": "Mend a.py."}
            ),
            Say("I have started mend."),
            gate,
            Say("Here I am again."),
        ],
    )
    with person(world) as first:
        greeting = first.until(Greeting)
        first.say("script: talk What is the answer?", "r1")
        answer = first.answer("r1")
        first.say("Mend it.", "r2")
        started = first.answer("r2")
        first.say("Are you there?", "r3")
        gate.wait()
        led = leader(world)
        os.kill(led, signal.SIGKILL)
        with pytest.raises(EOFError):
            first.until(Greeting)
    # Its connections may be closed before what it listens at is.
    wait_for(lambda: not Path(f"/proc/{led}").exists(), timeout=10, what="it is gone")
    gate.release.set()
    with person(world, Hello(since=2**53 - 1)) as second:
        second.say("Are you there?", "r3")
        back = second.answer("r3")
    down = gitagent(world.repo, "down")

    entries = world.entries("_chat-1")
    results = {each["tool"]: each for each in entries if each["kind"] == "result"}
    mend = world.show(".agent/tasks/mend.md")
    requests = [each["request"] for each in entries if each.get("request")]
    worktrees = world.repo.git("worktree", "list")
    assert ("chat-1", "It is 42.") == (greeting.id, answer.text)
    assert "I have started mend." == started.text
    assert "Here I am again." == back.text
    assert ["r1", "r2", "r3"] == requests
    assert "ANSWER = 42" in results["read"]["text"]
    assert "] The ANSWER is 42." in results["search_memory"]["text"]
    assert "failed" == results["write"]["state"]
    assert "ANSWER = 42\n" == world.show("src/a.py")
    assert "done" == results["start_task"]["state"]
    assert "Started by the agent standing in a chat (_chat-1" in mend
    assert "standing (gitagent)" == world.repo.git(
        "log", "-1", "--format=%an", "--", ".agent/tasks/mend.md"
    )
    assert 0 == down.returncode, down.stderr
    assert 1 == len(worktrees.splitlines())
    assert world.provider.key not in json.dumps(entries)


def test_a_stop_ends_a_turn_and_a_chat_goes_on_after_its_daemon_was_killed(world):
    gate = Gate()
    world.provider.script("talk", [gate, Say("Never."), Say("After all.")])
    with person(world) as first:
        first.until(Greeting)
        first.say("script: talk Wait.", "r1")
        gate.wait()
        first.send(Stop())
        stopped = first.answer("r1")
        gate.release.set()
        old = leader(world)
        world.daemon.kill()
        with pytest.raises(EOFError):
            first.until(Greeting)
    wait_for(lambda: not Path(f"/proc/{old}").exists(), what="it died with the daemon")
    world.again()
    with person(world) as second:
        greeting = second.until(Greeting)
        second.say("And now?", "r2")
        answer = second.answer("r2")

    assert "It was stopped." == stopped.sentence
    assert "chat-1" == greeting.id
    assert answer.text in {"Never.", "After all."}


def test_a_chat_has_its_servers_and_makes_what_the_gate_asked_about_after_a_yes(world):
    definition = (
        f'+++\nbackend = "model"\nmodel = "{GPT}"\nmay = []\nmcp = ["raw"]\n'
        'decide = ["network"]\nnetwork = ["127.0.0.1:1"]\n+++\n'
    )
    raw = (Path(__file__).parents[1] / "support/mcp_raw.py").read_text()
    world.repo.commit({".agent/agents/standing.md": definition, "raw.py": raw})
    world.daemon.close()
    world.start(
        '[mcp.raw]\ncommand = ["python3", "-I", "/workspace/raw.py", "/tmp/counts"]\n'
        'reads = ["echo"]\n[sandbox]\nnetwork = ["127.0.0.1:1"]\n'
    )
    world.provider.script(
        "talk",
        [
            Call("mcp__raw__echo", {"text": "hi"}),
            Call("web_fetch", {"url": "http://127.0.0.1:1/"}),
        ],
    )
    with person(world) as first:
        first.say("script: talk Look.", "r1")
        asked = first.answer("r1")
        results = world.entries("_chat-1")
        number = next(e["number"] for e in results if e["tool"] == "web_fetch")
        first.send(Decide(number, yes=True))
        first.until(Told, lambda told: told.entry.text.startswith("[gitagent] web_f"))

    results = [e for e in world.entries("_chat-1") if e["kind"] == "result"]
    assert "hi!" in results[0]["text"]
    assert f"/yes {number}" in asked.sentence
    assert ["done", "needs_decision", "failed"] == [each["state"] for each in results]


def test_what_cannot_be_opened_is_said(world):
    assert "there is no chat other" in chat(world, "other")["error"]
    assert "cannot be a chat's id" in chat(world, "a.side1", new=True)["error"]
    assert "cannot be a chat's id" in chat(world, "No Way", new=True)["error"]
