"""Every store, with who writes it and who reads it: what nobody does is a dead link.

A store that is written and never read, or read and never written, works in every test
of its own and does nothing. So each is named here, and a test holds that the modules
that are named are there and use it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gitagent.core import layout

PEOPLE: Final = "people"
OWN_REFS: Final = "refs/gitagent/"


class Kind(StrEnum):
    """What a store is."""

    REF = "ref"  # or refs, if its place ends in a slash
    FILES = "files"  # committed
    CACHE = "cache"  # below a folder of this machine; it can be deleted at any time


@dataclass(frozen=True, slots=True)
class Store:
    """One of them."""

    kind: Kind
    name: str  # of its constant in `core.layout`; of a cache as it is named on disk
    place: str
    written: tuple[str, ...]  # modules below `gitagent`, or `PEOPLE`
    read: tuple[str, ...]


_REF, _FILES, _CACHE = Kind.REF, Kind.FILES, Kind.CACHE

STORES: Final = (
    Store(
        _REF,
        "TASK_RECORDS",
        layout.TASK_RECORDS,
        ("daemon.tasks",),
        ("daemon.read", "daemon.overview", "daemon.story", "daemon.effects"),
    ),
    Store(
        _REF,
        "EXCHANGES",
        layout.EXCHANGES,
        ("worker.journal",),
        ("daemon.exchanges", "worker.models"),
    ),
    Store(
        _REF,
        "CONVERSATIONS",
        layout.CONVERSATIONS,
        ("worker.loop.record",),
        ("worker.loop.history", "worker.replay", "cli.terminal.listing"),
    ),
    Store(
        _REF,
        "SUBMISSIONS",
        layout.SUBMISSIONS,
        ("lander.submit",),
        ("lander.submit", "daemon.read", "daemon.overview", "daemon.effects"),
    ),
    Store(
        _REF, "CANDIDATES", layout.CANDIDATES, ("lander.prepare",), ("daemon.recover",)
    ),
    Store(
        _REF, "APPROVALS", layout.APPROVALS, ("lander.approval",), ("lander.approval",)
    ),
    Store(_REF, "QUEUE", layout.QUEUE, ("lander.switch",), ("lander.switch",)),
    Store(_REF, "OPERATIONS", layout.OPERATIONS, ("git.rulings",), ("git.rulings",)),
    Store(
        _REF,
        "PROPOSALS",
        layout.PROPOSALS,
        ("memory.proposals",),
        ("memory.proposals", "daemon.overview"),
    ),
    Store(_REF, "INBOX", layout.INBOX, ("daemon.inbox",), ("daemon.telling",)),
    Store(
        _REF,
        "RECEIPTS",
        layout.RECEIPTS,
        ("lander.receipts",),
        ("lander.receipts", "daemon.flakes", "memory.sources"),
    ),
    Store(_REF, "ARCHIVE", layout.ARCHIVE, ("daemon.archive",), ("git.archived",)),
    Store(_REF, "CLAIMS", layout.CLAIMS, ("git.push",), ("git.push",)),
    Store(_REF, "WITNESS", layout.WITNESS, ("lander.witness",), ("lander.witness",)),
    Store(
        _REF, "WITNESSED", layout.WITNESSED, ("lander.witness",), ("lander.witness",)
    ),
    Store(
        _REF,
        "CHAPTER_TAGS",
        layout.CHAPTER_TAGS,
        ("core.chapter",),
        ("memory.chapters",),
    ),
    Store(_REF, "REMOTES", layout.REMOTES, ("lander.remote",), ("daemon.lag",)),
    Store(_REF, "HARVEST", layout.HARVEST, ("worker.harvest",), ("worker.harvest",)),
    Store(
        _REF,
        "KEPT",
        layout.KEPT,
        ("worker.harvest",),
        ("daemon.replaying", "worker.setup"),
    ),
    Store(
        _FILES, "CONFIG", layout.CONFIG, (PEOPLE, "daemon.setup"), ("daemon.target",)
    ),
    Store(
        _FILES,
        "AGENTS",
        layout.AGENTS,
        (PEOPLE, "daemon.replaying"),
        ("daemon.definitions",),
    ),
    Store(
        _FILES,
        "CLAUDE_AGENTS",
        layout.CLAUDE_AGENTS,
        (PEOPLE,),
        ("daemon.definitions",),
    ),
    Store(_FILES, "AUTOMATIONS", layout.AUTOMATIONS, (PEOPLE,), ("core.chapter",)),
    *(
        Store(_FILES, "SKILLS", place, (PEOPLE,), ("worker.context",))
        for place in layout.SKILLS
    ),
    Store(
        _FILES,
        "TASKS",
        layout.TASKS,
        (PEOPLE, "lander.tasks", "daemon.tending"),
        ("daemon.read",),
    ),
    Store(_FILES, "DONE", layout.DONE, ("lander.compose",), ("daemon.entry",)),
    Store(_FILES, "ANSWERS", layout.ANSWERS, (PEOPLE,), ("daemon.answerfiles",)),
    Store(
        _FILES,
        "LANDINGS",
        layout.LANDINGS,
        ("files.note",),
        ("lander.proof", "memory.gather"),
    ),
    Store(
        _FILES,
        "MEMORY",
        layout.MEMORY,
        ("files.memoryfile",),
        ("memory.shelf", "memory.gather"),
    ),
    Store(_FILES, "CHAPTERS", layout.CHAPTERS, ("core.chapter",), ("core.chapter",)),
    Store(_CACHE, "attempts", "cache", ("worker.folder",), ("worker.folder",)),
    Store(_CACHE, "checkouts", "cache", ("daemon.loop",), ("daemon.loop",)),
    Store(_CACHE, "chats", "cache", ("daemon.chats",), ("daemon.chats",)),
    Store(_CACHE, "memory", "cache", ("memory.indexfile",), ("memory.indexfile",)),
    Store(
        _CACHE, "printed", "cache", ("worker.loop.printed",), ("worker.loop.printed",)
    ),
    Store(_CACHE, "replays", "cache", ("worker.replay",), ("worker.replay",)),
    Store(_CACHE, "setup", "cache", ("worker.setup",), ("worker.setup",)),
    Store(
        _CACHE, "chapters", ".git/gitagent", ("memory.chapters",), ("memory.chapters",)
    ),
    Store(_CACHE, "daemon.json", ".git/gitagent", ("host.lock",), ("host.lock",)),
    Store(
        _CACHE, "flakes.json", ".git/gitagent", ("daemon.flakes",), ("daemon.flakes",)
    ),
    Store(_CACHE, "log", ".git/gitagent", ("daemon.service",), (PEOPLE,)),
    Store(
        _CACHE,
        "overview.json",
        ".git/gitagent",
        ("daemon.remembered",),
        ("daemon.remembered",),
    ),
    Store(_CACHE, "socket", ".git/gitagent", ("host.place",), ("host.place",)),
)


def dead(stores: Iterable[Store] = STORES) -> list[str]:
    """Return a clause for each store that nobody writes or that nobody reads."""
    found = []
    for each in stores:
        missing = [
            word
            for word, who in (("writes", each.written), ("reads", each.read))
            if not who
        ]
        if missing:
            name = each.place if each.kind is not Kind.CACHE else each.name
            found.append(f"nobody {' or '.join(missing)} {name}")
    return found


def orphans(refs: Iterable[str], stores: Iterable[Store] = STORES) -> list[str]:
    """Return the refs below ``refs/gitagent/`` that belong to no store."""
    places = [each.place for each in stores if each.kind is Kind.REF]
    whole = {place for place in places if not place.endswith("/")}
    folders = tuple(place for place in places if place.endswith("/"))
    return [
        ref
        for ref in refs
        if ref.startswith(OWN_REFS) and ref not in whole and not ref.startswith(folders)
    ]
