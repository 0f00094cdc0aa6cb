"""The shelf: what the memory holds at one commit of the target. The one way to read it.

An item counts if the memory's executor put it there, or if it landed. Whatever else
lies in the folder is refused with the mend, and told to nobody.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from gitagent.core.exposure import Received
from gitagent.core.layout import CHAPTERS, MEMORY
from gitagent.core.memory import COUNTS, Item, Mark, Marks, Status
from gitagent.core.remembering import Ruling
from gitagent.core.settings import Changed
from gitagent.core.task import Refusal
from gitagent.files import clean, memoryfile
from gitagent.git.items import read
from gitagent.git.objects import BLOB, EXECUTABLE, LINK, TREE, Entry, Objects
from gitagent.git.repository import Repository
from gitagent.git.rulings import read_all
from gitagent.memory.log import FETCH, Admitted, elsewhere
from gitagent.memory.marks import marks

_MANY: Final = 8  # shelves that are remembered
_PARSED: Final = 50_000  # items that are remembered
_AWAY: Final = "the log that may admit it is not in this clone"
_KINDS: Final = {TREE: "a folder", LINK: "a symbolic link", EXECUTABLE: "executable"}


@dataclass(frozen=True, slots=True)
class Shelf:
    """The memory at one commit."""

    commit: str
    tree: str = ""  # of `.agent/memory`; "": there is none
    items: Mapping[str, Item] = field(default_factory=dict)  # whatever their status
    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()

    @property
    def count(self) -> int:
        """How many items count against the limit."""
        return sum(item.status in COUNTS for item in self.items.values())

    def told(self, changed: Changed = Changed.MARK) -> list[Item]:
        """Return what may be told: items that count and resolve, by slug.

        One that names no object or no source is told nowhere; see `memory.shown`. With
        HIDE those whose evidence changed are not, either.
        """
        hidden = {Marks.UNVERIFIED}
        if changed is Changed.HIDE:
            hidden.add(Marks.CHANGED)
        return [
            item
            for slug, item in sorted(self.items.items())
            if item.status in COUNTS
            and item.blob
            and item.sources
            and not any(each.mark in hidden for each in self.marks.get(slug, ()))
        ]

    def in_force(self, received: Received) -> str:
        """Return why what was given does not count any more, a sentence; "" if it does.

        Its marks are not looked at.
        """
        name = received.slug
        item = self.items.get(name)
        if item is None:
            return f"{name} is gone."
        because = f": {item.because.rstrip('.')}." if item.because else "."
        match item.status:
            case Status.WITHDRAWN:
                return f"{name} was withdrawn{because}"
            case Status.SUPERSEDED:
                others = ", ".join(self._above(name))
                return f"{name} was superseded{f' by {others}' if others else ''}."
            case Status.DISPUTED if item.blob != received.blob:
                others = ", ".join(item.disputes)
                return f"{name} is disputed{f' with {others}' if others else ''}."
            case _:
                changed = item.blob != received.blob
                return (
                    f"{name} was changed. It says now: {item.line}" if changed else ""
                )

    def _above(self, slug: str) -> list[str]:
        return [n for n, item in self.items.items() if slug in item.supersedes]


@dataclass(frozen=True, slots=True)
class _Folder:
    """What was read of one tree of the folder, and the log's last words then."""

    tree: str
    newest: Mapping[str, str]
    items: Mapping[str, Item]
    refused: tuple[Refusal, ...]


class Shelves:
    """The shelves of one repository. For any thread; remembers what it has read."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._lock = Lock()
        self._admitted = Admitted(repo)
        self._parsed: dict[tuple[str, str], Item | Refusal] = {}  # by name and blob
        self._folder = _Folder("", {}, {}, ())
        self._made: dict[tuple[str, str], Shelf] = {}

    def at(
        self, objects: Objects, commit: str, refs: Mapping[str, str] | None = None
    ) -> Shelf:
        """Return the shelf of a commit of the target.

        ``refs`` are all refs, with the log among them, if it is not the one here.

        Raises:
            UserError: a newer release wrote to the memory's log.
        """
        with self._lock:
            rulings = read_all(objects, refs)
            key = (commit, rulings[-1].oid if rulings else "")
            found = self._made.get(key)
            if found is None:
                found = self._read(objects, commit, rulings)
                while len(self._made) >= _MANY:
                    self._made.pop(next(iter(self._made)))
                self._made[key] = found
            return found

    def _read(
        self, objects: Objects, commit: str, rulings: tuple[Ruling, ...]
    ) -> Shelf:
        root = MEMORY.rstrip("/")
        entry = objects.path(commit, root)
        if entry is None:
            return Shelf(commit)
        if entry.mode != TREE:
            return Shelf(commit, refused=(_odd(root, "it has to be a folder"),))
        newest = self._admitted.newest(objects, commit, rulings)
        if (self._folder.tree, self._folder.newest) != (entry.oid, newest):
            away = not rulings and elsewhere(self._repo, objects, commit)
            self._folder = self._opened(objects, entry.oid, newest, away=away)
        items = self._folder.items
        told = marks(self._repo, objects, commit, items)
        return Shelf(commit, entry.oid, items, told, self._folder.refused)

    def _opened(
        self, objects: Objects, tree: str, newest: Mapping[str, str], *, away: bool
    ) -> _Folder:
        items: dict[str, Item] = {}
        refused: list[Refusal] = []
        for each in objects.tree(tree):
            found = self._parsed.get((each.name, each.oid))
            if (
                not isinstance(found, Item)
                or each.mode != BLOB
                or newest.get(found.slug) != each.oid
            ):
                found = self._item(objects, each, newest, away=away)
            if isinstance(found, Item):
                items[found.slug] = found
            elif found is not None:
                refused.append(found)
        return _Folder(tree, newest, items, tuple(refused))

    def _item(
        self, objects: Objects, entry: Entry, newest: Mapping[str, str], *, away: bool
    ) -> Item | Refusal | None:
        """Return what one entry of the folder is; None: a chapter's."""
        path = MEMORY + entry.name
        if entry.mode == TREE and f"{path}/" == CHAPTERS:
            return None
        slug = memoryfile.slug_of(path)
        if entry.mode != BLOB or slug is None:
            kind = _KINDS.get(entry.mode, "no item")
            return _odd(path, f"it is {kind}, and only regular .md files belong here")
        if entry.oid != newest.get(slug):
            past = f"{_AWAY}; {FETCH}" if away else " ".join(_past(slug, newest))
            return _odd(path, past)
        key = (entry.name, entry.oid)
        found = self._parsed.get(key)
        if found is None:
            found = read(objects, slug, entry.oid)
            if len(self._parsed) >= _PARSED:
                self._parsed.clear()
            self._parsed[key] = found
        return found


def _past(slug: str, newest: Mapping[str, str]) -> Iterator[str]:
    """Say that a file came there past the executor, and what to do."""
    yield f"a commit put it there past `gitagent memory`, or in a clone ({FETCH});"
    if newest.get(slug):
        yield f"revert that, or `gitagent memory withdraw {slug}` takes it away"
    else:
        yield f"`gitagent memory withdraw {slug}` takes it away,"
        yield f"`gitagent memory add {slug}` puts one with sources in its place"


def _odd(path: str, why: str) -> Refusal:
    return Refusal(path, f"{clean.line(path)}: {why}")
