"""One submission never answers for another that was merged ahead of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gitagent.core.submission import SubmissionState
from gitagent.daemon import entry
from gitagent.git.repository import discover
from tests.support.stepping import Stepped, pipe

Step = Callable[..., Stepped]

LANDED = SubmissionState.LANDED
REJECTED = SubmissionState.REJECTED
TASK = "+++\nagent = 'nobody'\n+++\n# {}\n"

pytestmark = pytest.mark.slow


def test_what_a_landing_moves_away_stops_who_edits_it_and_no_other(step: Step):
    made = step("true", files={".agent/tasks/x.md": TASK.format("x")})
    base = made.repo.oid("refs/heads/main")
    tip = made.repo.commit_at("refs/heads/w1", {"n": "n"}, parents=(base,))
    found = discover(made.repo.path)
    with found.objects() as objects:
        work = entry.Work(tip, "refs/heads/w1")
        entry.submit_work(found, objects, work, closes="x")
    edits = made.push("b", {".agent/tasks/x.md": TASK.format("y")})
    other = made.push("c", {"c": "c"})
    made.rest()

    assert LANDED is made.of(tip).state
    assert REJECTED is made.of(edits).state
    assert ".agent/tasks/done/x.md" in (made.of(edits).reason or "")
    assert LANDED is made.of(other).state
    assert made.repo.read(".agent/tasks/done/x.md") == TASK.format("x")


def test_a_rename_of_one_that_never_lands_puts_no_other_outside_its_paths(
    step: Step, outside: Path
):
    lines = "".join(f"line {n}\n" for n in range(30))
    go = pipe(outside, "go")
    check = f"[ ! -e bad ] || {{ read x < {go}; exit 1; }}"
    made = step(check, lander={"window": 2}, files={"src/a.py": lines})
    evil = made.push("evil", {"src/a.py": None, "lib/a.py": lines, "bad": ""})
    made.until(lambda: made.loop.live.runs)
    made.repo.add_task("t", "sed -i 's/line 3$/X/' src/a.py", front="paths=['src/**']")
    made.until(lambda: len(made.submissions) == 2)
    for run in (1, 2):
        made.until(lambda run=run: any(n == run for _, n in made.loop.live.runs))
        with go.open("w") as writer:
            writer.write("\n")
    made.rest()

    assert REJECTED is made.of(evil).state
    assert "landed" == made.task("t").state
    assert "X\n" in made.repo.read("src/a.py")
