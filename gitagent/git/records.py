"""Records: what happened, as a chain of commits under ``refs/gitagent``.

Each commit's tree holds the whole state as one JSON blob, whose name carries the
version of the format, and what was attached to this step by name. The first parent is
the record before; further parents keep alive what the record is about. A chain that
begins with such parents begins on a common empty root, so that ``git log
--first-parent`` is always the story and nothing else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from gitagent import __version__
from gitagent.errors import GitError, LostRace, UserError
from gitagent.files.message import record_message
from gitagent.files.record import NAME as RECORD
from gitagent.files.record import VERSION
from gitagent.git import refs
from gitagent.git.identity import OWN
from gitagent.git.objects import BLOB, Commit, Entry, Objects
from gitagent.git.repository import Repository
from gitagent.host import clock

_ANY_RECORD = re.compile(r"record-v(?P<version>\d+)\.json")
_RELEASE = re.compile(r"^Gitagent-Release: (?P<release>\S+)$", re.MULTILINE)
_PRUNED = "nonexistent object"


class NewerRecord(UserError):
    """A newer release wrote it."""


def read(objects: Objects, oid: str) -> bytes:
    """Return the JSON of the record at commit ``oid``.

    Raises:
        UserError: it is no record, or a newer release wrote it.
    """
    (data,) = objects.blobs_at([(oid, RECORD)])
    if data is None:
        raise _unreadable(objects, oid)
    return data


def read_all(objects: Objects, tips: Mapping[str, str]) -> dict[str, bytes | UserError]:
    """Return the JSON at each ref's record commit, or why it cannot be read."""
    found = objects.blobs_at((oid, RECORD) for oid in tips.values())
    return {
        ref: _unreadable(objects, oid, ref) if data is None else data
        for (ref, oid), data in zip(tips.items(), found, strict=True)
    }


def history(objects: Objects, oid: str) -> Iterator[Commit]:
    """Yield the commits of a chain, the newest first."""
    step: str | None = oid
    while step is not None:
        if objects.path(step, RECORD) is None:
            return
        commit = objects.commit(step)
        yield commit
        step = commit.parents[0] if commit.parents else None


@dataclass(frozen=True, slots=True)
class Append:
    """One record to add to the chain of ``ref``."""

    ref: str
    old: str | None  # commit that the ref is at; None begins a chain
    payload: bytes
    what: str  # what happened, in words
    kind: str
    # By name: content, or the id of a stored blob.
    attachments: Mapping[str, bytes | str] = field(default_factory=dict)
    parents: tuple[str, ...] = ()  # kept alive with the chain


@dataclass(frozen=True, slots=True)
class Records:
    """The writer of records of one repository."""

    repo: Repository
    fast: bool = False  # see Repository.objects

    def append(
        self,
        ref: str,
        old: str | None,
        payload: bytes,
        *,
        what: str,
        kind: str,
        attachments: Mapping[str, bytes | str] | None = None,
        parents: tuple[str, ...] = (),
        objects: Objects | None = None,
    ) -> str:
        """Add one record to the chain of ``ref`` and return its commit.

        The arguments are the fields of `Append`.

        Raises:
            LostRace: the ref is elsewhere; nothing happened.
            Busy: the ref stayed locked.
            GitError: the disk is full or not to be written; the ref did not move.
        """
        step = Append(ref, old, payload, what, kind, attachments or {}, parents)
        (made,) = self.append_many([step], objects)
        if isinstance(made, LostRace):
            raise made
        return made

    def append_many(
        self, steps: Sequence[Append], objects: Objects | None = None
    ) -> list[str | LostRace]:
        """Add a record to each of some chains, which costs little more than one.

        Returns, in order, its commit, or why it was not added; that stops no other.
        No two may be for one ref.

        Raises:
            Busy: a ref stayed locked. As with the next, some of them can be there.
            GitError: the disk is full or not to be written.
        """
        try:
            return self._append(steps, objects)
        except GitError as error:
            # A `gc --prune=now` took the new objects before a ref held them.
            if _PRUNED not in error.stderr:
                raise
        return self._append(steps, objects)

    def _append(
        self, steps: Sequence[Append], objects: Objects | None
    ) -> list[str | LostRace]:
        messages = [record_message(step.what, step.kind) for step in steps]
        with ExitStack() as stack:
            if objects is None:
                opened = self.repo.objects(fast=self.fast)
                objects = stack.enter_context(opened)
            with objects.together():
                pairs = zip(steps, messages, strict=True)
                new = [_write(objects, *each) for each in pairs]
        moves = [
            refs.RefUpdate(step.ref, commit, step.old)
            for step, commit in zip(steps, new, strict=True)
        ]
        subjects = [message.partition("\n")[0] for message in messages]
        lost = refs.update_each(self.repo.git, moves, subjects)
        return [race or commit for race, commit in zip(lost, new, strict=True)]


def _write(objects: Objects, step: Append, message: str) -> str:
    if RECORD in step.attachments:
        raise ValueError(f"{RECORD} is the record itself")
    contents = {RECORD: step.payload, **step.attachments}
    tree = objects.write_tree(
        Entry(name, BLOB, x if isinstance(x, str) else objects.write_blob(x))
        for name, x in contents.items()
    )
    before = step.old
    if before is None and step.parents:
        before = _root(objects)
    chain = () if before is None else (before,)
    who = replace(OWN, when=int(clock.now().timestamp()))
    return objects.write_commit(tree, (*chain, *step.parents), message, who, who)


def _root(objects: Objects) -> str:
    """Return the commit below the first record; always the same one."""
    tree = objects.write_tree(())
    message = "Begin\n\nGitagent-Record: root\n"
    return objects.write_commit(tree, (), message, OWN, OWN)


def _unreadable(objects: Objects, oid: str, ref: str = "") -> UserError:
    name = ref or oid
    try:
        commit = objects.commit(oid)
        matches = [
            _ANY_RECORD.fullmatch(entry.name) for entry in objects.tree(commit.tree)
        ]
    except GitError:
        return UserError(f"{name} holds no record of gitagent")
    newer = any(match and int(match["version"]) > VERSION for match in matches)
    if not newer:
        return UserError(f"{name} holds no record of gitagent")
    release = _RELEASE.search(commit.message)
    wrote = f"gitagent {release['release']}" if release else "a newer gitagent"
    return NewerRecord(
        f"{name} was written by {wrote}, this is {__version__}",
        "install that release or a newer one",
    )
