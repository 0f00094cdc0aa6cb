"""How long a check usually takes."""

from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.usual import RECENT, usual

LANDED = SubmissionState.LANDED


def landed(number: int, *lines: CheckLine, state=LANDED) -> Submission:
    when = f"2026-11-30T12:{number:02}:00Z"
    name = f"s-{number}"
    return Submission(name, f"tip{number}", state, when, when, checks=lines)


def test_it_is_the_median_of_the_newest_ten():
    old = [landed(n, CheckLine("tests", "passed", 900.0, f"r{n}")) for n in range(5)]
    new = [
        landed(n, CheckLine("tests", "passed", float(n), f"r{n}"))
        for n in range(10, 10 + RECENT)
    ]

    assert {"tests": 14.5} == usual([*new, *old])
    assert {"tests": 900.0} == usual(old)


def test_what_landed_together_had_one_run():
    lone = landed(1, CheckLine("tests", "passed", 1.0, "a"))
    batch = [landed(n, CheckLine("tests", "flaky", 9.0, "b")) for n in range(2, 8)]

    assert {"tests": 5.0} == usual([lone, *batch])


def test_rejected_and_open_ones_say_nothing():
    rejected = landed(1, CheckLine("a", "failed", 1.0), state=SubmissionState.REJECTED)
    waiting = landed(2, CheckLine("a", "passed", 1.0), state=SubmissionState.QUEUED)
    unknown = landed(3, CheckLine("a", "passed", None))

    assert {} == usual([rejected, waiting, unknown])
