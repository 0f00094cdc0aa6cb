"""What people see of a real daemon's queue: what runs, and which checks are flaky."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitagent.core.ident import submission_id
from tests.support.daemon import Daemon, gitagent, record, status
from tests.support.repos import Repo
from tests.support.stepping import config, keep, pipe

Begin = Callable[..., tuple[Repo, Daemon]]


@pytest.fixture
def begin(tmp_path: Path, outside: Path) -> Iterator[Begin]:
    """Start daemons: ``begin("the check", lander={…})``."""
    daemons: list[Daemon] = []

    def start(check: str, **lander: object) -> tuple[Repo, Daemon]:
        tables = {"sandbox": {"write": [str(outside)]}, "lander": lander}
        repo = keep(tmp_path / "kept", {"a.txt": "a\n"}, config(check, **tables))
        daemons.append(Daemon.start(repo))
        return repo, daemons[-1]

    yield start
    for each in daemons:
        each.close()


def push(repo: Repo, name: str, on: str = "") -> str:
    """Offer a commit that adds a file; return its submission."""
    parent = on or repo.oid("refs/heads/main")
    ref = f"refs/heads/land/{name}"
    files = {f"{name}.txt": f"{name}\n"}
    return submission_id(repo.commit_at(ref, files, name, parents=(parent,)))


def test_status_tells_what_runs_on_which_base_and_with_whom(
    begin: Begin, outside: Path
):
    pipe(outside, "go")
    repo, daemon = begin(f"read x < {outside}/go", window=1)
    base = repo.oid("refs/heads/main")
    first = push(repo, "one", base)
    daemon.wait_submission(first, "checking")
    second = push(repo, "two", base)
    daemon.wait_submission(second, "queued", "checking")

    def runs() -> bool:
        return bool(status(repo)["submissions"][0]["checks"])

    daemon.until(runs, timeout=60, what="a check runs")
    head, *_ = said = status(repo)["submissions"]
    page = gitagent(repo, "status").stdout
    story = gitagent(repo, "status", first).stdout
    (outside / "go").open("w").close()

    assert [(first, 1), (second, 2)] == [(s["id"], s["position"]) for s in said]
    assert ("checking", base, []) == (head["state"], head["base"], head["with"])
    (check,) = head["checks"]
    assert ("tests", "running", 1) == (check["name"], check["state"], check["run"])
    assert check["seconds"] >= 0
    assert f"checks tests on {base[:7]}, " in page
    assert f"checks tests on {base[:7]}, " in story
    assert "1. of the queue" in story


def test_the_story_of_one_that_is_run_once_more_has_what_failed_at_first(
    begin: Begin, outside: Path
):
    pipe(outside, "go")
    once = outside / "fail-once"
    once.touch()
    failing = f"if [ -e {once} ]; then rm {once}; echo port in use; exit 3; fi"
    repo, daemon = begin(f"{failing}; read x < {outside}/go", window=1)
    name = push(repo, "one")

    def again() -> bool:
        queued = status(repo)["submissions"]
        return any(c["run"] == 2 for each in queued for c in each["checks"])

    daemon.until(again, timeout=60, what="the check runs once more")
    story = gitagent(repo, "status", name).stdout
    page = gitagent(repo, "status").stdout
    (outside / "go").open("w").close()

    assert "checks tests (run 2) on " in story
    assert "checks tests (run 2) on " in page
    assert "What failed at the first try\n  port in use\n" in story


def test_after_three_flaky_landings_the_fourth_is_blocked_and_the_ledger_says_why(
    begin: Begin, outside: Path
):
    again = outside / "fail-once"
    check = f"if [ -e {again} ]; then rm {again}; echo not yet; exit 3; fi; echo fine"
    repo, daemon = begin(check)
    for n in range(3):
        again.touch()
        daemon.wait_submission(push(repo, f"flaky{n}"), "landed")
    daemon.wait_submission(push(repo, "solid"), "landed")
    again.touch()
    fourth = push(repo, "fourth")
    daemon.wait_submission(fourth, "rejected")
    later = push(repo, "later")
    daemon.wait_submission(later, "landed")
    found = record(repo, f"refs/gitagent/submissions/{fourth}")
    said = json.loads(gitagent(repo, "log", "--flaky", "--json").stdout)
    page = gitagent(repo, "log", "--flaky").stdout

    assert found is not None
    assert "gitagent log --flaky" in found["reason"]
    assert "3 of the last 10 landings" in found["reason"]
    (tests,) = said["checks"]
    assert (4, 3, 3, True) == tuple(
        tests[key] for key in ("flaky", "landings", "budget", "blocks")
    )
    (mine,) = (each for each in tests["passes"] if fourth == each["submission"])
    outputs = [run["output"] for run in mine["runs"]]
    assert [b"not yet\n", b"fine\n"] == [
        repo.raw("cat-file", "blob", each) for each in outputs
    ]
    assert all(each in page for each in outputs)
    receipts = [run["receipt"] for run in tests["passes"][0]["runs"]]
    assert [repo.oid(each) for each in outputs] == [
        json.loads(repo.git("cat-file", "blob", each))["output"] for each in receipts
    ]
    assert "not yet\nfine\n" == gitagent(repo, "logs", "--raw", fourth).stdout


def test_over_budget_on_the_bare_target_too_it_is_the_target_that_is_red(
    begin: Begin, outside: Path
):
    again = outside / "fail-once"
    check = f"if [ -e {again} ]; then rm {again}; exit 3; fi"
    repo, daemon = begin(check, flaky_budget=1)
    again.touch()
    daemon.wait_submission(push(repo, "first"), "landed")
    again.touch()
    blamed = push(repo, "second")

    def red() -> str:
        return status(repo)["target"]["paused"] or ""

    paused = daemon.until(red, timeout=60, what="the target is red")
    repair = push(repo, "repair")
    daemon.wait_submission(repair, "landed")
    daemon.wait_submission(blamed, "landed")

    assert "gitagent log --flaky" in paused
