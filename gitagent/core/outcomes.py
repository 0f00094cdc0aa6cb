"""What became of the tasks whose coin was tossed, a row each, by receipts alone.

A task counts as its coin says, whatever it was given in the end: who leaves out those
where recall found nothing, or an item was not read, compares tasks that are not alike.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gitagent.core.coin import toss
from gitagent.core.episode import submission_of
from gitagent.core.exposure import Exposure, Way
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord

NO_COIN: Final = "no coin was tossed for them"
OPEN: Final = "they have not ended"
UNTRIED: Final = "no try at them came to an end of its own"
BEGUN: Final = "a try came before their first coin"
TENDS: Final = "they tend the memory, and are given all of it"
EMPTY: Final = "nothing was in the memory when they began"
OTHER_COIN: Final = "their record says other than their coin"

# Such an attempt is no try: it was cut off, or it goes on with what it was told.
_NO_TRY: Final = frozenset(
    {
        Outcome.INTERRUPTED,
        Outcome.CLAIMED,
        Outcome.REFUSED,
        Outcome.AMENDED,
        Outcome.QUESTION,
    }
)
_PASSED: Final = frozenset({"passed", "flaky"})  # states of a check
_BY_COIN: Final = frozenset({Way.BRIEF, Way.RECALL})


@dataclass(frozen=True, slots=True)
class Row:
    """One task: what the coin said, and what became of it."""

    task: str
    at: str  # UTC; when its first attempt began
    rate: float  # of the coin
    recalled: bool  # False: the coin kept recall from it
    given: frozenset[str]  # items that counted then, and were not withheld
    withheld: frozenset[str]  # items that counted then, and were
    first_try: bool  # its first try landed, and receipts say that it passed
    retries: int
    tokens: int | None  # None: it talks to no model that is counted
    oid: str = ""  # record that says so


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows, and how many tasks are none of them."""

    rows: tuple[Row, ...] = ()  # oldest first
    left_out: Mapping[str, int] = field(default_factory=dict)  # by the reason, a clause


def rows(
    records: Iterable[TaskRecord],
    submissions: Iterable[Submission],
    sound: Collection[str],
    counted: Mapping[str, frozenset[str]],
) -> Rows:
    """Return a row for each task that tells something of the memory.

    ``sound`` are places of receipts that are there and say that a check passed;
    ``counted`` the slugs of the items that counted, by commit of the target.
    """
    known = {each.id: each for each in submissions if each.task is not None}
    proven = {name for name, each in known.items() if is_proven(each, sound)}
    found: list[Row] = []
    left_out: Counter[str] = Counter()
    for record in records:
        row = _row(record, known, proven, counted)
        if isinstance(row, str):
            left_out[row] += 1
        else:
            found.append(row)
    found.sort(key=lambda row: (row.at, row.task))
    return Rows(tuple(found), dict(left_out.most_common()))


def is_proven(submission: Submission, sound: Collection[str]) -> bool:
    """Whether a submission landed and each of its checks has a receipt that says so."""
    return (
        submission.state is SubmissionState.LANDED
        and bool(submission.checks)
        and all(
            line.state in _PASSED and line.receipt in sound
            for line in submission.checks
        )
    )


def _row(
    record: TaskRecord,
    known: Mapping[str, Submission],
    proven: Collection[str],
    counted: Mapping[str, frozenset[str]],
) -> Row | str:
    """Return the row of a task, or why it has none."""
    first = next((each for each in record.attempts if each.memory.rate > 0), None)
    if first is None:
        return NO_COIN
    landed = _landed(record, known, proven)
    if landed is None and not record.settled:
        return OPEN
    whole = record.attempts
    went = whole if landed is None else whole[: whole.index(landed) + 1]
    tries = [each for each in went if each.outcome not in _NO_TRY]
    if not tries:
        return UNTRIED
    if tries[0].number < first.number:
        return BEGUN
    if any(each.way is Way.ALL for each in first.memory.received):
        return TENDS
    told = first.memory
    items = counted.get(first.target, frozenset()) | frozenset(told.withheld)
    if not items:
        return EMPTY
    recalled, kept = toss(record.id, items, told.rate)
    if not _agree(told, frozenset(kept), recalled=recalled):
        return OTHER_COIN
    withheld = frozenset(kept)
    return Row(
        task=record.id,
        at=first.started,
        rate=told.rate,
        recalled=recalled,
        # Nothing is tossed for single items where recall is withheld.
        given=items - withheld if recalled else frozenset(),
        withheld=withheld,
        first_try=landed is not None and len(tries) == 1,
        retries=len(tries) - 1,
        tokens=_tokens(went),
        oid=record.oid,
    )


def _landed(
    record: TaskRecord, known: Mapping[str, Submission], proven: Collection[str]
) -> Attempt | None:
    """Return the first attempt whose work landed by receipts; None if none did.

    What came after it was asked for anew.
    """
    for attempt in record.attempts:
        submission = submission_of(record, attempt, known)
        if submission is not None and submission.id in proven:
            return attempt
    return None


def _agree(told: Exposure, kept: frozenset[str], *, recalled: bool) -> bool:
    by_coin = {each.slug for each in told.received if each.way in _BY_COIN}
    return (
        told.recalled == recalled
        and kept.issuperset(told.withheld)
        and kept.isdisjoint(by_coin)
    )


def _tokens(attempts: Iterable[Attempt]) -> int | None:
    some = [each for each in attempts if each.model or each.usage.requests]
    return sum(each.usage.tokens for each in some) if some else None
