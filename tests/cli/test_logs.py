"""gitagent logs: the output of attempts and checks, while they run and afterwards."""

import os
import pty
import subprocess

import pytest

from gitagent.core.receipt import Result
from gitagent.core.submission import CheckLine, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskState
from gitagent.daemon import tasks
from gitagent.git.repository import discover
from gitagent.worker.attempt import log_path
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import COMMAND, gitagent
from tests.support.repos import Repo

WHEN = "2026-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")
    repo.add_task("a", "true")


def blob(repo: Repo, data: bytes) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin=data)


def attempt(repo: Repo, number: int = 1, **fields) -> Attempt:
    return Attempt(number, "0" * 40, repo.head(), WHEN, **fields)


def ended(repo: Repo, number: int, output: bytes) -> Attempt:
    return attempt(
        repo,
        number,
        ended=WHEN,
        outcome=Outcome.FAILED,
        exit_code=1,
        log=blob(repo, output),
    )


def live_log(repo: Repo, data: bytes):
    path = log_path(discover(repo.path), "a", 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def test_the_newest_attempt_or_a_named_one_is_shown(repo):
    attempts = (ended(repo, 1, b"one\n"), ended(repo, 2, b"two\n"))
    ledger.task(repo, "a", TaskState.FAILED, attempt=2, attempts=attempts)

    assert "two\n" == call(repo, "logs", "a").out
    assert "one\n" == call(repo, "logs", "a", "--attempt", "1").out
    assert "two\n" == call(repo, "logs", "-f", "a").out
    assert 1 == call(repo, "logs", "a", "--attempt", "3").code


def test_raw_is_the_very_bytes_and_a_pipe_has_no_colours(repo):
    output = b"\x1b[31mred\x1b[0m \xff no newline"
    ledger.task(
        repo, "a", TaskState.FAILED, attempt=1, attempts=(ended(repo, 1, output),)
    )
    raw, shown = (
        subprocess.run(
            [*COMMAND, "logs", *options, "a"],
            cwd=repo.path,
            capture_output=True,
            check=True,
        ).stdout
        for options in (("--raw",), ())
    )

    assert output == raw
    assert "red \ufffd no newline\n" == shown.decode()


def test_the_end_of_a_long_output_is_shown_and_where_the_rest_is(repo):
    output = b"".join(b"line %d\n" % n for n in range(1000))
    attempts = (ended(repo, 1, output),)
    ledger.task(repo, "a", TaskState.FAILED, attempt=1, attempts=attempts)
    answer = call(repo, "logs", "a")

    assert ["[800 lines left out]", "line 800"] == answer.lines[:2]
    assert "line 999" == answer.lines[-1]
    assert "gitagent logs --raw --attempt 1 a" in answer.err
    assert output.decode() == call(repo, "logs", "--raw", "a").out


def test_one_endless_line_is_cut_too(repo):
    attempts = (ended(repo, 1, b"x" * 300_000),)
    ledger.task(repo, "a", TaskState.FAILED, attempt=1, attempts=attempts)

    assert "[200000 characters left out]" == call(repo, "logs", "a").lines[0]


def test_an_attempt_that_printed_nothing_is_told_apart_from_no_attempt(repo):
    attempts = (ended(repo, 1, b""),)
    ledger.task(repo, "a", TaskState.DONE, attempt=1, attempts=attempts)
    answer = call(repo, "logs", "a")

    assert (0, "") == (answer.code, answer.out)
    assert "attempt 1 of a" in answer.err


def test_a_running_attempt_is_shown_as_far_as_it_has_come(repo):
    ledger.task(repo, "a", TaskState.RUNNING, attempt=1, attempts=(attempt(repo),))
    before = call(repo, "logs", "a")
    live_log(repo, b"so far\n")

    assert (0, "") == (before.code, before.out)
    assert "so far\n" == call(repo, "logs", "a").out


def test_following_ends_with_the_attempt_and_misses_nothing(repo):
    old = ledger.task(
        repo, "a", TaskState.RUNNING, attempt=1, attempts=(attempt(repo),)
    )
    path = live_log(repo, b"first\n")
    with subprocess.Popen(
        [*COMMAND, "logs", "-f", "a"],
        cwd=repo.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        assert "first\n" == following.stdout.readline()
        with path.open("ab") as log:
            log.write(b"second\n")
        assert "second\n" == following.stdout.readline()
        with path.open("ab") as log:
            log.write(b"last words")
        new = ended(repo, 1, b"first\nsecond\nlast words")
        tasks.write(
            discover(repo.path),
            old,
            ledger.replaced(old, state=TaskState.FAILED, attempts=(new,)),
            "failed: It ended with 1.",
        )
        path.unlink()
        rest = following.stdout.read()
        following.wait(60)

    assert ("last words\n", 0) == (rest, following.returncode)


def test_a_task_without_an_attempt_says_so(repo):
    ledger.task(repo, "a", TaskState.WAITING)
    answer = call(repo, "logs", "a")

    assert (1, "") == (answer.code, answer.out)
    assert "waiting" in answer.err


@pytest.mark.parametrize("name", ["nope", "s-000000000000", "../../x"])
def test_what_is_not_there_is_exit_1(repo, name):
    assert 1 == call(repo, "logs", name).code
    assert 1 == call(repo, "logs", "-f", name).code


def test_every_run_of_a_submissions_checks_is_shown(repo):
    failed = ledger.receipt(repo, b"boom\n", result=Result.FAILED, exit_code=2)
    again = ledger.receipt(repo, b"fine\n", run=2)
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    none = call(repo, "logs", made.id)
    lines = (
        CheckLine("tests", "flaky", 1.5, again.place),
        CheckLine("later", "waiting"),
    )
    ledger.moved(repo, made, SubmissionState.LANDED, checks=lines)
    answer = call(repo, "logs", made.id)

    assert failed.place != again.place
    assert "queued" in none.err
    assert [
        "== tests, run 1: failed, exit 2, 1.5 s: make test",
        f"   git show {log_of(failed)}",
        "boom",
        "== tests, run 2: passed, 1.5 s: make test",
        f"   git show {log_of(again)}",
        "fine",
    ] == answer.lines
    assert answer.out == call(repo, "logs", "-f", made.id).out
    assert "boom\nfine\n" == call(repo, "logs", "--raw", made.id).out
    assert "boom" == repo.git("show", log_of(failed))


def log_of(receipt) -> str:
    return receipt.place.removesuffix(".json") + ".log"


def test_runs_of_one_check_in_two_months_are_shown_together(repo):
    ledger.receipt(
        repo, b"boom\n", result=Result.FAILED, started="2026-10-31T23:59:59Z"
    )
    again = ledger.receipt(repo, b"fine\n", run=2, started="2026-11-01T00:00:01Z")
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    lines = (CheckLine("tests", "flaky", 1.5, again.place),)
    ledger.moved(repo, made, SubmissionState.LANDED, checks=lines)

    assert "boom\nfine\n" == call(repo, "logs", "--raw", made.id).out


def test_following_a_submission_ends_when_it_is_settled(repo):
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    with subprocess.Popen(
        [*COMMAND, "logs", "-f", made.id],
        cwd=repo.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stderr is not None
        following.stderr.readline()
        receipt = ledger.receipt(repo, b"fine\n")
        checks = (CheckLine("tests", "passed", 1.5, receipt.place),)
        running = ledger.moved(repo, made, SubmissionState.CHECKING, checks=checks)
        assert following.stdout is not None
        assert "tests, run 1: passed" in following.stdout.readline()
        assert "git show" in following.stdout.readline()
        ledger.moved(repo, running, SubmissionState.LANDED)
        rest = following.stdout.read()
        following.wait(60)

    assert ("fine\n", 0) == (rest, following.returncode)


def test_a_receipt_that_is_gone_is_passed_over(repo):
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    place = f"refs/gitagent/receipts/2020-01:aa/{'b' * 38}/{'c' * 16}-1.json"
    checks = (CheckLine("tests", "passed", 1.5, place),)
    ledger.moved(repo, made, SubmissionState.LANDED, checks=checks)

    assert 0 == gitagent(repo, "logs", made.id).returncode


def test_on_a_terminal_control_characters_are_made_harmless(repo):
    output = b"\x1b[2J\x1b[31;40mred\x1b[K\x1b[m \x1b]0;title\x07line\nlast"
    ledger.task(
        repo, "a", TaskState.FAILED, attempt=1, attempts=(ended(repo, 1, output),)
    )
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "logs", "a"], cwd=repo.path, stdout=terminal, check=False
    )
    os.close(terminal)
    shown = os.read(controller, 1 << 16)
    os.close(controller)

    assert 0 == done.returncode
    red = b"\x1b[31mred\x1b[0m"
    assert b"\\x1b[2J" + red + b" \\x1b]0;title\\x07line\r\nlast\r\n" == shown
