"""What landed on a target, and what attempts changed: read from its history alone.

A landing is told by its trailers and by the diff to what was there before it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from gitagent.core.episode import Episode, episodes
from gitagent.core.layout import LANDINGS, MEMORY, RECORD_FOLDERS
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.errors import GitError, UserError
from gitagent.files.message import trailers
from gitagent.git.objects import Commit, Objects
from gitagent.git.tree import walk_changes
from gitagent.host.clock import stamp

# Commits of the first-parent history that are looked at: a repository that has landed
# little can have a long one.
_LOOK: Final = 1000
_PATHS: Final = 50  # kept of one landing or attempt
_WALKED: Final = 5000  # paths of a diff; a larger one is told without paths
_KNOWN: Final = 5000  # diffs and landings that are remembered
_RECENT: Final = 200  # attempts whose paths are looked at
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

    None if a commit is not here any more, or more differ than are looked at.
    """
    found = _differ(objects, old, new)
    return () if found is None else tuple(path for path in found if _product(path))


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
        paths = _differ(objects, before, each.oid) or ()
        if pending:  # commits that landed one by one: the newest of them has the note
            pending[1].extend(paths)
            continue
        if _remembers(paths):
            continue
        landed = Landed(
            submission,
            each.oid,
            stamp(datetime.fromtimestamp(each.time, UTC)),
            each.message.strip().partition("\n")[0],
            said.get("Gitagent-Task", ""),
        )
        pending = landed, list(paths)
    if pending:
        yield _with_paths(*pending)


def _with_paths(landed: Landed, paths: Iterable[str]) -> Landed:
    own = sorted({path for path in paths if _product(path)})
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


def _differ(objects: Objects, old: str, new: str) -> tuple[str, ...] | None:
    try:
        before = objects.commit(old).tree if old else None
        trees = before, objects.commit(new).tree
        return tuple(each.path for each in walk_changes(objects, *trees, limit=_WALKED))
    except (GitError, UserError):
        return None


def _remembers(paths: Iterable[str]) -> bool:
    """Whether these are what the landing of a commit of the memory changes."""
    others = [path for path in paths if not path.startswith(LANDINGS)]
    return bool(others) and all(path.startswith(MEMORY) for path in others)


def _product(path: str) -> bool:
    return not path.startswith(RECORD_FOLDERS)
