"""gitagent log --flaky: the ledger, from the receipts of all months."""

import json

import pytest

from gitagent.core.receipt import Result
from gitagent.core.submission import CheckLine, SubmissionState
from tests.support import ledger
from tests.support.cli import call
from tests.support.repos import Repo

KEY = "0123456789abcde"
CACHE = "gitagent/flakes.json"


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")


def flaky(repo: Repo, nth: int, month: str = "2026-11", **fields):
    """Store the receipts of a flaky pass; return both."""
    facts = {"key": f"{KEY}{nth:x}", **fields}
    failed = ledger.receipt(
        repo,
        f"boom {nth}\n".encode(),
        result=Result.FAILED,
        exit_code=3,
        started=f"{month}-01T10:00:0{nth}Z",
        **facts,
    )
    passed = ledger.receipt(
        repo, b"fine\n", run=2, started=f"{month}-01T10:01:0{nth}Z", **facts
    )
    return failed, passed


def landed(repo: Repo, nth: int, passed, state: str = "flaky"):
    tip = repo.commit({"x": f"{nth}"}, branch=f"work{nth}")
    made = ledger.submission(repo, tip)
    line = CheckLine(passed.check, state, passed.seconds, passed.place)
    return ledger.moved(
        repo, made, SubmissionState.LANDED, checks=(line,), commit=repo.head()
    )


def said(repo: Repo) -> list[dict]:
    return call(repo, "log", "--flaky", "--json").json["checks"]


def test_without_a_flaky_check_it_is_one_line_and_exit_0(repo):
    ledger.receipt(repo, b"fine\n")
    answer = call(repo, "log", "--flaky")

    assert (0, 1, "") == (answer.code, len(answer.lines), answer.err)
    assert [] == said(repo)


def test_it_counts_over_months_and_names_the_receipts(repo):
    flaky(repo, 1, "2026-10")
    failed, passed = flaky(repo, 2)
    for n in range(6):
        ledger.receipt(repo, b"fine\n", key=f"{n:016x}")
    (tests,) = said(repo)

    assert ("tests", 10, 8, 2, 0.25, 0, False) == tuple(
        tests[key]
        for key in ("check", "runs", "trees", "flaky", "rate", "landings", "blocks")
    )
    assert passed.started == tests["last"]
    newest = tests["passes"][0]
    assert [failed.place, passed.place] == [run["receipt"] for run in newest["runs"]]
    assert b"boom 2\n" == repo.raw("cat-file", "blob", newest["runs"][0]["output"])


def test_the_last_ten_landings_count_against_the_budget(repo):
    for n in range(3):
        landed(repo, n, flaky(repo, n)[1])
    (tests,) = said(repo)
    page = call(repo, "log", "--flaky")

    assert (3, 3, True) == (tests["landings"], tests["budget"], tests["blocks"])
    assert "3 of 3 allowed: blocks" in page.out
    assert "git show refs/gitagent/receipts/2026-11:" in page.out


def test_the_task_behind_a_flaky_pass_is_named(repo):
    made = ledger.submission(
        repo, repo.commit({"x": "y"}, branch="work"), task="fix-login"
    )
    flaky(repo, 1, submission=made.id)
    ((passed,),) = (check["passes"] for check in said(repo))

    assert (made.id, "fix-login") == (passed["submission"], passed["task"])
    assert (
        f"{made.id} of task fix-login: exit 3, then passed"
        in call(repo, "log", "--flaky").out
    )


def test_for_people_the_newest_are_shown_and_how_many_more(repo):
    for n in range(5):
        flaky(repo, n)

    assert "2 older: gitagent log --flaky -n 5" in call(repo, "log", "--flaky").out
    whole = call(repo, "log", "--flaky", "-n", "5").out
    assert "older" not in whole
    assert 10 == whole.count("git show")


def test_a_receipt_that_belies_its_place_is_no_evidence(repo):
    failed, _ = flaky(repo, 1)
    ref, _, path = failed.place.partition(":")
    content = json.loads(repo.read(path, ref))
    forged = json.dumps(content | {"key": "f" * 16})
    repo.commit_at(ref, {path: forged}, "Forge", parents=(repo.oid(ref),))

    assert [] == said(repo)


@pytest.mark.parametrize("damage", ["", "{", '{"release": "x"}', "[]"])
def test_what_is_remembered_can_be_thrown_away(repo, damage):
    flaky(repo, 1)
    before = said(repo)
    (repo.common_dir / CACHE).write_text(damage)

    assert before == said(repo)


def test_what_is_remembered_is_taken_up_with_what_is_new(repo):
    flaky(repo, 1)
    said(repo)
    repo.commit({"y": "y"})
    flaky(repo, 2)
    ledger.receipt(repo, b"fine\n", key="a" * 16)
    (tests,) = said(repo)
    (repo.common_dir / CACHE).unlink()

    assert [tests] == said(repo)
    assert (5, 2) == (tests["runs"], tests["flaky"])
