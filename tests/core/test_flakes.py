"""The flake ledger counts what receipts say."""

from dataclasses import replace

from gitagent.core.flakes import Run, ledger
from gitagent.core.judge import flaky_counts
from gitagent.core.receipt import Result
from gitagent.core.submission import CheckLine, Submission, SubmissionState

FAILED, PASSED = Result.FAILED, Result.PASSED


def run(key: str, number: int, result: Result, check: str = "tests", **fields) -> Run:
    started = f"2026-11-30T12:00:0{number}Z"
    made = Run(check, key, number, result, 1, started, "s-1", f"ref:{key}-{number}")
    return replace(made, **fields)


def flaky(key: str, check: str = "tests") -> list[Run]:
    return [run(key, 1, FAILED, check), run(key, 2, PASSED, check)]


def test_a_failed_run_and_then_a_pass_on_the_same_tree_is_a_flaky_pass():
    (tally,) = ledger({"tests": 8, "lint": 5}, [*flaky("a"), *flaky("b")], {}, 3)

    assert ("tests", 12, 10, 2) == (
        tally.check,
        tally.runs,
        tally.trees,
        len(tally.flakes),
    )
    assert 0.2 == tally.rate
    assert ["ref:a-1", "ref:a-2"] == [r.place for r in tally.flakes[0].runs]


def test_two_failures_a_changed_checkout_and_a_lone_second_run_are_none():
    runs = [
        *(run("a", 1, FAILED), run("a", 2, FAILED)),
        *(run("b", 1, Result.CHANGED), run("b", 2, PASSED)),
        run("c", 2, PASSED),
        run("d", 1, FAILED),
    ]

    assert () == ledger({"tests": 1}, runs, {}, 3)


def test_a_timeout_before_a_pass_is_flaky_too():
    runs = [run("a", 1, Result.TIMEOUT), run("a", 2, PASSED)]
    (tally,) = ledger({}, runs, {}, 3)

    assert 1.0 == tally.rate


def test_it_blocks_when_the_budget_is_used_up_and_the_worst_comes_first():
    runs = [*flaky("a", "lint"), *flaky("b"), *flaky("c", "slow")]
    found = ledger({"lint": 1}, runs, {"tests": 3, "lint": 2}, 3)

    assert [("tests", True), ("lint", False), ("slow", False)] == [
        (each.check, each.blocks) for each in found
    ]


def test_a_check_whose_receipts_are_gone_still_counts_against_its_budget():
    (tally,) = ledger({}, [], {"tests": 3}, 3)

    assert (True, 0, 0.0) == (tally.blocks, tally.runs, tally.rate)


def test_what_the_target_had_already_is_no_landing_that_clears_the_budget():
    def landed(n: int, *lines: CheckLine, commit: str = "c") -> Submission:
        when = f"2026-11-30T12:00:{n:02}Z"
        state = SubmissionState.LANDED
        return Submission(
            f"s-{n}", f"t{n}", state, when, when, commit=commit, checks=lines
        )

    bad = [landed(n, CheckLine("tests", "flaky", 1.0, f"r{n}")) for n in range(3)]
    empty = [landed(n, commit=f"t{n}") for n in range(10, 20)]
    good = [landed(n) for n in range(20, 30)]

    assert {"tests": 3} == flaky_counts([*bad, *empty])
    assert {} == flaky_counts([*bad, *good])
