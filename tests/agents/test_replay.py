"""Attempts of the real agents, made once more without their provider."""

import os
from pathlib import Path

import pytest

from gitagent.host.place import cache_root
from tests.agents.conftest import KEY, Place
from tests.agents.test_programs import mend
from tests.support import agents
from tests.support.daemon import gitagent
from tests.support.provider import Gate
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow


def again(place: Place, monkeypatch, *words: str):
    """Replay with the program, and with neither daemon, provider nor key."""
    binary = agents.program(place.program)
    monkeypatch.setenv("PATH", f"{Path(binary).parent}:{os.environ['PATH']}")
    monkeypatch.delenv(KEY, raising=False)
    asked = len(place.provider.requests)
    done = gitagent(place.repo, "replay", "fix", *words)

    assert asked == len(place.provider.requests)
    return done


def saved(place: Place, word: str) -> bool:
    """Whether the conversation of the first attempt has a word by now."""
    home = cache_root(place.repo.common_dir) / "attempts" / "fix-1" / "home"
    found = home.glob(".claude/projects/*/*.jsonl")
    return any(word in path.read_text() for path in found)


@pytest.mark.parametrize("place", ["claude", "codex"], indirect=True)
def test_an_attempt_made_once_more_comes_to_the_same_tree(place, monkeypatch):
    place.start()
    place.task("fix", "Mend calc.py: add subtracts.", mend(place), paths=["calc.py"])
    place.landed("fix")
    place.daemon.close()
    before = place.repo.refs()
    done = again(place, monkeypatch)
    told = gitagent(place.repo, "context", "fix", "--explain").stdout

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "came to the same tree" in done.stdout
    assert before == place.repo.refs()
    assert "task file .agent/tasks/fix.md" in told
    assert "the program" in told


@pytest.mark.parametrize("place", ["claude"], indirect=True)
def test_one_that_was_killed_and_the_one_that_went_on_are_made_again(
    place, monkeypatch
):
    gate = Gate()
    daemon = place.start()
    first, last = mend(place)
    place.task("fix", "Mend calc.py: add subtracts.", [first, gate, last])
    gate.wait()
    # It saves its conversation a moment after it has asked.
    wait_for(lambda: saved(place, "tool_result"), what="no conversation is saved")
    daemon.kill()
    gate.release.set()
    place.start()
    place.landed("fix")
    place.daemon.close()

    for number in ("1", "2"):
        done = again(place, monkeypatch, "--attempt", number)

        assert 0 == done.returncode, done.stdout + done.stderr
