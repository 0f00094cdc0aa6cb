"""Tells people of each outcome, question and alarm at most once.

That they were told is recorded before they are, by compare-and-swap: a daemon that dies
in between has told nobody, and the outcome is in the inbox all the same. Nothing is
read or written for it unless the settings name somebody to be told.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gitagent.core import answering, inbox
from gitagent.core.inbox import Alarm, Inbox, Outcome
from gitagent.core.layout import INBOX
from gitagent.core.settings import Guard
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.daemon import inbox as box_of
from gitagent.daemon import notify
from gitagent.daemon.findings import findings
from gitagent.daemon.notify import Event, Sender
from gitagent.daemon.overview import alarms, read_inbox
from gitagent.daemon.report import question
from gitagent.errors import GitagentError, LostRace
from gitagent.files import clean
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.failpoint import failpoint
from gitagent.host.log import log

CLOSE_S: Final = 5.0  # for what was recorded as told to be delivered at the end
_TEXT: Final = 2000  # characters


@dataclass(slots=True)
class Teller:
    """What one loop tells people."""

    repo: Repository
    sender: Sender = field(default_factory=Sender)
    _box: Inbox | None = None
    _past: frozenset[str] | None = None  # commits past the lander, of the last turn
    _problem: str = ""

    def turn(self, objects: Objects, snapshot: Snapshot, now: Moment) -> None:
        """Tell what is new in a snapshot; whatever goes wrong is put off."""
        self._log_alarms(snapshot)
        settings = snapshot.settings
        if settings is None or not notify.wanted(settings.notify):
            return
        try:
            fresh = self._record(objects, snapshot, now)
            for event in map(self._event, self._described(fresh)):
                self.sender.send(settings.notify, event)
        except LostRace:
            self._box = None  # somebody acknowledged something; the next turn is soon
        except GitagentError as error:
            if error.line() != self._problem:
                self._problem = error.line()
                log("notify", f"nobody is told: {self._problem}")

    def close(self) -> None:
        """Let what was recorded as told go out, for a few seconds."""
        self.sender.close(CLOSE_S)

    def _record(
        self, objects: Objects, snapshot: Snapshot, now: Moment
    ) -> list[Outcome]:
        """Return what is to be told, once it is recorded as told."""
        box = self._read(objects)
        found = inbox.outcomes(
            snapshot.records.values(),
            snapshot.submissions.values(),
            [Alarm(each) for each in _alarming(snapshot)],
            since=box.told_from or now.stamp,
        )
        fresh = inbox.untold(box, found, now.stamp)
        new = inbox.tell(box, found, now.stamp)
        if new != box:
            self._box = box_of.write_told(self.repo, new, [x.id for x in fresh])
            if fresh:
                failpoint("outcome-told")
        self._problem = ""
        return fresh

    def _read(self, objects: Objects) -> Inbox:
        oid = objects.ref(INBOX)
        if oid is None:
            box_of.begin(self.repo, objects)
        if self._box is None or self._box.oid != oid:
            self._box = read_inbox(objects)
        return self._box

    def _described(self, fresh: list[Outcome]) -> Iterable[Outcome]:
        """Return the outcomes with what is known of the commits among them."""
        past = tuple(x.id for x in fresh if isinstance(x.record, Alarm))
        known = {x.id: x for x in alarms(findings(self.repo, past, {}), "")}
        for each in fresh:
            yield Outcome(known.get(each.id, each.record), each.mark)

    def _log_alarms(self, snapshot: Snapshot) -> None:
        """Say on the daemon's own log what came past the lander while it ran."""
        past = frozenset(_alarming(snapshot))
        for commit in sorted(past - (past if self._past is None else self._past)):
            log("guard", f"{commit[:12]} came to the target past the lander")
        self._past = past

    def _event(self, outcome: Outcome) -> Event:
        record = outcome.record
        asks = isinstance(record, TaskRecord) and answering.asks(record)
        card = question(record) if isinstance(record, TaskRecord) and asks else None
        return Event(
            id=outcome.id,
            kind=str(outcome.kind),
            state=outcome.state,
            since=outcome.since or None,
            title=outcome.title,
            reason=outcome.reason,
            text=clean.sentence(_text(outcome), _TEXT),
            repository=str(self.repo.worktree or self.repo.common_dir),
            questions=tuple(card["questions"]) if card else (),
            answer=card["answer"] if card else None,
            commit=_commit(record),
        )


def _text(outcome: Outcome) -> str:
    about = f" ({outcome.title})" if outcome.title != outcome.id else ""
    text = f"{outcome.state}: {outcome.id}{about}: {outcome.reason or ''}"
    match outcome.record:
        case TaskRecord() as task if answering.asks(task):
            return f"{text} It asks: {answering.spoken(task)}"
        case _:
            return text.removesuffix(": ")


def _commit(record: TaskRecord | Submission | Alarm) -> str | None:
    match record:
        case Alarm(id=commit) | Submission(commit=commit):
            return commit
        case _:
            return None


def _alarming(snapshot: Snapshot) -> tuple[str, ...]:
    settings = snapshot.settings
    off = settings is not None and settings.lander.guard is Guard.OFF
    return () if off else snapshot.target.direct
