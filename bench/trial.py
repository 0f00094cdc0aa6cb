"""Trials of the memory in which the truth is known: tasks, submissions and receipts.

They are records as a daemon would have written them, with the exposure that the coin
gives, so that what is found in them goes the whole way from the records to the verdict.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gitagent.core.coin import toss
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.ident import submission_id
from gitagent.core.outcomes import Row, rows
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState
from gitagent.core.usage import Usage

RECEIPT: Final = "refs/gitagent/receipts/2026-11:aa/bb/0-1.json"
CONFIG: Final = "c" * 40
_LINES: Final = (CheckLine("tests", "passed", 1.0, RECEIPT),)
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Truth:
    """What is so, whatever is found."""

    base: float = 0.5  # share of first tries that land without what has an effect
    recall: float = 0.0  # that recall adds
    items: tuple[tuple[str, float], ...] = ()  # what each item adds
    rate: float = 0.5


def trial(seed: int, tasks: int, truth: Truth) -> list[Row]:
    """Return what is made of the records of one trial."""
    records, submissions = [], []
    for record, submission in _records(seed, tasks, truth):
        records.append(record)
        submissions.extend([submission] if submission else [])
    slugs = frozenset(slug for slug, _ in truth.items) or frozenset({"some"})
    counted = {CONFIG: slugs}
    return list(rows(records, submissions, {RECEIPT}, counted).rows)


def _records(
    seed: int, tasks: int, truth: Truth
) -> Iterator[tuple[TaskRecord, Submission | None]]:
    chance = random.Random(seed)  # noqa: S311 - repeatable, no secret
    adds = dict(truth.items)
    for number in range(tasks):
        name = f"t-{seed}-{number}"
        recalled, withheld = toss(name, adds, truth.rate)
        given = [slug for slug in adds if slug not in withheld]
        share = truth.base + truth.recall * recalled
        share += sum(adds[slug] for slug in given) if recalled else 0.0
        told = Exposure(
            tuple(Received(slug, "b" * 40, Way.BRIEF) for slug in given),
            truth.rate,
            withheld,
            recalled,
        )
        landed_at = next((n for n in range(_TRIES) if chance.random() < share), None)
        yield _record(name, number, told, landed_at, chance.lognormvariate(9, 1))


def _record(
    name: str, number: int, told: Exposure, landed_at: int | None, tokens: float
) -> tuple[TaskRecord, Submission | None]:
    at = f"2026-11-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    went = _TRIES if landed_at is None else landed_at + 1
    attempts = tuple(
        Attempt(
            number=count,
            blob="a" * 40,
            base=CONFIG,
            started=at,
            target=CONFIG,
            ended=at,
            outcome=Outcome.OK if count - 1 == landed_at else Outcome.FAILED,
            tip=f"{name}-{count}",
            model="test:model",
            usage=Usage(1, int(tokens)),
            memory=told,
        )
        for count in range(1, went + 1)
    )
    state = TaskState.FAILED if landed_at is None else TaskState.LANDED
    record = TaskRecord(name, state, "a" * 40, at, attempts=attempts, oid=name)
    if landed_at is None:
        return record, None
    tip = attempts[-1].tip
    return record, Submission(
        submission_id(tip, name, "a" * 40),
        tip,
        SubmissionState.LANDED,
        at,
        at,
        task=name,
        checks=_LINES,
    )
