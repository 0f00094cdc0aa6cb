"""How work of the built-in agent is ended by others, in the middle of a command."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builtin import FOREVER, GPT, World
from tests.support.daemon import gitagent
from tests.support.provider import Gate, Provider, Shell
from tests.support.repos import Repo

HANGS = Shell(f"echo so far | tee ended.txt; exec {FOREVER}")
DEAF = Shell(f"trap '' TERM; echo so far; exec {FOREVER}")
SHORT = '+++\nagent = "a-changed"\ntimeout = "5s"\n+++\n# Do changed soon\n'
CUT = ("interrupted", "so far")
SOON_S = 20  # seconds, on a machine that does other things too


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        provider = stack.enter_context(Provider())
        made = World(Repo.make(tmp_path / "repo", {"a.txt": "one\n"}), provider)
        stack.callback(made.close)
        made.start("[worker]\nparallel = 6\n")
        yield made


def ended(world: World, name: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return how the stretches of a conversation ended, and its shell calls."""
    ends = [each["ended"] for each in world.entries(name) if each["kind"] == "end"]
    calls = [(each["state"], each["text"][:6]) for each in world.results(name, "shell")]
    return ends, calls


def test_what_is_ended_by_others_ends_soon_and_says_how(world: World) -> None:
    gate = Gate()
    for name in ("stopped", "gone"):
        world.task(name, [DEAF if name == "stopped" else HANGS], model=GPT)
    # A command is ended a moment before its attempt is, and the model asked once more.
    world.task("changed", [HANGS, HANGS, Gate()], model=GPT)
    world.task("moved", [gate, HANGS], model=GPT)
    for name in ("stopped", "gone", "changed"):
        world.printed(name, "so far")
    gate.wait()

    done = gitagent(world.repo, "task", "stop", "stopped")
    assert 0 == done.returncode, done.stderr
    files = {
        ".agent/tasks/gone.md": None,
        ".agent/tasks/changed.md": SHORT,
    }
    message = "Amend\n\nGitagent-Record: task-add\n"
    world.repo.commit_at("refs/heads/main", files, message)
    ref = "refs/gitagent/conversations/moved"
    world.repo.git("update-ref", ref, f"{ref}~1")
    there = world.repo.oid(ref)
    gate.release.set()
    for name in ("stopped", "gone"):
        world.daemon.wait_task(name, "stopped", timeout=SOON_S)
    moved = world.daemon.wait_task("moved", "failed", timeout=SOON_S)
    changed = world.daemon.wait_task("changed", "failed")
    world.gone()

    for name in ("stopped", "gone"):
        assert (["stopped"], [CUT]) == ended(world, name)
    assert ["stopped", "time_exhausted"] == ended(world, "changed")[0]
    assert ["amended", "timeout"] == [each["outcome"] for each in changed["attempts"]]
    assert "time_exhausted: It ran past its time limit." in changed["reason"]
    assert there == world.repo.oid(ref)
    assert (
        "failed: It could not go on: the conversation moved is led by another process;"
        " wait until that one has ended."
    ) == moved["reason"]
    kinds = [each["kind"] for each in world.entries("changed")]
    assert (2, 0) == (kinds.count("begin"), kinds.count("rewind"))
    assert [] == [*(world.cache / "printed").glob("*")]
