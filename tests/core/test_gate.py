"""Which files of a tree the checks are made of."""

import pytest

from gitagent.core.candidate import Candidate, Change, PathChange
from gitagent.core.gate import gates
from gitagent.core.policy import rule
from gitagent.core.settings import Check, Settings
from gitagent.core.shell import steps
from gitagent.core.submission import Submission, SubmissionState

FILE = 0o100644
SINCE = "2026-11-30T12:00:00Z"


def edited(path: str) -> PathChange:
    return PathChange(path, Change.MODIFIED, FILE, FILE, "a", "b")


def added(path: str) -> PathChange:
    return PathChange(path, Change.ADDED, 0, FILE, "", "b")


def named(command: str, *changes: PathChange) -> list[str]:
    return [path for path, _ in gates([Check("all", command)], changes)]


@pytest.mark.parametrize(
    "command",
    [
        "ci/all.sh",
        "./ci/all.sh --fast",
        "sh ci/all.sh",
        "bash -eu ci/all.sh | tail",
        "/bin/sh ci/all.sh",
        "FAST=1 timeout 20m ./ci/all.sh",
        "cd ci && ./all.sh",
        "cd ci\nsh all.sh",
        "set -e; . ci/all.sh",
        "sh -c 'true && ci/all.sh'",
        "bash -euc 'cd ci; ./all.sh'",
        "true || (cd ci && sh ./all.sh)",
        "if ! ./ci/all.sh; then exit 1; fi",
    ],
)
def test_a_file_that_a_check_starts_is_part_of_it(command: str):
    assert ["ci/all.sh"] == named(command, edited("ci/all.sh"), edited("all.sh"))


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "pytest -q src tests",
        "python app.py --version",
        "bash -n",
        "cat src/a.py app.py ci/all.sh",
        "ruff check src/a.py",
        "test -e ci/all.sh",
        "grep -q 'x; ci/all.sh' src/a.py",
        "",
        "'",
    ],
)
def test_a_file_that_a_check_looks_at_is_not(command: str):
    changes = [edited(p) for p in ("src/a.py", "app.py", "ci/all.sh", "tox.ini")]

    assert [] == named(command, *changes)


@pytest.mark.parametrize("command", ["python tools/check.py", "node tools/check.py"])
def test_a_program_that_is_called_a_check_is_one(command: str):
    assert ["tools/check.py"] == named(command, edited("tools/check.py"))


def test_tests_are_judged_by_what_is_in_them_if_that_can_be_read():
    assert [] == named("python tests/test_all.py", edited("tests/test_all.py"))
    assert ["tests/all.sh"] == named("sh tests/all.sh", edited("tests/all.sh"))


def test_scripts_beside_the_one_that_is_started_are_part_of_the_check():
    changes = [edited(p) for p in ("ci/lib.sh", "ci/new/x.sh", "ci/a.py", "top.sh")]

    assert ["ci/lib.sh"] == named("sh ci/all.sh", *changes)
    assert [] == named("sh all.sh", *changes)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("make -j2 test", "Makefile"),
        ("cd sub && make", "sub/Makefile"),
        ("sh -c 'make test'", "GNUmakefile"),
        ("make test", "rules/local.mk"),
        ("tox -q", "tox.ini"),
        ("nox", "noxfile.py"),
        ("python -m nox", "noxfile.py"),
        ("just test", "justfile"),
    ],
)
def test_what_a_program_reads_to_know_what_it_runs_is_part_of_the_check(
    command: str, path: str
):
    assert [path] == named(command, edited(path))
    assert [path] == named(command, added(path), edited("src/a.py"))


@pytest.mark.parametrize("command", ["pytest -q", "python3 -m pytest"])
def test_a_configuration_that_pytest_would_take_first_is_named(command: str):
    assert ["pytest.ini"] == named(command, added("pytest.ini"))
    assert [] == named(command, edited("pytest.ini"))
    assert [] == named("ruff check", added("pytest.ini"))


@pytest.mark.parametrize(
    "path",
    ["pytest.py", "pytest/__init__.py", "pytest/__main__.py", "sitecustomize.py"],
)
def test_a_new_file_that_python_would_take_first_is_named(path: str):
    command = "python3 -m pytest -q"

    assert [path] == named(command, added(path), added("src/pytest.py"))
    assert [] == named("pytest -q", added("pytest.py"))
    assert ["sitecustomize.py"] == named("pytest -q", edited("sitecustomize.py"))


def test_a_worker_needs_an_approval_for_it_and_a_person_does_not():
    candidate = Candidate("b", ("t",), changes=(edited("ci/all.sh"),))
    submission = Submission("s-1", "t", SubmissionState.QUEUED, SINCE, SINCE)
    of_task = Submission("s-1", "t", SubmissionState.QUEUED, SINCE, SINCE, task="x")
    settings = Settings(check=(Check("all", "sh ci/all.sh"),))
    (need,) = rule(candidate, of_task, settings).approve

    assert ("ci/all.sh", "the check all runs it") == (need.path, need.why)
    assert () == rule(candidate, submission, settings).approve


def test_a_command_is_taken_apart_as_a_shell_does():
    found = [(s.folder, s.words) for s in steps('a "b c" && cd d; e|f >g &')]

    assert [
        ("", ("a", "b c")),
        ("d", ("e",)),
        ("d", ("f", ">", "g")),
    ] == found
