"""The teacher: what attempts and chats are told of the memory, and what they ask of it.

Whatever is told is so at the commit that the target has by then. Trouble never stops an
attempt: it is a note in the log, and the reason why nothing was told.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from gitagent.core.agent import SHELL, Agent
from gitagent.core.chats import PREFIX
from gitagent.core.distil import KIND, landing_of
from gitagent.core.exposure import (
    Delivery,
    Exposure,
    Received,
    Told,
    Way,
    cut,
    producer,
)
from gitagent.core.remembering import Operation
from gitagent.core.settings import Settings
from gitagent.core.task import Attempt, TaskFile
from gitagent.daemon import briefing, crash, distilling, entry, handing, lookup
from gitagent.daemon.searching import Opened, Searching
from gitagent.daemon.target import SettingsInForce
from gitagent.daemon.weighing import Weighing
from gitagent.errors import GitagentError, UserError
from gitagent.files import proposed
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.host.log import log
from gitagent.memory import ledger, search
from gitagent.memory.brief import Brief, brief, paths_of
from gitagent.memory.landed import Past
from gitagent.memory.recall import EMPTY, OFF, Recall, recall
from gitagent.memory.shelf import Shelf, Shelves

BEGIN_S: Final = 4.0  # that an attempt waits for it
_OPEN_S: Final = 1.0  # of it, for the index
_SEARCH_S: Final = 3.0
_QUERY: Final = 2000  # characters
_KNOWN: Final = 2000  # items that a conversation may have been given
_HITS: Final = 8
_TENDS: Final = "It is told all items."

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Here:
    """What an answer is given by."""

    objects: Objects
    commit: str
    settings: Settings
    shelf: Shelf


class Teacher:
    """One of a daemon, for any thread. See `worker.order.Teacher`."""

    def __init__(
        self, repo: Repository, shelves: Shelves, searching: Searching, past: Past
    ) -> None:
        self._repo = repo
        self._shelves = shelves
        self._searching = searching
        self._past = past
        self._lock = threading.Lock()  # of the settings
        self._settings = SettingsInForce()
        self._ops: Mapping[str, Callable[[_Here, str, Mapping[str, Any]], Answer]] = {
            "search": self._search,
            "show": self._show,
            "recall": self._recall,
            "corrections": self._corrections,
            "propose": self._propose,
        }

    def begin(
        self, task: TaskFile, agent: Agent, attempt: Attempt, target: str
    ) -> Delivery:
        """Return what an attempt is told at its start."""
        if agent.backend == SHELL.backend:
            return Delivery()
        made = _within(BEGIN_S, lambda: self._begin(task, agent, attempt, target))
        if isinstance(made, Delivery):
            return made
        log(task.id, f"nothing of the memory is told: {made}")
        return Delivery(exposure=Exposure(skipped=made))

    def asked(
        self, name: str, agent: Agent, op: str, given: Mapping[str, Any]
    ) -> Answer:
        """Return the answer to what an agent asks while it works."""
        del agent
        made = self._ops.get(op)
        if made is None:
            return {"error": "There is no such thing to be asked of the memory."}
        try:
            with self._here() as here:
                return made(here, name, given)
        except GitagentError as error:
            return {"error": _sentence(error.line())}
        except Exception as error:  # noqa: BLE001 - of ours; it ends one answer
            return {"error": _sentence(crash.report(error, lambda: self._repo))}

    def _begin(
        self, task: TaskFile, agent: Agent, attempt: Attempt, target: str
    ) -> Delivery:
        with self._here(target) as here:
            landing = landing_of(task.id) if task.kind == KIND else None
            if landing:
                return self._all(here, landing)
            memory, paths = here.settings.memory, paths_of(task)
            toss = briefing.toss(task.id, here.shelf, memory)
            episodes = self._searching.episodes(here.objects)
            made = brief(
                here.shelf,
                self._past.landings(here.objects, here.commit),
                [each for each in episodes if each.task != task.id],
                memory,
                toss.withheld,
                now=clock.now(),
                paths=paths,
                agent=agent.name,
            )
            text = f"{task.title}\n{task.text}"
            near = self._near(here, text, paths, toss, _SEARCH_S - _OPEN_S)
            handoff = self._handoff(here, task.id, attempt.number)
        return Delivery(
            (*_brief(made, here.shelf), *_recalled(near)),
            Exposure(
                received=(*made.received, *near.received),
                rate=toss.rate,
                withheld=toss.withheld,
                recalled=toss.recalled,
                skipped=near.skipped,
                left_out=made.left_out,
            ),
            handoff,
        )

    def _all(self, here: _Here, landing: str) -> Delivery:
        """Tell who tends the memory all of it."""
        told = distilling.material(self._repo, here.objects, here.shelf, landing)
        given = (Received(each.slug, each.blob, Way.ALL) for each in here.shelf.told())
        return Delivery(told, Exposure(tuple(given), skipped=_TENDS))

    def _handoff(self, here: _Here, task: str, number: int) -> str:
        """Return where the work of earlier attempts stands; "": there were none."""
        record = ledger.task(here.objects, task)
        if record is None:
            return ""
        before = tuple(each for each in record.attempts if each.number < number)
        # What it ended with is told by itself, as the newest thing.
        record = replace(record, attempts=before, feedback="")
        submission = None
        if record.submission:
            submission = ledger.submission(here.objects, record.submission)
        if submission is not None:
            submission = replace(submission, output="")
        return handing.text(here.objects, record, submission, here.shelf)

    def _near(
        self,
        here: _Here,
        text: str,
        paths: tuple[str, ...],
        toss: briefing.Toss,
        seconds: float,
        lately: Iterable[str] = (),
    ) -> Recall:
        memory = here.settings.memory
        if not here.shelf.told(memory.changed):
            return Recall(skipped=EMPTY)
        opened = self._opened(here)
        return recall(
            opened.index,
            here.shelf,
            text,
            paths,
            memory,
            frozenset(lately),
            seconds,
            withheld=toss.withheld,
            tossed=toss.recalled,
        )

    def _opened(self, here: _Here) -> Opened:
        return self._searching.open(
            here.objects, here.commit, here.settings, seconds=_OPEN_S
        )

    @contextmanager
    def _here(self, target: str = "") -> Iterator[_Here]:
        """Yield what the target has now; ``target`` is its commit if it has gone."""
        with self._repo.objects() as objects:
            try:
                _, commit = entry.find_target(self._repo, objects)
            except UserError:
                if not target:
                    raise
                commit = target
            with self._lock:
                settings, _, problem = self._settings.at(objects, commit)
            if settings is None:
                raise UserError(problem or "the target has no settings")
            shelf = self._shelves.at(objects, commit)
            yield _Here(objects, commit, settings, shelf)

    def _toss(self, here: _Here, name: str) -> briefing.Toss:
        """Return what the coin keeps from a task; from a chat, nothing."""
        task = "" if name.startswith(PREFIX) else name
        return briefing.toss(task, here.shelf, here.settings.memory)

    def _search(self, here: _Here, name: str, given: Mapping[str, Any]) -> Answer:
        query = _text(given, "query")[:_QUERY].strip()
        if not query:
            raise UserError("there is nothing to look for")
        withheld = self._toss(here, name).withheld
        opened = self._opened(here)
        hits = opened.index.search(
            query, most=_HITS + len(withheld), seconds=_SEARCH_S - _OPEN_S
        )
        kept = [e for e in hits if e.kind != search.ITEM or e.name not in withheld]
        text, items = lookup.found(kept[:_HITS])
        return {"text": text, "items": _plain(items)}

    def _show(self, here: _Here, name: str, given: Mapping[str, Any]) -> Answer:
        del name
        changed = here.settings.memory.changed
        slug = _text(given, "slug")
        text, items = lookup.shown(self._repo, here.objects, here.shelf, slug, changed)
        return {"text": text, "items": _plain(items), "done": slug in here.shelf.items}

    def _recall(self, here: _Here, name: str, given: Mapping[str, Any]) -> Answer:
        text, lately = _text(given, "text"), _pairs(given)
        toss = self._toss(here, name)
        near = self._near(here, text, (), toss, _SEARCH_S - _OPEN_S, lately)
        told = [{"producer": e.producer, "text": e.text} for e in _recalled(near)]
        return {
            "told": told,
            "items": _plain(near.received),
            "skipped": near.skipped,
            "empty": near.skipped in {EMPTY, OFF},
        }

    def _corrections(self, here: _Here, name: str, given: Mapping[str, Any]) -> Answer:
        del name
        told, items = lookup.corrections(here.shelf, _pairs(given))
        said = [{"producer": each.producer, "text": each.text} for each in told]
        return {"told": said, "items": _plain(items)}

    def _propose(self, here: _Here, name: str, given: Mapping[str, Any]) -> Answer:
        """Return whether an operation may stand; nothing is written.

        ``own`` are commits that are there where the agent works, and may land.
        """
        asked = proposed.operation(given.get("operation"))
        if not isinstance(asked, Operation):
            return {"admitted": False, "reason": asked.reason}
        own = given.get("own")
        there = frozenset(own if isinstance(own, list) else ())
        weighing = Weighing(
            self._repo,
            here.objects,
            here.commit,
            here.shelf,
            name,
            here.settings.memory.limit,
        )
        ruled, pending = weighing.weigh(asked, there)
        said = {"admitted": ruled.admitted, "reason": ruled.reason}
        return {**said, "pending": True} if pending else said


def _brief(made: Brief, shelf: Shelf) -> tuple[Told, ...]:
    """Return a brief as pieces: what is an item's, or a landing's, by itself."""
    pieces = [
        (
            ", ".join(producer(slug, shelf.items[slug].blob) for slug in line.slugs)
            or producer("past", line.oid),
            line.text,
        )
        for line in made.lines
    ]
    return cut(made.text, pieces, "memory brief")


def _recalled(near: Recall) -> tuple[Told, ...]:
    if not near.received:
        return ()
    head, *pieces = near.pieces
    named = zip(near.received, pieces, strict=True)
    own = (Told(producer(each.slug, each.blob), text) for each, text in named)
    return (Told("memory recall", head), *own)


def _within(seconds: float, work: Callable[[], Delivery]) -> Delivery | str:
    """Return what comes of it, or a sentence why nothing does, or not in time."""
    made: list[Delivery | str] = []

    def run() -> None:
        try:
            made.append(work())
        except GitagentError as error:
            made.append(_sentence(error.line()))
        except Exception as error:  # noqa: BLE001 - of ours; the attempt goes on
            made.append(f"gitagent itself failed: {type(error).__name__}: {error}.")

    thread = threading.Thread(target=run, name="teach", daemon=True)
    thread.start()
    thread.join(seconds)
    return made[0] if made else f"The memory took over {seconds:g} s."


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise UserError(f"{key} has to be a text")
    return value


def _pairs(given: Mapping[str, Any]) -> dict[str, str]:
    """Return what a conversation was given last of each item: blob by slug."""
    value = given.get("given", [])
    if not isinstance(value, list) or len(value) > _KNOWN:
        raise UserError(f"given has to be a list of at most {_KNOWN:,} pairs")
    pairs = [each for each in value if isinstance(each, list) and len(each) == 2]
    if len(pairs) < len(value) or not all(
        isinstance(text, str) for pair in pairs for text in pair
    ):
        raise UserError("given has to be pairs of a slug and a blob")
    return dict(pairs)


def _plain(items: Iterable[Received]) -> list[list[str]]:
    return [[each.slug, each.blob, each.way.value] for each in items]


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:].rstrip('.')}."
