"""The record of one conversation: a chain of commits, one an entry.

It is written before what it tells is shown or acted on. Whoever leads a conversation is
its only writer; a second one loses the race for the next entry, and stops.
"""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from gitagent.core.conversation import CallState, Entry, Kind, Origin
from gitagent.core.layout import CONVERSATIONS
from gitagent.errors import GitagentError, LostRace, UserError
from gitagent.files import clean, record
from gitagent.git import loose, records, refs
from gitagent.git.objects import Objects
from gitagent.git.records import Records
from gitagent.git.repository import Repository
from gitagent.host import clock

_KIND: Final = "conversation"
_TOOL = 100  # characters of a name that a model may have made up
_SUBJECT = 100  # characters of what a line of the story quotes

# What one process may add, so that no model and nobody in its sandbox fills the disk;
# and of that in the entries themselves, which are held in memory.
MOST: Final = 2**30
HELD: Final = 2**27
_LEAST: Final = 3 * 4096  # bytes of a commit, its tree and its record on the disk

_BODY = 2000  # characters of a text that stand in the message; the record has them all


class Conversation:
    """One conversation, led by this process; for any thread."""

    def __init__(
        self, repo: Repository, name: str, entries: tuple[Entry, ...], tip: str | None
    ) -> None:
        """See `open`."""
        self.name = name
        self.entries = entries  # oldest first
        self.tip = tip
        self._repo = repo
        self._records = Records(repo)
        self._sha256 = repo.object_format != "sha1"
        self._lock = threading.Lock()
        self._broken: GitagentError | None = None
        self._size = self._held = 0  # bytes that were added

    @classmethod
    def open(
        cls, repo: Repository, name: str, *, at: str | None = None
    ) -> "Conversation":
        """Return the conversation ``name``, with what was said before.

        ``at`` is a record commit of any conversation, at which a new one begins.

        Raises:
            UserError: there is one already, or a record cannot be read.
            GitError: the repository cannot be read or written.
        """
        ref = CONVERSATIONS + name
        with repo.objects() as objects:
            tip = at or objects.ref(ref)
            entries = _entries(objects, tip) if tip else []
        if at:
            try:
                refs.update(repo.git, [refs.RefUpdate(ref, at, None)], "fork")
            except LostRace:
                raise UserError(f"there is a conversation {name} already") from None
        return cls(repo, name, tuple(entries), tip)

    @property
    def repo(self) -> Repository:
        """The repository that it is recorded in."""
        return self._repo

    @property
    def full(self) -> bool:
        """Whether it has grown so much that nothing more is begun in it."""
        return self._size > MOST or self._held > HELD

    def append(
        self, entry: Entry, attachments: Mapping[str, bytes] | None = None
    ) -> Entry:
        """Add an entry; it is durable on return, with its number, time and commit.

        ``attachments`` are by the field of the entry that names their blob.

        Raises:
            GitagentError: somebody else leads this conversation, or it cannot be
                written. Then nothing can be added any more: what is on disk is known
                only to who reads it anew. Or it is full; then it can still be told how
                a call and the conversation ended.
        """
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if self.full and entry.kind not in {Kind.RESULT, Kind.END}:
                size = max(self._size, self._held) >> 20
                raise UserError(
                    f"the record of the conversation {self.name} has grown by {size} "
                    "MiB, and it is full"
                )
            made = self._prepared(entry, attachments or {})
            payload = record.dump_entry(made)
            self._held += len(payload)
            self._size += _LEAST + len(payload)
            self._size += sum(map(len, (attachments or {}).values()))
            try:
                oid = self._records.append(
                    CONVERSATIONS + self.name,
                    self.tip,
                    payload,
                    what=_words(made),
                    kind=_KIND,
                    attachments=attachments,
                )
            except LostRace:
                self._broken = UserError(
                    f"the conversation {self.name} is led by another process",
                    "wait until that one has ended",
                )
                raise self._broken from None
            except GitagentError as error:
                self._broken = error
                raise
            made = replace(made, oid=oid)
            self.tip = oid
            self.entries = (*self.entries, made)
            return made

    def blob(self, oid: str) -> bytes:
        """Return an attachment. Raises GitError."""
        with self._repo.objects() as objects:
            return objects.blob(oid)

    def name_of(self, data: bytes) -> str:
        """Return the id that a blob of these bytes has."""
        return loose.name("blob", data, sha256=self._sha256)

    def _prepared(self, entry: Entry, attachments: Mapping[str, bytes]) -> Entry:
        named: dict[str, Any] = {
            name: self.name_of(data) for name, data in attachments.items()
        }
        last = self.entries[-1].number if self.entries else 0
        return replace(
            entry,
            number=last + 1,
            at=clock.stamp(),
            text=_text(entry),
            what=clean.visible(entry.what),
            tool=clean.sentence(entry.tool, _TOOL),
            **named,
        )


def _text(entry: Entry) -> str:
    """Return a text as it is recorded: what binds as it was said, byte for byte."""
    if entry.binding:
        return entry.text.encode("utf-8", "replace").decode()
    return clean.visible(entry.text)


def read(objects: Objects, name: str) -> list[Entry]:
    """Return the entries of a conversation, oldest first; none if there is none.

    Raises:
        UserError: a record cannot be read.
    """
    tip = objects.ref(CONVERSATIONS + name)
    return _entries(objects, tip) if tip else []


def _entries(objects: Objects, tip: str) -> list[Entry]:
    chain = [commit.oid for commit in records.history(objects, tip)]
    chain.reverse()
    found = objects.blobs_at((oid, record.NAME) for oid in chain)
    made = []
    for oid, data in zip(chain, found, strict=True):
        entry = record.load_entry(data or records.read(objects, oid), oid)
        made.append(entry)
    if not made:
        raise UserError(f"{tip} is no record of a conversation")
    return made


_WHO = {
    Origin.GITAGENT: "gitagent",
    Origin.PERSON: "a person",
    Origin.TASK: "the task",
    Origin.MODEL: "the model",
    Origin.WORKTREE: "the worktree",
    Origin.WEB: "the web",
    Origin.MCP: "an MCP server",
}

_HOW = {
    CallState.DONE: "done",
    CallState.FAILED: "failed",
    CallState.DENIED: "denied",
    CallState.NEEDS_DECISION: "needs a decision",
    CallState.INTERRUPTED: "interrupted",
    CallState.UNCERTAIN: "uncertain whether it was done",
}


def _words(entry: Entry) -> str:
    """Return the message of an entry's commit: a line of the story, and its text.

    Set in, so that no line of the text is a trailer of ours or of anybody.
    """
    text = entry.text if len(entry.text) <= _BODY else entry.text[:_BODY] + "\n[…]"
    text = clean.visible(text)
    lines = [f"  {line}".rstrip() for line in text.strip("\n").split("\n")]
    subject = clean.sentence(_line(entry), _SUBJECT)
    with suppress(ValueError):  # a text of one line is told already
        if entry.text and entry.text.strip() == subject[subject.index(": ") + 2 :]:
            return subject
    return "\n".join([subject, "", *lines])


def _line(entry: Entry) -> str:
    match entry.kind:
        case Kind.BEGIN:
            may = ", ".join(entry.may) or "read"
            plan = f" ({entry.profile})" if entry.profile else ""
            return f"Attempt {entry.attempt} begins{plan}; may {may}"
        case Kind.INPUT:
            return f"From {_WHO[entry.origin]}: {entry.text or entry.what}"
        case Kind.SAY:
            tools = ", ".join(call.tool for call in entry.calls)
            calls = f" calls {tools}" if tools else ""
            return f"Model{calls}: {entry.text}" if entry.text else f"Model{calls}"
        case Kind.INTENT:
            return f"Call {entry.tool}: {entry.what}"
        case Kind.RESULT:
            state = _HOW[entry.state] if entry.state else "ended"
            what = f": {entry.what}" if entry.what else ""
            return f"{entry.tool} {state} after {entry.seconds:.1f} s{what}"
        case Kind.SUMMARY:
            return f"Sums up entries {entry.first} to {entry.last}"
        case Kind.REWIND:
            return f"Back to entry {entry.last}"
        case Kind.END:
            return f"Ends {entry.ended}" + (f": {entry.text}" if entry.text else "")
