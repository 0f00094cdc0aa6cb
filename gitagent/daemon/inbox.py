"""The inbox: outcomes and questions that nobody has acknowledged, and how they are.

Who waited for an outcome has seen it, and it is acknowledged for them.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from gitagent.core import inbox
from gitagent.core.inbox import Alarm, Inbox, Outcome
from gitagent.core.layout import INBOX, SUBMISSIONS, TASK_RECORDS
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.daemon import overview
from gitagent.errors import GitagentError, LostRace, UserError
from gitagent.files import record
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.git.records import Records
from gitagent.git.repository import Repository
from gitagent.host import clock

_TRIES: Final = 10
_LONG: Final = 50  # names, from which on a record is made small again
_SHORT: Final = 7  # characters of an object id
_EVER: Final = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Card:
    """One outcome as people see it."""

    outcome: Outcome
    acknowledged: bool
    submission: Submission | None  # that a task's outcome came of


def cards(repo: Repository, *, everything: bool = False) -> tuple[Inbox, list[Card]]:
    """Return the inbox and a card for each outcome in it, the newest first.

    ``everything``: those that were acknowledged too.

    Raises:
        UserError: the record of the inbox cannot be read.
    """
    with repo.objects(fast=True) as objects:
        box = overview.read_inbox(objects)
        since = _EVER if everything else box.until
        found = overview.outcomes(repo, objects, since)
    unseen = {each.mark for each in inbox.owed(box, found)}
    submissions = {
        each.id: each.record for each in found if isinstance(each.record, Submission)
    }
    return box, [
        Card(each, each.mark not in unseen, _behind(each, submissions))
        for each in found
        if each.has_card and (everything or each.mark in unseen)
    ]


def _behind(outcome: Outcome, submissions: dict[str, Submission]) -> Submission | None:
    match outcome.record:
        case TaskRecord(submission=str(name)):
            return submissions.get(name)
        case _:
            return None


def acknowledge(repo: Repository, names: Collection[str] | None) -> list[str]:
    """Acknowledge the outcomes of tasks and submissions; None: all there are.

    Returns the ids that had not been acknowledged before. All or none of it is done.

    Raises:
        UserError: there is no such task or submission, or it is not settled.
        LostRace: others acknowledge all the time.
    """
    with repo.objects(fast=True) as objects:
        for _ in range(_TRIES):
            box = overview.read_inbox(objects)
            found = overview.outcomes(repo, objects, box.until)
            wanted = inbox.owed(box, found)
            if names is not None:
                known = {each.id for each in found}
                for name in names:
                    if name not in known and not _alarms_of(found, [name]):
                        _require_settled(repo, objects, name)
                ids = set(names) | _tasks_of(found, names) | _alarms_of(found, names)
                wanted = [each for each in wanted if each.id in ids]
            if not wanted:
                return []
            marks = {each.mark for each in wanted}
            new = inbox.acknowledge(box, marks, found)
            with suppress(LostRace):
                _write(repo, box, new, [each.id for each in wanted])
                return [each.id for each in wanted]
    raise LostRace("the inbox changes all the time; try again")


def _tasks_of(found: Iterable[Outcome], names: Collection[str]) -> set[str]:
    """Return the tasks whose outcome is that of a named submission."""
    return {
        each.id
        for each in found
        if isinstance(each.record, TaskRecord) and each.record.submission in names
    }


def _alarms_of(found: Iterable[Outcome], names: Collection[str]) -> set[str]:
    """Return the commits past the lander that are named by their first characters."""
    short = [name for name in names if len(name) >= _SHORT]
    return {
        each.id
        for each in found
        if isinstance(each.record, Alarm) and any(map(each.id.startswith, short))
    }


def seen(repo: Repository, submission: Submission) -> None:
    """Acknowledge a settled submission for who waited for it; it harms nothing.

    A task that landed by it is acknowledged with it.
    """
    if not submission.settled:
        return
    with suppress(GitagentError), repo.objects(fast=True) as objects:
        for _ in range(_TRIES):
            box = overview.read_inbox(objects)
            if submission.since < box.until:
                return
            whole = len(box.seen) >= _LONG or not box.oid
            found = overview.outcomes(repo, objects, box.until) if whole else ()
            new = inbox.acknowledge(box, {submission.id}, found)
            if new == box:
                return
            with suppress(LostRace):
                _write(repo, box, new, [submission.id])
                return


def begin(repo: Repository, objects: Objects) -> None:
    """Begin the inbox of a repository, so that what settles from now on stays in it."""
    with suppress(GitagentError):
        if objects.ref(INBOX) is None:
            found = overview.outcomes(repo, objects, _EVER)
            _append(repo, inbox.begin(clock.stamp(), found), "the inbox begins")


def write_told(repo: Repository, box: Inbox, names: list[str]) -> Inbox:
    """Record that people were told, before they are; return it as stored.

    Raises:
        LostRace: somebody changed the inbox meanwhile.
    """
    what = f"told: {_some(names)}" if names else "telling begins"
    return replace(box, oid=_append(repo, box, what))


def _write(repo: Repository, old: Inbox, new: Inbox, names: list[str]) -> None:
    _append(repo, replace(new, oid=old.oid), f"acknowledged: {_some(names)}")


def _some(names: list[str]) -> str:
    first = ", ".join(sorted(names)[:3])
    return f"{first} and {len(names) - 3} more" if len(names) > 3 else first


def _append(repo: Repository, box: Inbox, what: str) -> str:
    return Records(repo, fast=True).append(
        INBOX, box.oid or None, record.dump_inbox(box), what=what, kind="inbox"
    )


def _require_settled(repo: Repository, objects: Objects, name: str) -> None:
    """Raise UserError unless it is an outcome that was acknowledged long ago."""
    archived = Archived()
    for prefix in (TASK_RECORDS, SUBMISSIONS):
        with suppress(GitagentError):
            if archived.record(objects, prefix + name):
                return
    old = {each.id for each in overview.outcomes(repo, objects, _EVER)}
    if name not in old:
        raise UserError(
            f'there is no outcome of "{name}" to acknowledge', "see: gitagent inbox"
        )
