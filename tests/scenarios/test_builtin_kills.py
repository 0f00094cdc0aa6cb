"""What is known, and what is done, when a part of the built-in agent is killed."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builtin import FOREVER, GPT, World
from tests.support.daemon import record
from tests.support.provider import Call, Fault, Finish, Gate, Provider, Say, Shell
from tests.support.repos import Repo

SERVER = Path(__file__).parents[1] / "support/mcp_raw.py"
DONE = Finish(summary="It is done.", divergence="None")
SETTINGS = """\
[worker]
parallel = 4

[mcp.raw]
command = ["python3", "-I", "/workspace/mcp_raw.py", "counts.txt"]
reads = ["was_done"]
probes = { die = "was_done", die_first = "was_done" }
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    files = {"a.txt": "one\n", "mcp_raw.py": SERVER.read_text(), "counts.txt": ""}
    with contextlib.ExitStack() as stack:
        provider = stack.enter_context(Provider())
        made = World(Repo.make(tmp_path / "repo", files), provider)
        stack.callback(made.close)
        made.start(SETTINGS)
        yield made


def test_whatever_is_killed_in_a_call_nothing_is_made_twice(world: World) -> None:
    gate = Gate()
    world.task(
        "calls",
        [
            Call("mcp__raw__die_again", {}),
            Call("mcp__raw__die", {}),
            Call("mcp__raw__die_first", {}),
            Shell(f"echo hands >>calls.txt; kill -KILL $PPID; exec {FOREVER}"),
            Fault("cut", times=2),
            Shell(f"echo loop >>calls.txt; echo so far; exec {FOREVER}"),
            Call("mcp__raw__hang", {}),
            DONE,
            Say("It is done."),
        ],
        model=GPT,
        agent='mcp = ["raw"]\n',
        retries=1,
    )
    source = (
        "tools.write(path='code.txt', content='once\\n')\n"
        f"tools.shell(command='echo so far; echo code >>code.txt; exec {FOREVER}')\n"
    )
    world.task("code", [Call("code", {"source": source}), DONE, Say("So.")], model=GPT)
    steps = [
        Shell("echo 1 >>asked.txt"),
        gate,
        Shell(f"echo 2 | tee -a asked.txt; exec {FOREVER}"),
        DONE,
        Say("So."),
    ]
    world.task("asked", steps, model=GPT)

    world.printed("calls", "so far")
    attempt = record(world.repo, "refs/gitagent/tasks/calls")["attempts"][-1]
    os.kill(attempt["pid"], signal.SIGKILL)
    world.daemon.until(
        lambda: "called hang" in world.tree("calls", "counts.txt", 2),
        timeout=60,
        what="the server is called",
    )
    gate.wait()
    world.printed("code", "so far")
    world.daemon.kill()
    world.gone()
    gate.release.set()
    world.again()
    calls = world.landed("calls")
    world.landed("code")
    world.printed("asked", "2")
    world.daemon.stop()
    world.gone()
    world.again()
    asked = world.landed("asked")

    assert [
        ("mcp__raw__die_again", "uncertain"),
        ("mcp__raw__die", "done"),
        ("mcp__raw__die_first", "failed"),
        ("shell", "interrupted"),
        ("shell", "interrupted"),
        ("mcp__raw__hang", "uncertain"),
        ("finish", "done"),
    ] == [(each["tool"], each["state"]) for each in world.results("calls")]
    assert "hands\nloop\n" == world.show("calls.txt")
    counts = world.show("counts.txt").split("\n")
    tools = ("die_again", "die", "die_first", "hang")
    assert [1] * 4 == [counts.count(f"called {tool}") for tool in tools]
    assert ["failed", "interrupted", "ok"] == [
        each["outcome"] for each in calls["attempts"]
    ]
    cut = world.results("calls", "shell")[1]
    assert cut["text"].startswith("so far\n[interrupted] gitagent ended")
    assert ["once\ncode\n", "1\n2\n"] == [
        world.show(path) for path in ("code.txt", "asked.txt")
    ]
    assert [
        ("write", "done"),
        ("code", "interrupted"),
        ("shell", "interrupted"),
        ("finish", "done"),
    ] == [(each["tool"], each["state"]) for each in world.results("code")]
    assert ["interrupted", "interrupted", "ok"] == [
        each["outcome"] for each in asked["attempts"]
    ]
    assert [("done", "[no output]"), ("interrupted", "2")] == [
        (each["state"], each["text"].split("\n")[0])
        for each in world.results("asked", "shell")
    ]
    ends = [each["ended"] for each in world.entries("asked") if each["kind"] == "end"]
    assert ["stopped", "done"] == ends
    for name, begun in (("calls", 3), ("code", 2), ("asked", 3)):
        kinds = [each["kind"] for each in world.entries(name)]
        assert (begun, 0) == (kinds.count("begin"), kinds.count("rewind"))
    assert [] == [*(world.cache / "printed").glob("*")]
