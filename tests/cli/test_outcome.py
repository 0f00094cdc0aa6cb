"""The news of a submission in words."""

from dataclasses import replace

import pytest

from gitagent.cli.outcome import tell
from gitagent.core.receipt import Receipt, Result
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.daemon.lineup import RunNow
from gitagent.daemon.news import Alone, Began, Ended, Judged, Place, Standing

WHEN = "2026-01-01T00:00:00Z"
NO = Submission(
    "s-a",
    "1" * 40,
    SubmissionState.REJECTED,
    WHEN,
    WHEN,
    reason="Check tests failed.",
    output="\x1b[31mno luck\x1b[0m\x07\n",
)
RUN = RunNow(("s-a",), "tests", 1, 0.0, "k", "p")
AGAIN = replace(RUN, run=2)
BOTH = replace(RUN, submissions=("s-a", "s-b"))
MANY = replace(RUN, submissions=("s-a", "s-b", "s-c", "s-d"))
RECEIPT = Receipt(
    *("tests", "k", "p", 1, "make test", Result.FAILED, 3, 1.5, WHEN),
    *("required", "e", "o"),
)


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (Place("s-a", 2, 5, "s-b"), "s-a has position 2 of 5, after s-b"),
        (Place("s-a", 1, 5, None), "s-a has position 1 of 5"),
        (Began("s-a", RUN), "s-a: check tests runs"),
        (Began("s-a", AGAIN), "s-a: check tests runs once more"),
        (Began("s-a", BOTH), "s-a: check tests runs, together with s-b"),
        (Began("s-a", MANY), "s-a: check tests runs, together with 3 others"),
        (Ended("s-a", RUN, None), "s-a: check tests was stopped"),
        (Ended("s-a", RUN, RECEIPT), "s-a: check tests failed in 1.5 s (exit 3)"),
        (
            Ended("s-a", BOTH, RECEIPT),
            "s-a: check tests failed in 1.5 s (exit 3), together with s-b",
        ),
        (Judged("s-a", CheckLine("x", "passed", 2.0)), "s-a: check x passed in 2.0 s"),
        (Judged("s-a", CheckLine("x", "passed")), "s-a: check x passed"),
        (Standing(replace(NO, output="")), "s-a is rejected: Check tests failed."),
    ],
)
def test_each_piece_is_one_line(capsys, news, text):
    tell(news)

    assert f"gitagent: {text}\n" == capsys.readouterr().err


def test_being_alone_says_how_to_start_a_daemon(capsys):
    tell(Alone("s-a"))

    assert "gitagent up --detach" in capsys.readouterr().err


def test_a_rejection_shows_the_end_of_the_output_without_colours(capsys):
    tell(Standing(replace(NO, output="line\n" * 1000 + NO.output)))
    lines = capsys.readouterr().err.splitlines()

    assert "gitagent: s-a is rejected: Check tests failed." == lines[0]
    assert "no luck\\x07" == lines[-1]
    assert len(lines) < 50
