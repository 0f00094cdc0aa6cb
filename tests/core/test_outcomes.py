"""What counts of a task's records, and what is no success."""

from dataclasses import replace

import pytest

from gitagent.core import outcomes
from gitagent.core.coin import toss
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.ident import submission_id
from gitagent.core.outcomes import Row, rows
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState
from gitagent.core.usage import Usage

AT = "2026-11-01T00:00:00Z"
TARGET = "c" * 40
PLACE = "refs/gitagent/receipts/2026-11:aa/bb/0-1.json"
RATE = 0.5
GOOD = (CheckLine("tests", "passed", 1.0, PLACE),)

GIVEN = next(f"g-{n}" for n in range(99) if toss(f"g-{n}", ["a"], RATE) == (True, ()))
KEPT = next(
    f"k-{n}" for n in range(99) if toss(f"k-{n}", ["a"], RATE) == (True, ("a",))
)
BARE = next(f"b-{n}" for n in range(99) if not toss(f"b-{n}", [], RATE)[0])


def attempt(number=1, outcome=Outcome.OK, memory=None, **fields):
    return Attempt(
        number,
        "a" * 40,
        TARGET,
        AT,
        target=TARGET,
        ended=AT,
        outcome=outcome,
        tip=f"tip-{number}",
        memory=memory or Exposure(rate=RATE),
        **fields,
    )


def task(name, *attempts, state=TaskState.LANDED):
    return TaskRecord(name, state, "a" * 40, AT, attempts=attempts, oid="r")


def landing(name, number=1, **fields):
    tip = f"tip-{number}"
    whole = {"state": SubmissionState.LANDED, "checks": GOOD} | fields
    return Submission(
        submission_id(tip, name, "a" * 40),
        tip,
        created=AT,
        since=AT,
        task=name,
        **whole,
    )


def made(record, *submissions, sound=(PLACE,)):
    return rows([record], submissions, set(sound), {TARGET: frozenset({"a"})})


def row(record, *submissions, sound=(PLACE,)) -> Row:
    found = made(record, *submissions, sound=sound)
    assert {} == found.left_out
    return found.rows[0]


def left_out(record, *submissions):
    found = made(record, *submissions)
    assert () == found.rows
    return list(found.left_out)


def test_a_first_try_that_landed_with_receipts_is_a_success():
    found = row(task(GIVEN, attempt(usage=Usage(1, 10, 5))), landing(GIVEN))

    assert (
        Row(GIVEN, AT, RATE, True, frozenset("a"), frozenset(), True, 0, 15, "r")
        == found
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"checks": ()},
        {"checks": (CheckLine("tests", "passed", 1.0, None),)},
        {"checks": (CheckLine("tests", "passed", 1.0, "refs/elsewhere:x"),)},
        {"checks": (*GOOD, CheckLine("lint", "failed", 1.0, PLACE))},
        {"state": SubmissionState.REJECTED},
    ],
)
def test_what_has_no_receipt_of_each_check_is_no_success(fields):
    assert not row(task(GIVEN, attempt()), landing(GIVEN, **fields)).first_try


def test_a_receipt_that_is_not_there_proves_nothing():
    assert not row(task(GIVEN, attempt()), landing(GIVEN), sound=()).first_try


def test_a_task_that_says_it_is_done_or_landed_is_no_success():
    done = task(GIVEN, attempt(outcome=Outcome.NOTHING), state=TaskState.DONE)

    assert not row(done).first_try
    assert not row(task(GIVEN, attempt())).first_try


def test_a_landing_of_another_task_is_no_success():
    assert not row(task(GIVEN, attempt()), landing("other")).first_try


def test_retries_and_tokens_are_counted_up_to_the_landing():
    used = Usage(1, 10)
    record = task(
        GIVEN,
        attempt(1, Outcome.FAILED, usage=used),
        attempt(2, usage=used),
        attempt(3, Outcome.FAILED, usage=used),
    )
    found = row(record, landing(GIVEN, 2))

    assert (False, 1, 20) == (found.first_try, found.retries, found.tokens)


@pytest.mark.parametrize(
    "outcome",
    [Outcome.INTERRUPTED, Outcome.QUESTION, Outcome.CLAIMED, Outcome.AMENDED],
)
def test_an_attempt_that_was_cut_off_or_asked_is_no_try(outcome):
    found = row(task(GIVEN, attempt(1, outcome), attempt(2)), landing(GIVEN, 2))

    assert (True, 0) == (found.first_try, found.retries)


def test_a_landing_after_the_first_was_rejected_is_no_first_try():
    record = task(GIVEN, attempt(1), attempt(2))
    rejected = landing(GIVEN, 1, state=SubmissionState.REJECTED)
    found = row(record, rejected, landing(GIVEN, 2))

    assert (False, 1) == (found.first_try, found.retries)


def test_a_task_without_a_model_has_no_tokens():
    assert row(task(GIVEN, attempt()), landing(GIVEN)).tokens is None
    assert row(task(GIVEN, attempt(model="x:y")), landing(GIVEN)).tokens == 0


def test_the_coin_says_what_was_withheld_whatever_came_of_it():
    looked_up = Received("a", "b" * 40, Way.LOOKUP)
    told = Exposure(rate=RATE, withheld=("a",), received=(looked_up,))
    bare = row(task(BARE, attempt(memory=Exposure(rate=RATE, recalled=False))))

    assert frozenset("a") == row(task(KEPT, attempt(memory=told))).withheld
    assert frozenset("a") == row(task(GIVEN, attempt())).given
    assert (False, frozenset(), frozenset()) == (
        bare.recalled,
        bare.given,
        bare.withheld,
    )


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (task(GIVEN, attempt(memory=Exposure())), outcomes.NO_COIN),
        (task(GIVEN), outcomes.NO_COIN),
        (task(GIVEN, attempt(), state=TaskState.SUBMITTED), outcomes.OPEN),
        (
            task(GIVEN, attempt(outcome=Outcome.REFUSED), state=TaskState.REFUSED),
            outcomes.UNTRIED,
        ),
        (
            task(GIVEN, attempt(1, Outcome.FAILED, Exposure(rate=0)), attempt(2)),
            outcomes.BEGUN,
        ),
        (
            task(
                GIVEN,
                attempt(memory=Exposure((Received("a", "b", Way.ALL),), RATE)),
            ),
            outcomes.TENDS,
        ),
        (
            task(GIVEN, attempt(memory=Exposure(rate=RATE, recalled=False))),
            outcomes.OTHER_COIN,
        ),
        (
            task(GIVEN, attempt(memory=Exposure(rate=RATE, withheld=("a",)))),
            outcomes.OTHER_COIN,
        ),
        (
            task(
                KEPT,
                attempt(memory=Exposure((Received("a", "b", Way.BRIEF),), RATE)),
            ),
            outcomes.OTHER_COIN,
        ),
    ],
)
def test_a_task_that_tells_nothing_is_left_out_with_the_reason(record, why):
    assert [why] == left_out(record)


def test_a_task_that_landed_and_was_asked_for_anew_counts_as_it_landed():
    again = task(GIVEN, attempt(), attempt(2, None), state=TaskState.RUNNING)

    assert row(again, landing(GIVEN)).first_try


def test_a_task_that_began_with_an_empty_memory_is_left_out():
    found = rows([task(GIVEN, attempt())], [], set(), {})

    assert {outcomes.EMPTY: 1} == found.left_out


def test_rows_are_in_order_of_their_beginning():
    late = task(KEPT, replace(attempt(), started="2026-11-02T00:00:00Z"))
    counted = {TARGET: frozenset({"a"})}
    found = rows([late, task(GIVEN, attempt())], [], set(), counted)

    assert [GIVEN, KEPT] == [each.task for each in found.rows]
