"""What an attempt is told at its start: composed for it, and explained to people."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from gitagent.core import coin
from gitagent.core.layout import DONE
from gitagent.core.memory import Item, Mark, Marks, Status, said
from gitagent.core.settings import Changed, Memory, Settings
from gitagent.core.snapshot import Snapshot
from gitagent.core.submission import Submission
from gitagent.core.task import Refusal, TaskFile, TaskRecord
from gitagent.daemon.read import Reader
from gitagent.daemon.story import unknown
from gitagent.errors import UserError
from gitagent.files import taskfile
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.memory.brief import Brief, brief, paths_of
from gitagent.memory.landed import Past
from gitagent.memory.shelf import Shelf, Shelves

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Toss:
    """What the coin says of a task."""

    rate: float = 0.0
    recalled: bool = True
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """A brief, with what it does not tell and why."""

    brief: Brief
    shelf: Shelf
    toss: Toss
    left_out: tuple[tuple[str, str], ...]  # name, and a clause


def toss(task: str, shelf: Shelf, memory: Memory) -> Toss:
    """Return what the coin withholds from a task; from none, nothing."""
    if not task:
        return Toss()
    slugs = [each.slug for each in shelf.told(memory.changed)]
    recalled, withheld = coin.toss(task, slugs, memory.withhold)
    return Toss(memory.withhold, recalled, withheld)


def compose(
    objects: Objects,
    shelf: Shelf,
    past: Past,
    records: Iterable[TaskRecord],
    submissions: Iterable[Submission],
    memory: Memory,
    withheld: Collection[str] = _NONE,
    *,
    now: datetime,
    task: TaskFile | None = None,
    agent: str = "",
) -> Brief:
    """Return what an attempt at a task is told at its start; None: at no task.

    The attempts before at the same task are not in it: that is a handoff's.
    """
    own = task.id if task else ""
    return brief(
        shelf,
        past.landings(objects, shelf.commit),
        [e for e in past.episodes(objects, records, submissions) if e.task != own],
        memory,
        withheld,
        now=now,
        paths=paths_of(task) if task else (),
        agent=agent,
    )


def explained(repo: Repository, task: str = "") -> Explained:
    """Return what an attempt at a task would be told by now; "": at none.

    Raises:
        UserError: there is no such task, or its file cannot be used.
    """
    with repo.objects() as objects:
        snapshot = Reader(repo).read(objects, audit=False)
        assert snapshot.target.commit is not None  # noqa: S101 - it was read
        shelf = Shelves(repo).at(objects, snapshot.target.commit)
        settings = snapshot.settings or Settings()
        memory = settings.memory
        asked = _task(objects, snapshot, task) if task else None
        tossed = toss(task, shelf, memory)
        made = compose(
            objects,
            shelf,
            Past(),
            snapshot.records.values(),
            snapshot.submissions.values(),
            memory,
            tossed.withheld,
            now=clock.now(),
            task=asked,
            agent=(asked.agent or settings.worker.agent) if asked else "",
        )
    missing = tuple(_left_out(made, shelf, tossed, memory))
    return Explained(made, shelf, tossed, missing)


def _task(objects: Objects, snapshot: Snapshot, name: str) -> TaskFile:
    """Return a task's file, open or ended."""
    if found := snapshot.tasks.get(name):
        return found
    for refusal in snapshot.refused:
        if refusal.path.endswith(f"/{name}.md"):
            raise UserError(refusal.reason)
    if name in snapshot.finished and snapshot.target.commit:
        path = f"{DONE}{name}.md"
        entry = objects.path(snapshot.target.commit, path)
        if entry is not None:
            made = taskfile.parse(name, entry.oid, objects.blob(entry.oid), path)
            if not isinstance(made, Refusal):
                return made
            raise UserError(made.reason)
    raise unknown(name)


def _left_out(
    made: Brief, shelf: Shelf, tossed: Toss, memory: Memory
) -> Iterator[tuple[str, str]]:
    for name in (*made.left_out, *made.unsaid):
        yield name, "there is no room for it (memory.brief)"
    for slug in tossed.withheld:
        yield slug, "the coin withholds it from this task (memory.withhold)"
    told = {each.slug for each in shelf.told(memory.changed)}
    for slug, item in sorted(shelf.items.items()):
        if slug not in told:
            yield slug, _untold(item, shelf.marks.get(slug, ()), memory)
    for refusal in shelf.refused:
        yield refusal.path, refusal.reason.removeprefix(f"{refusal.path}: ")
    given = (each.slug for each in made.received)
    for slug in sorted(told.difference(given, made.left_out, tossed.withheld)):
        yield slug, _silent(shelf.items[slug], tossed, memory)


def _untold(item: Item, marks: Iterable[Mark], memory: Memory) -> str:
    if item.status in {Status.WITHDRAWN, Status.SUPERSEDED}:
        return f"it is {item.status}" + (f": {item.because}" if item.because else "")
    for mark in marks:
        if mark.mark is Marks.UNVERIFIED:
            return said(mark)
        if mark.mark is Marks.CHANGED and memory.changed is Changed.HIDE:
            return f"{said(mark)} (memory.changed)"
    return "it does not count"


def _silent(item: Item, tossed: Toss, memory: Memory) -> str:
    if not memory.brief:
        return "nothing is told at the start (memory.brief)"
    if not set(item.disputes).isdisjoint(tossed.withheld):
        return "the coin withholds what it is in dispute with"
    return "it names no source"
