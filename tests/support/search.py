"""What can be searched: items, landing notes and documents, without an executor."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gitagent.core.episode import Episode
from gitagent.core.memory import From, Item, Kind, Mark, Source
from gitagent.core.settings import Changed
from gitagent.core.vector import unit
from gitagent.core.words import terms
from gitagent.files import memoryfile
from gitagent.git.repository import Repository, discover
from gitagent.memory.index import Index
from gitagent.memory.search import Hit
from gitagent.memory.shelf import Shelf
from tests.support.repos import Repo

LABELLED = Path(__file__).parent.parent / "memory" / "labelled"
_STAMP = "2026-02-03T04:05:06Z"


def item(slug: str, line: str, body: str = "", path: str = "", **more: Any) -> Item:
    """Return an item that quotes something, as a file of it would have it."""
    source = Source(From.LANDING, "0" * 40, "s-000000000000")
    if path:
        source = Source(From.LINES, "0" * 40, path, 1, 1, line)
    found = Item(slug, Kind.FACT, line, _STAMP, sources=(source,), body=body, **more)
    return replace(found, blob=f"{abs(hash(memoryfile.dump(found))):040x}"[-40:])


def note(submission: str, title: str, message: str = "", path: str = "a.py") -> str:
    """Return a landing note."""
    return (
        f'+++\nsubmission = "{submission}"\ntask = "a-task"\n'
        f'landed = "{_STAMP}"\n+++\n\n# {title}\n\n```\n{message}\n```\n\n'
        "## What changed\n\n1 path: 1 modified.\n\n"
        f"- modified `{path}`\n\n## Checks\n\n- tests: passed in 3.0 s\n"
    )


def note_path(submission: str) -> str:
    """Return where a landing note is."""
    return f".agent/landings/2026/02/{submission}.md"


@dataclass
class Library:
    """A repository, an index of it, and what is on its shelf."""

    repo: Repo
    repository: Repository
    index: Index
    items: list[Item] = field(default_factory=list)
    marks: dict[str, tuple[Mark, ...]] = field(default_factory=dict)
    episodes: list[Episode] = field(default_factory=list)

    @classmethod
    def make(cls, repo: Repo, *items: Item, embedder: Any = None) -> "Library":
        """Open one."""
        found = discover(repo.path)
        return cls(repo, found, Index(found, embedder), list(items))

    @property
    def shelf(self) -> Shelf:
        """The shelf."""
        return Shelf(
            self.repo.head(),
            items={each.slug: each for each in self.items},
            marks=self.marks,
        )

    def write(self, files: Mapping[str, str | bytes | None]) -> str:
        """Commit files on main; the checkout stays behind."""
        return self.repo.commit_at("refs/heads/main", files)

    def follow(
        self,
        index: Index | None = None,
        *,
        seconds: float | None = None,
        changed: Changed = Changed.MARK,
    ) -> bool:
        """Have the index follow main."""
        with self.repository.objects() as objects:
            return (index or self.index).follow(
                objects,
                self.repo.head(),
                self.shelf,
                self.episodes,
                seconds=seconds,
                changed=changed,
            )

    def search(self, query: str, **more: Any) -> list[Hit]:
        """Follow main, and search."""
        assert self.follow()
        return self.index.search(query, **more)

    def names(self, query: str, **more: Any) -> list[str]:
        """Return the names of what is found."""
        return [hit.name for hit in self.search(query, **more)]


class Bag:
    """An embedder for tests: a number for each of few words."""

    name = "bag"

    def __init__(self, *meanings: Collection[str]) -> None:
        """Words of one collection mean the same."""
        self._of = {word: n for n, each in enumerate(meanings) for word in each}
        self._size = len(meanings) + 1
        self.asked: list[str] = []
        self.broken = ""

    def embed(self, texts: Sequence[str], seconds: float) -> list[bytes] | str:
        """See `dense.Embedder`."""
        del seconds
        if self.broken:
            return self.broken
        self.asked += texts
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> bytes:
        numbers = [0.0] * self._size
        for term in terms(text):
            if term in self._of:
                numbers[self._of[term]] += 1
        numbers[-1] = 0.1
        return unit(numbers)


def labelled(repo: Repo, embedder: Any = None) -> Library:
    """Return the library that the labelled queries are about."""
    known = tomllib.loads((LABELLED / "shelf.toml").read_text("utf-8"))
    items = [item(each["slug"], each["line"], each["body"]) for each in known["item"]]
    library = Library.make(repo, *items, embedder=embedder)
    notes = {
        note_path(each["submission"]): note(
            each["submission"], each["title"], each["message"], each["path"]
        )
        for each in known["note"]
    }
    library.write(notes | {each["path"]: each["text"] for each in known["document"]})
    return library
