"""What is told of what was found: only what is there at the commit that is searched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from gitagent.core.cutting import excerpt
from gitagent.core.episode import Episode
from gitagent.core.memory import Item, Mark, shown
from gitagent.errors import GitError
from gitagent.git.objects import TREE, Objects
from gitagent.memory import gather
from gitagent.memory.gather import Passage
from gitagent.memory.ranking import Found, Ranked
from gitagent.memory.search import EPISODE, ITEM, Hit
from gitagent.memory.sync import Held, Key

_FOLDERS: Final = 200  # that are remembered


@dataclass(frozen=True)
class Here:
    """The commit that is searched, and what may be told at it."""

    commit: str = ""
    tree: str = ""
    items: Mapping[str, Item] = field(default_factory=dict)  # by slug
    marks: Mapping[str, Sequence[Mark]] = field(default_factory=dict)
    episodes: Mapping[str, Episode] = field(default_factory=dict)  # by name
    _folders: dict[str, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def told(self) -> dict[Key, str]:
        """What items and episodes are kept under: another one, if they say else."""
        told = {(ITEM, slug): item.blob for slug, item in self.items.items()}
        happened = self.episodes.items()
        return told | {(EPISODE, name): gather.key(each) for name, each in happened}

    @cached_property
    def held(self) -> Held:
        """What an index of it says that it holds."""
        told = [f"{kind} {name} {key}" for (kind, name), key in self.told.items()]
        return Held(self.tree, gather.digest(*sorted(told)))

    def passage(self, key: Key) -> Passage:
        """Return what an item or an episode is searched by."""
        kind, name = key
        if kind == ITEM:
            return gather.of_item(self.items[name])
        return gather.of_episode(self.episodes[name])

    def blob(self, objects: Objects, path: str) -> str:
        """Return the blob at a path, "" if there is none; remembers whole folders."""
        folder, _, name = path.rpartition("/")
        known = self._folders.get(folder)
        if known is None:
            tree: str | None = self.tree
            if folder:
                top = objects.path(self.tree, folder)
                tree = top.oid if top is not None and top.mode == TREE else None
            entries = objects.tree(tree) if tree else ()
            known = {each.name: each.oid for each in entries if each.mode != TREE}
            if len(self._folders) >= _FOLDERS:
                self._folders.clear()
            self._folders[folder] = known
        return known.get(name, "")


def tell(objects: Objects, here: Here, ranked: Ranked, most: int) -> list[Hit]:
    """Return the first hits that are there.

    Raises:
        GitError: the commit cannot be read.
    """
    hits: list[Hit] = []
    for each in ranked.found:
        if len(hits) == most:
            break
        hits.extend(_hit(objects, here, ranked, each))
    return hits


def _hit(objects: Objects, here: Here, ranked: Ranked, found: Found) -> Iterator[Hit]:
    row = found.row
    if row.kind == ITEM:
        item = here.items.get(row.name)
        if item is None or item.blob != row.blob:
            return
        if text := shown(item, here.marks.get(row.name, ())):
            path = row.path
            yield Hit(row.kind, row.name, row.blob, found.score, text, 1, path, row.at)
    elif row.kind == EPISODE:
        if here.told.get((row.kind, row.name)) == row.blob:
            told = here.episodes[row.name]
            text, oid = f"{told.ended}: {told.text}", told.oid
            yield Hit(row.kind, row.name, oid, found.score, text, at=told.at)
    elif text := _text(objects, here, row.path, row.blob):
        weights = ranked.asked.weights
        first, part = excerpt(text, row.first, row.last, weights)
        yield Hit(
            row.kind, row.name, row.blob, found.score, part, first, row.path, row.at
        )


def _text(objects: Objects, here: Here, path: str, blob: str) -> str:
    """Return a file's text if it is there with this content, else ""."""
    if here.blob(objects, path) != blob:
        return ""
    try:
        return objects.blob(blob).decode(errors="replace")
    except GitError:  # a partial clone without it
        return ""
