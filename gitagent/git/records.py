"""Records: what happened, as a chain of commits under ``refs/gitagent``.

Each commit's tree holds the whole state as one JSON blob, whose name carries the
version of the format, and what was attached to this step by name. The first parent is
the record before; further parents keep alive what the record is about. A chain that
begins with such parents begins on a common empty root, so that ``git log
--first-parent`` is always the story and nothing else.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gitagent import __version__
from gitagent.errors import GitError, UserError
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

        ``old`` is the commit that the ref is at, None to begin a chain. ``what`` says
        in words what happened. An attachment is content, or the id of a stored blob.

        Raises:
            LostRace: the ref is elsewhere; nothing happened.
            Busy: the ref stayed locked.
            GitError: the disk is full or not to be written; the ref did not move.
        """
        if RECORD in (attachments or {}):
            raise ValueError(f"{RECORD} is the record itself")
        contents = {RECORD: payload, **(attachments or {})}
        step = _Step(record_message(what, kind), contents, old, parents)
        try:
            return self._append(ref, step, objects)
        except GitError as error:
            # A `gc --prune=now` took the new objects before a ref held them.
            if _PRUNED not in error.stderr:
                raise
        return self._append(ref, step, objects)

    def _append(self, ref: str, step: "_Step", objects: Objects | None) -> str:
        if objects is None:
            with self.repo.objects(fast=self.fast) as opened:
                new = step.write(opened)
        else:
            new = step.write(objects)
        move = refs.RefUpdate(ref, new, step.old)
        refs.update(self.repo.git, [move], step.message.partition("\n")[0])
        return new


@dataclass(frozen=True, slots=True)
class _Step:
    message: str
    contents: Mapping[str, bytes | str]  # by name: content, or a stored blob
    old: str | None
    parents: tuple[str, ...]

    def write(self, objects: Objects) -> str:
        tree = objects.write_tree(
            Entry(name, BLOB, x if isinstance(x, str) else objects.write_blob(x))
            for name, x in self.contents.items()
        )
        before = self.old
        if before is None and self.parents:
            before = _root(objects)
        chain = () if before is None else (before,)
        who = replace(OWN, when=int(clock.now().timestamp()))
        parents = (*chain, *self.parents)
        return objects.write_commit(tree, parents, self.message, who, who)


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
    return UserError(
        f"{name} was written by {wrote}, this is {__version__}",
        "install that release or a newer one",
    )
