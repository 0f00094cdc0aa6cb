"""Which outcomes somebody has taken note of, and which people were told of.

Newest commit of ``refs/gitagent/inbox``. It stays small: what came before ``until``
counts as acknowledged, what came before ``told_from`` counts as told, and only what
came later is named. A commit past the lander has a date that anybody can choose, so it
is told from others by name alone, for as long as it is found.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from gitagent.core import answering
from gitagent.core.distil import landing_of
from gitagent.core.question import Asker
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord, TaskState

KEPT: Final = 1000  # names; what is older than all of these counts as acknowledged
# An outcome is dated before it is recorded, so an older one can still come.
MARGIN: Final = timedelta(minutes=10)
FIRST: Final = timedelta(hours=24)  # before the record begins; what is older is history


class Kind(StrEnum):
    """What an outcome is about."""

    TASK = "task"  # settled
    SUBMISSION = "submission"  # settled
    QUESTION = "question"  # a task whose agent asks
    BUDGET = "budget"  # a task that may spend no more
    GUARD = "guard"  # a commit that came to the target past the lander


@dataclass(frozen=True, slots=True)
class Inbox:
    """What was acknowledged, and what was told."""

    until: str  # UTC; what settled before that is
    seen: tuple[str, ...] = ()  # marks of outcomes; see `Outcome`
    told_from: str = ""  # UTC; what came before that is told of no more; "": all
    told: tuple[str, ...] = ()  # marks
    oid: str = field(default="", compare=False)  # record commit this was read from


@dataclass(frozen=True, slots=True)
class Alarm:
    """A commit that came to the target past the lander."""

    id: str  # object id
    since: str = ""  # UTC; when it was committed, as it says itself; "": not known
    subject: str = ""
    author: str = ""  # "Name <email>"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one task or submission, or what waits for a person."""

    record: TaskRecord | Submission | Alarm
    # A task can settle and ask more than once, and each time is an outcome of its own.
    mark: str

    @property
    def id(self) -> str:
        """The id of the task or submission, or of the commit."""
        return self.record.id

    @property
    def since(self) -> str:
        """When it came about, UTC."""
        return self.record.since

    @property
    def kind(self) -> Kind:
        """What it is about."""
        match self.record:
            case Alarm():
                return Kind.GUARD
            case Submission():
                return Kind.SUBMISSION
            case TaskRecord(state=TaskState.QUESTION, card=card):
                budget = card is not None and card.asker is Asker.BUDGET
                return Kind.BUDGET if budget else Kind.QUESTION
            case _:
                return Kind.TASK

    @property
    def state(self) -> str:
        """What became of it."""
        return "direct" if isinstance(self.record, Alarm) else str(self.record.state)

    @property
    def title(self) -> str:
        """What people call it."""
        match self.record:
            case Alarm(subject=subject):
                return subject
            case TaskRecord(title=title, id=name):
                return title or name
            case Submission(branch=branch, tip=tip):
                return (branch or tip[:12]).removeprefix("refs/heads/")

    @property
    def reason(self) -> str | None:
        """Why, or who owes what: a sentence."""
        if not isinstance(self.record, Alarm):
            return self.record.reason
        author = self.record.author
        return f"It came to the target past the lander; its author is {author}."

    @property
    def has_card(self) -> bool:
        """Whether it has one.

        A task's own submission is told with the task. What goes well without anybody's
        asking is told by the memory's log.
        """
        match self.record:
            case Submission(task=task, remembers=remembers, state=state):
                return not task and not (remembers and state == "landed")
            case TaskRecord(id=name, state=TaskState.DONE):
                return landing_of(name) is None
            case _:
                return True


def outcomes(
    tasks: Iterable[TaskRecord],
    submissions: Iterable[Submission],
    alarms: Iterable[Alarm] = (),
    since: str = "",
) -> list[Outcome]:
    """Return the outcomes among some records, the newest first.

    Those that came before ``since`` are left out, alarms aside.
    """
    found = [
        Outcome(each, _mark(each))
        for each in tasks
        if each.since >= since and (each.settled or answering.asks(each))
    ]
    found += [
        Outcome(each, each.id)
        for each in submissions
        if each.since >= since and each.settled
    ]
    found += [Outcome(each, each.id) for each in alarms]
    return sorted(found, key=lambda each: (each.since, each.id), reverse=True)


def _mark(task: TaskRecord) -> str:
    if task.settled:
        return f"{task.id}@{task.since}"
    return f"{task.id}?{task.attempt}"  # one attempt asks once


def owed(box: Inbox, found: Iterable[Outcome]) -> list[Outcome]:
    """Return those that nobody has taken note of, in the order given."""
    seen = frozenset(box.seen)
    return [each for each in found if each.has_card and not _noted(box, seen, each)]


def _noted(box: Inbox, seen: frozenset[str], outcome: Outcome) -> bool:
    """Tell whether somebody has taken note of an outcome.

    Who has seen the submission of a task land knows what became of the task.
    """
    if outcome.mark in seen:
        return True
    match outcome.record:
        case Alarm(since=since):
            return not box.oid and since < box.until
        case TaskRecord(state=TaskState.LANDED, submission=submission):
            return outcome.since < box.until or submission in seen
        case _:
            return outcome.since < box.until


def acknowledge(
    box: Inbox, marks: Collection[str], found: Iterable[Outcome] = ()
) -> Inbox:
    """Return the inbox with more acknowledged; equal if all of that was before.

    ``found`` are all outcomes since ``box.until`` and all alarms; with them the record
    is kept small, without them it only grows.
    """
    if all(mark in box.seen for mark in marks):
        return box
    found = list(found)
    grown = replace(box, seen=tuple(sorted({*box.seen, *marks, *_history(box, found)})))
    later = [each for each in found if not _alarm(each) and each.since >= box.until]
    return (
        _compact(grown, later, {x.mark for x in found if _alarm(x)}) if later else grown
    )


def _alarm(outcome: Outcome) -> bool:
    return isinstance(outcome.record, Alarm)


def _history(box: Inbox, found: Iterable[Outcome]) -> set[str]:
    """Return the alarms that are older than a record that begins just now."""
    if box.oid:
        return set()
    return {each.mark for each in found if _alarm(each) and each.since < box.until}


def _compact(box: Inbox, later: list[Outcome], alarms: set[str]) -> Inbox:
    left = [each.since for each in owed(box, later)]
    newest = max(each.since for each in later)
    until = max(box.until, _minus(min(left, default=newest), MARGIN))
    known = {each.mark: each.since for each in later if each.mark in box.seen}
    seen = sorted(known, key=lambda mark: known[mark])
    if len(seen) > KEPT:
        seen = seen[-KEPT:]
        until = max(until, known[seen[0]])
    kept = [mark for mark in seen if known[mark] >= until]
    kept += [mark for mark in box.seen if mark in alarms]
    return replace(box, until=until, seen=tuple(sorted(kept)))


def begun(now: str) -> Inbox:
    """Return the inbox of a repository that has none yet; ``now`` is UTC."""
    return Inbox(_minus(now, FIRST))


def begin(now: str, found: Iterable[Outcome]) -> Inbox:
    """Return the first record of an inbox, in which what is history is no news."""
    box = begun(now)
    return replace(box, seen=tuple(sorted(_history(box, found))))


# Telling: at most once each.


def untold(box: Inbox, found: Iterable[Outcome], now: str) -> list[Outcome]:
    """Return what people are to be told of, the oldest first.

    Nothing is that is older than a day: whoever was away looks into the inbox.
    """
    if not box.told_from:
        return []
    since = max(box.told_from, _minus(now, FIRST))
    told = frozenset(box.told)
    return [
        each
        for each in reversed(list(found))
        if each.has_card
        and each.mark not in told
        and (_alarm(each) or each.since >= since)
    ]


def tell(box: Inbox, found: Iterable[Outcome], now: str) -> Inbox:
    """Return the inbox with all of ``found`` told; equal if all of it was before.

    ``found`` are all outcomes since ``box.told_from`` and all alarms. The first time
    nothing is told: telling begins.
    """
    found = [each for each in found if each.has_card]
    if box.told_from and not untold(box, found, now):
        return box
    dated = [each.since for each in found if not _alarm(each)]
    newest = max((since for since in dated if since <= now), default=now)
    since = max(box.told_from, _minus(newest, MARGIN)) if box.told_from else now
    marks = {each.mark for each in found if _alarm(each) or each.since >= since}
    return replace(box, told_from=since, told=tuple(sorted(marks)))


def _minus(stamp: str, span: timedelta) -> str:
    return f"{datetime.fromisoformat(stamp) - span:%Y-%m-%dT%H:%M:%SZ}"
