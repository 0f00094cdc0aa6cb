"""Which outcomes somebody has taken note of, and which still lie in the inbox.

Newest commit of ``refs/gitagent/inbox``. It stays small: what settled before ``until``
counts as acknowledged, and only what came later is named.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord, TaskState

KEPT: Final = 1000  # names; what is older than all of these counts as acknowledged
# An outcome is dated before it is recorded, so an older one can still come.
MARGIN: Final = timedelta(minutes=10)
FIRST: Final = timedelta(hours=24)  # before the record begins; what is older is history


@dataclass(frozen=True, slots=True)
class Inbox:
    """What was acknowledged."""

    until: str  # UTC; what settled before that is
    seen: tuple[str, ...] = ()  # marks of outcomes; see `Outcome`
    oid: str = field(default="", compare=False)  # record commit this was read from


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one settled task or submission."""

    record: TaskRecord | Submission
    # A task can settle more than once, and each time is an outcome of its own.
    mark: str

    @property
    def id(self) -> str:
        """The id of the task or submission."""
        return self.record.id

    @property
    def since(self) -> str:
        """When it settled, UTC."""
        return self.record.since

    @property
    def told(self) -> bool:
        """Whether it has a card: a task's own submission is told with the task."""
        return not (isinstance(self.record, Submission) and self.record.task)


def outcomes(
    tasks: Iterable[TaskRecord], submissions: Iterable[Submission]
) -> list[Outcome]:
    """Return the outcomes among some records, the newest first."""
    found = [Outcome(t, f"{t.id}@{t.since}") for t in tasks if t.settled]
    found += [Outcome(each, each.id) for each in submissions if each.settled]
    return sorted(found, key=lambda each: (each.since, each.id), reverse=True)


def owed(box: Inbox, found: Iterable[Outcome]) -> list[Outcome]:
    """Return those that nobody has taken note of, in the order given."""
    seen = frozenset(box.seen)
    return [each for each in found if each.told and not _noted(box.until, seen, each)]


def _noted(until: str, seen: frozenset[str], outcome: Outcome) -> bool:
    """Tell whether somebody has taken note of an outcome.

    Who has seen the submission of a task land knows what became of the task.
    """
    if outcome.since < until or outcome.mark in seen:
        return True
    match outcome.record:
        case TaskRecord(state=TaskState.LANDED, submission=submission):
            return submission in seen
        case _:
            return False


def acknowledge(
    box: Inbox, marks: Collection[str], found: Iterable[Outcome] = ()
) -> Inbox:
    """Return the inbox with more acknowledged; equal if all of that was before.

    ``found`` are all outcomes since ``box.until``; with them the record is kept small,
    without them it only grows.
    """
    if all(mark in box.seen for mark in marks):
        return box
    grown = replace(box, seen=tuple(sorted({*box.seen, *marks})))
    later = [each for each in found if each.since >= box.until]
    return _compact(grown, later) if later else grown


def _compact(box: Inbox, later: list[Outcome]) -> Inbox:
    left = [each.since for each in owed(box, later)]
    newest = max(each.since for each in later)
    until = max(box.until, _minus(min(left, default=newest), MARGIN))
    known = {each.mark: each.since for each in later if each.mark in box.seen}
    seen = sorted(known, key=lambda mark: known[mark])
    if len(seen) > KEPT:
        seen = seen[-KEPT:]
        until = max(until, known[seen[0]])
    kept = sorted(mark for mark in seen if known[mark] >= until)
    return replace(box, until=until, seen=tuple(kept))


def begun(now: str) -> Inbox:
    """Return the inbox of a repository that has none yet; ``now`` is UTC."""
    return Inbox(_minus(now, FIRST))


def _minus(stamp: str, span: timedelta) -> str:
    return f"{datetime.fromisoformat(stamp) - span:%Y-%m-%dT%H:%M:%SZ}"
