"""What landed on a target, and what attempts changed: read from its history alone.

A landing is told by its trailers and by the diff to what was there before it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from gitagent.core.episode import Episode, episodes
from gitagent.core.layout import AGENT, MEMORY, RECORD_FOLDERS, TASKS
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.errors import GitError, UserError
from gitagent.files.message import trailers
from gitagent.git.objects import TREE, Commit, Entry, Objects
from gitagent.git.tree import walk_changes
from gitagent.host.clock import stamp

# Commits of the first-parent history that are looked at: a repository that has landed
# little can have a long one.
_LOOK: Final = 1000
_PATHS: Final = 50  # kept of one landing or attempt
_WALKED: Final = 5000  # paths of a diff; a larger one is told without paths
_KNOWN: Final = 5000  # diffs and landings that are remembered
_RECENT: Final = 200  # attempts whose paths are looked at
_AGENT: Final = AGENT.rstrip("/")
_TASKS: Final = TASKS.split("/")[1]
_MEMORY: Final = MEMORY.split("/")[1]
_TRAILER: Final = "Gitagent-Submission: "


@dataclass(frozen=True, slots=True)
class Landed:
    """One landing."""

    submission: str
    commit: str
    at: str  # UTC
    title: str
    task: str = ""
    paths: tuple[str, ...] = ()  # of the product that it changed, sorted; the first
    more: int = 0  # how many it changed beside these


class Past:
    """What landed and what attempts did; remembers by commit. For any thread."""

    def __init__(self) -> None:
        # Each entry follows from the object ids in its key: a race computes it twice.
        self._changed: dict[tuple[str, str], tuple[str, ...]] = {}
        self._newest: dict[tuple[str, int], tuple[Landed, ...]] = {}

    def landings(
        self, objects: Objects, commit: str, count: int = 10
    ) -> tuple[Landed, ...]:
        """Return the newest landings of ``commit``, newest first."""
        key = (commit, count)
        if key not in self._newest:
            self._newest = {key: newest(objects, commit, count)}
        return self._newest[key]

    def episodes(
        self,
        objects: Objects,
        records: Iterable[TaskRecord],
        submissions: Iterable[Submission],
    ) -> list[Episode]:
        """Return what happened in the attempts that have ended, newest first."""
        tasks = list(records)
        ended = [a for task in tasks for a in task.attempts if a.ended and a.tip]
        ended.sort(key=lambda attempt: attempt.ended, reverse=True)
        # The oldest last: a later attempt with the same tip has added nothing to it.
        paths = {
            attempt.tip: self._paths(objects, attempt.base, attempt.tip)
            for attempt in ended[:_RECENT]
        }
        return episodes(tasks, submissions, paths)

    def _paths(self, objects: Objects, base: str, tip: str) -> tuple[str, ...]:
        key = (base, tip)
        if key not in self._changed:
            if len(self._changed) >= _KNOWN:
                self._changed = {}
            self._changed[key] = changed(objects, base, tip)[:_PATHS]
        return self._changed[key]


def newest(objects: Objects, commit: str, count: int = 10) -> tuple[Landed, ...]:
    """Return the newest landings of ``commit``, newest first.

    One that changed nothing but the memory is none of these.
    """
    found: list[Landed] = []
    for each in _landings(objects, commit):
        if len(found) == count:
            break
        found.append(each)
    return tuple(found)


def changed(objects: Objects, old: str, new: str) -> tuple[str, ...]:
    """Return the paths of the product that differ between two commits, sorted.

    () if a commit is not here any more, or more differ than are looked at.
    """
    return _difference(objects, old, new).paths


def _landings(objects: Objects, commit: str) -> Iterator[Landed]:
    pending: tuple[Landed, list[str]] | None = None
    for each, before in _history(objects, commit):
        said = dict(trailers(each.message)) if _TRAILER in each.message else {}
        submission = said.get("Gitagent-Submission", "")
        if pending and pending[0].submission != submission:
            yield _with_paths(*pending)
            pending = None
        if not submission:
            continue
        difference = _difference(objects, before, each.oid)
        if pending:  # commits that landed one by one: the newest of them has the note
            pending[1].extend(difference.paths)
            continue
        if difference.records == {_MEMORY} and not difference.paths:
            continue
        landed = Landed(
            submission,
            each.oid,
            stamp(datetime.fromtimestamp(each.time, UTC)),
            each.message.strip().partition("\n")[0],
            said.get("Gitagent-Task", ""),
        )
        pending = landed, list(difference.paths)
    if pending:
        yield _with_paths(*pending)


def _with_paths(landed: Landed, paths: Iterable[str]) -> Landed:
    own = sorted(set(paths))
    return Landed(
        landed.submission,
        landed.commit,
        landed.at,
        landed.title,
        landed.task,
        tuple(own[:_PATHS]),
        max(0, len(own) - _PATHS),
    )


def _history(objects: Objects, commit: str) -> Iterator[tuple[Commit, str]]:
    """Yield commits along the first parents, each with the one before it or ""."""
    here = commit
    for _ in range(_LOOK):
        try:
            each = objects.commit(here)
        except GitError:  # a shallow clone ends somewhere
            return
        here = each.parents[0] if each.parents else ""
        yield each, here
        if not here:
            return


@dataclass(frozen=True, slots=True)
class _Difference:
    paths: tuple[str, ...] = ()  # of the product, sorted
    records: frozenset[str] = frozenset()  # folders of records, but for the notes


def _difference(objects: Objects, old: str, new: str) -> _Difference:
    """Return what differs between two commits; ``old`` "": nothing was before.

    The folders of records are not looked into: there can be thousands of notes.
    """
    try:
        before = objects.commit(old).tree if old else None
        after = objects.commit(new).tree
        paths = list(_differing(objects, before, after))
        agent = [_subtree(objects, tree, _AGENT) for tree in (before, after)]
        records = {
            name
            for name in (_TASKS, _MEMORY)
            if _subtree(objects, agent[0], name) != _subtree(objects, agent[1], name)
        }
    except (GitError, UserError):
        return _Difference()
    return _Difference(tuple(sorted(paths)), frozenset(records))


def _differing(
    objects: Objects, old: str | None, new: str | None, above: str = ""
) -> Iterator[str]:
    olds, news = _entries(objects, old), _entries(objects, new)
    for name in olds.keys() | news.keys():
        one, other = olds.get(name), news.get(name)
        path = f"{above}{name}"
        if one == other or f"{path}/" in RECORD_FOLDERS:
            continue
        trees = _tree_of(one), _tree_of(other)
        if path == _AGENT:
            yield from _differing(objects, *trees, f"{path}/")
        elif trees != (None, None):
            found = walk_changes(objects, *trees, limit=_WALKED)
            yield from (f"{path}/{each.path}" for each in found)
        if any(each is not None and each.mode != TREE for each in (one, other)):
            yield path


def _entries(objects: Objects, tree: str | None) -> dict[str, Entry]:
    return {} if tree is None else {each.name: each for each in objects.tree(tree)}


def _subtree(objects: Objects, tree: str | None, name: str) -> str | None:
    return _tree_of(_entries(objects, tree).get(name))


def _tree_of(entry: Entry | None) -> str | None:
    return entry.oid if entry is not None and entry.mode == TREE else None
