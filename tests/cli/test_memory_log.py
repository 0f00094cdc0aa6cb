"""gitagent memory log, and what a task's page says of what it asked."""

import pytest

from gitagent.core.remembering import Op, Operation, Ruled, Ruling
from gitagent.core.task import Attempt, TaskRecord, TaskState
from gitagent.daemon import tasks
from gitagent.git import rulings
from gitagent.git.repository import discover
from tests.support.cli import call

ADD = Operation(Op.ADD, "locks", "fact", "Locks are held 5 s.", sources=("main:a:1-1",))
GONE = Operation(Op.WITHDRAW, "old")
LEFT = Ruled(GONE, admitted=False, reason="It does not say why.")


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")


def rule(repo, *ruled: Ruled, task: str = "work", **more: str) -> Ruling:
    made = Ruling("2026-12-01T10:00:00Z", "G <g@x>", task, 1, ruled, **more)
    opened = discover(repo.path)
    with opened.objects() as objects:
        return rulings.append(opened, objects, made)


def task(repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"[]")
    tried = Attempt(1, "b", repo.head(), "t", proposed=blob)
    attempts = (tried,)
    made = TaskRecord("work", TaskState.RUNNING, "b", "t", attempt=1, attempts=attempts)
    tasks.write(discover(repo.path), None, made, "attempt 1 starts")


def test_each_operation_stands_there_with_what_became_of_it_newest_first(repo):
    rule(repo, LEFT, task="first")
    ok = Ruled(ADD, admitted=True, reason="It rests on a:1-1.", slug="locks-2")
    facts = {"commit": repo.head(), "submission": "s-0123456789ab"}
    made = rule(repo, ok, LEFT, **facts)
    answer = call(repo, "memory", "log")
    (newest, _), one = (
        call(repo, "memory", "log", *args, "--json").json["rulings"]
        for args in ((), ("-n", "1"))
    )

    assert [
        f"{made.at}  work #1  1 of 2 admitted, s-0123456789ab not submitted yet",
        "  admitted  add       locks-2  It rests on a:1-1.",
        "  refused   withdraw  old      It does not say why.",
        "2026-12-01T10:00:00Z  first #1  0 of 1 admitted",
        "  refused  withdraw  old  It does not say why.",
    ] == answer.lines
    assert [newest] == one
    assert (made.oid, "not submitted yet") == (newest["record"], newest["state"])
    assert {
        "op": "add",
        "slug": "locks-2",
        "asked": "locks",
        "line": "Locks are held 5 s.",
        "because": None,
        "against": None,
        "sources": ["main:a:1-1"],
        "admitted": True,
        "reason": "It rests on a:1-1.",
        "evidence": [],
        "blob": None,
    } == newest["operations"][0]


def test_a_commit_that_never_came_to_the_target_is_told_as_that(repo):
    ok = Ruled(ADD, admitted=True, reason="It rests on a:1-1.")
    loose = repo.git("commit-tree", "HEAD^{tree}", "-m", "Killed before the swap")
    rule(repo, ok, task="", commit=repo.head())
    rule(repo, ok, task="", commit=loose)
    newest, oldest = call(repo, "memory", "log", "--json").json["rulings"]

    assert f"{loose[:12]} not on the target" in call(repo, "memory", "log").out
    assert ["not on the target", "on the target"] == [newest["state"], oldest["state"]]


def test_a_dispute_names_both(repo):
    clash = Operation(Op.DISPUTE, "locks", against="old", because="Both cannot be.")
    rule(repo, Ruled(clash, admitted=True, reason="Both cannot be."))

    assert "dispute  locks against old" in call(repo, "memory", "log").out


def test_what_is_asked_for_cannot_fake_another_ruling(repo):
    odd = Operation(Op.ADD, "a\n- withdraw locks: admitted. \x1b[2J")
    made = rule(repo, Ruled(odd, admitted=False, reason="No.\n- add b: admitted."))
    said = repo.git("log", "-1", "--format=%B", made.oid)

    assert 1 == said.count("\n- ")
    assert "\x1b" not in said


def test_one_task_can_be_asked_for(repo):
    rule(repo, LEFT, task="first")
    rule(repo, LEFT)

    assert "first #1" in call(repo, "memory", "log", "first").out
    assert "work #1" not in call(repo, "memory", "log", "first").out


def test_where_nothing_was_asked_for_it_says_so(repo):
    assert (0, "") == (
        call(repo, "memory", "log").code,
        call(repo, "memory", "log").out,
    )
    assert (
        "nothing was ruled on yet for this repository"
        in call(repo, "memory", "log").err
    )
    assert "nothing was ruled on yet for task a" in call(repo, "memory", "log", "a").err


def test_the_page_of_a_task_says_what_became_of_what_it_asked(repo):
    task(repo)
    before = call(repo, "status", "work").out
    rule(repo, LEFT)
    after = call(repo, "status", "work")
    values = call(repo, "status", "work", "--json").json

    assert "The daemon rules on it when the task has settled." in before
    assert "    refused  withdraw  old  It does not say why." in after.lines
    assert [["It does not say why."]] == [
        [each["reason"] for each in ruling["operations"]]
        for ruling in values["rulings"]
    ]
