"""Killed at any place, no effect is made twice, lost or told wrongly."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from gitagent.core.conversation import CallState, Kind, pending, unanswered
from gitagent.git.repository import discover
from gitagent.host.failpoint import OTHERS
from gitagent.worker.loop.record import read
from tests.worker.loop import crashing

ROOT = Path(__file__).resolve().parents[3]

EFFECTS = {"c1", "c2", "c5", "c6", "c7", "c7.1"}
MADE = {CallState.DONE}
PERHAPS = {CallState.INTERRUPTED, CallState.UNCERTAIN}
PROBED = "mcp__count__add"


def test_no_kill_makes_an_effect_twice_or_loses_one(repo, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.worker.loop.crashing", repo.path, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (0, "") == (done.returncode, done.stderr)
    lives = json.loads(done.stdout)
    killed = {name for name in lives if name.startswith("killed")}
    assert len(killed) >= 5 * len(EFFECTS)
    assert {name: [False, True] if name in killed else [True] for name in lives} == (
        lives
    )
    states = Counter()
    with discover(repo.path).objects() as objects:
        for name in lives:
            path = tmp_path / name
            lines = path.read_text().split() if path.exists() else []
            states += _judged(read(objects, name), Counter(lines))

    assert {CallState.DONE, CallState.INTERRUPTED, CallState.UNCERTAIN} <= {*states}
    repo.fsck()


def _judged(entries, counted):
    """Hold what a conversation says against what was done; return the states."""
    results = {each.call: each for each in entries if each.kind is Kind.RESULT}
    intents = {each.call: each for each in entries if each.kind is Kind.INTENT}
    calls = [call.id for each in entries for call in each.calls]

    assert len(results) == sum(each.kind is Kind.RESULT for each in entries)
    assert {*calls} <= {*results}
    assert ([], []) == (pending(entries), unanswered(entries))
    assert {*counted} <= {each.key for each in intents.values()}
    for call, result in results.items():
        times = counted[intents[call].key] if call in intents else 0
        if call not in EFFECTS:
            assert 0 == times
        elif result.state in MADE:
            assert 1 == times
        elif result.tool == PROBED:
            assert result.state is CallState.FAILED
            assert 0 == times
        else:
            assert result.state in PERHAPS
            assert times <= 1
        if "before this call was carried out" in result.text:
            assert 0 == times
    return Counter(each.state for each in results.values())


def test_each_place_of_the_executor_is_one_that_tests_can_name():
    names = {"conversation-intent", "conversation-executed", "conversation-result"}

    assert names <= {*OTHERS}
    assert 4 == len(crashing.ROUNDS)
