"""What a worker did other than it was asked, told from the diff."""

import time

import pytest

from gitagent.core.candidate import Candidate, Change, PathChange
from gitagent.core.divergence import mismatches
from gitagent.core.policy import rule
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskFile

FILE = 0o100644
SINCE = "2026-11-30T12:00:00Z"
ACCEPT = ("python -m pytest -q tests/test_login.py::test_empty",)


def edited(path: str) -> PathChange:
    return PathChange(path, Change.MODIFIED, FILE, FILE, "a", f"new {path}")


def added(path: str) -> PathChange:
    return PathChange(path, Change.ADDED, 0, FILE, "", f"new {path}")


def deleted(path: str) -> PathChange:
    return PathChange(path, Change.DELETED, FILE, 0, f"old {path}", "")


def asking(text: str = "", **fields) -> TaskFile:
    return TaskFile("fix", "b" * 40, "Make the login strict", text, **fields)


def found(task: TaskFile, *changes: PathChange, statement: str = "None") -> str:
    return " ".join(mismatches(task, changes, statement))


@pytest.mark.parametrize("statement", ["None", "none.", "", "All tests pass."])
def test_planted_scope_creep_with_none_is_refused(statement: str):
    task = asking(paths=("src/**", "tests/**"), accept=ACCEPT)
    candidate = Candidate(
        "b",
        ("t",),
        product="p",
        changes=(
            edited("src/login.py"),
            edited("tests/test_login.py"),
            deleted("tests/test_logout.py"),
            edited("docs/billing.md"),
        ),
    )
    submission = Submission(
        "s-1",
        "t",
        SubmissionState.CHECKING,
        SINCE,
        SINCE,
        task="fix",
        divergence=statement,
    )
    said = " ".join(rule(candidate, submission, Settings(), task, None).no)

    assert "Outside the task's `paths`: docs/billing.md" in said
    assert "`accept` runs" in said
    assert "not name tests/test_login.py" in said
    assert "not name tests/test_logout.py" in said
    assert "src/login.py" not in said


@pytest.mark.parametrize(
    "statement",
    [
        "I changed tests/test_login.py, which expected the old text.",
        "`tests/test_login.py` had to change",
        "Everything in tests/ was touched",
        "see ./tests/test_login.py.",
    ],
)
def test_what_the_statement_names_is_no_mismatch(statement: str):
    task = asking(accept=ACCEPT)

    assert "" == found(task, edited("tests/test_login.py"), statement=statement)


@pytest.mark.parametrize(
    "statement", ["The tests were changed.", "tests/test_log.py", "test_login.py"]
)
def test_a_statement_names_a_path_whole_or_not_at_all(statement: str):
    task = asking(accept=ACCEPT)

    assert "" != found(task, edited("tests/test_login.py"), statement=statement)


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/test_login.py",
        "cd tests && python test_login.py",
        "cd web && cd .. && sh ./tests/test_login.py | tail",
        "run --file=tests/test_login.py",
        "sh -c 'true' ; tests/test_login.py",
        'echo "a && tests/test_login.py',
    ],
)
def test_an_edit_of_what_accept_runs_is_a_mismatch(command: str):
    task = asking(accept=(command,))

    assert "accept" in found(task, edited("tests/test_login.py"))
    assert "" == found(task, added("tests/test_login.py"))
    assert "" == found(task, edited("tests/test_logout.py"))


@pytest.mark.parametrize(
    "text",
    [
        "Extend tests/test_login.py with the empty name.",
        "Please add a case for it to `tests/test_login.py`, and make it pass.",
        "Fix the flaky test `tests/test_login.py`.",
        "1. Find out why.\n2. Rewrite\n   tests/test_login.py.",
    ],
)
def test_what_the_task_asks_to_be_written_is_no_mismatch(text: str):
    assert "" == found(asking(text, accept=ACCEPT), edited("tests/test_login.py"))


@pytest.mark.parametrize(
    "text",
    [
        "Make tests/test_login.py pass.",
        "Fix the login so that tests/test_login.py passes.",
        "Change the login until `tests/test_login.py` is green.",
        "Fix the bug that is shown by tests/test_login.py.",
        "Do not change tests/test_login.py!",
        "Change src/login.py, but don't edit tests/test_login.py.",
        "Leave tests/test_login.py as it is and change src/login.py.",
        "Add a check to src/login.py and run tests/test_login.py.",
    ],
)
def test_what_the_task_only_mentions_stays_a_mismatch(text: str):
    assert "" != found(asking(text, accept=ACCEPT), edited("tests/test_login.py"))


def test_a_script_names_what_it_works_on():
    task = asking(scripts=("git rm -q tests/test_old.py\n",))

    assert "" == found(task, deleted("tests/test_old.py"), statement="")


def test_deleted_tests_are_a_mismatch_and_moved_ones_are_not():
    moved = PathChange("tests/new/test_b.py", Change.ADDED, 0, FILE, "", "same")
    gone = PathChange("tests/test_b.py", Change.DELETED, FILE, 0, "same", "")

    assert "tests/test_a.py" in found(asking(), deleted("tests/test_a.py"))
    assert "" == found(asking(), gone, moved)


def test_tests_may_go_with_what_they_are_about():
    assert "" == found(asking(), deleted("src/cart.py"), deleted("tests/test_cart.py"))
    assert "" == found(asking(), deleted("cart.go"), deleted("cart_test.go"))
    assert "" != found(asking(), deleted("src/cart.py"), deleted("tests/test_b.py"))


def test_ordinary_work_raises_no_alarm():
    changes = (
        edited("src/login.py"),
        added("src/strict.py"),
        deleted("src/old.py"),
        edited("tests/test_strict.py"),
        added("tests/test_login.py"),
        edited("docs/login.md"),
        edited("Makefile"),
    )

    assert "" == found(asking("See `src/other.py`.", accept=ACCEPT), *changes)
    assert "" == found(asking(accept=("make test", "pytest tests")), *changes)


@pytest.mark.parametrize("piece", ["\n", " ", "\n ", ". ", "a ", "- ", "do not "])
def test_hostile_text_takes_no_time(piece: str):
    text = piece * (200_000 // len(piece))
    begun = time.process_time()
    found(asking(text, accept=(text[:2000],)), edited("a"), statement=text)

    assert time.process_time() - begun < 3
