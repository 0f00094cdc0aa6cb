"""What is told of what was found: only what is there at the commit that is searched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gitagent.core.cutting import excerpt
from gitagent.core.episode import Episode
from gitagent.core.memory import Item, Mark, shown
from gitagent.errors import GitError
from gitagent.git.objects import TREE, Objects
from gitagent.memory import gather
from gitagent.memory.gather import Passage
from gitagent.memory.ranking import Found, Ranked
from gitagent.memory.search import EPISODE, ITEM, Hit
from gitagent.memory.sync import Held


@dataclass(frozen=True)
class Here:
    """The commit that is searched, and what may be told at it."""

    commit: str = ""
    tree: str = ""
    items: Mapping[str, Item] = field(default_factory=dict)  # by slug
    marks: Mapping[str, Sequence[Mark]] = field(default_factory=dict)
    episodes: Mapping[str, Episode] = field(default_factory=dict)  # by name

    @cached_property
    def names(self) -> dict[str, str]:
        """By name, what each episode is kept under."""
        return {name: gather.key(each) for name, each in self.episodes.items()}

    @cached_property
    def held(self) -> Held:
        """What an index of it says that it holds."""
        told = [f"{slug}@{item.blob}" for slug, item in self.items.items()]
        told += [f"{name}@{key}" for name, key in self.names.items()]
        return Held(self.tree, gather.digest(*sorted(told)))

    @cached_property
    def passages(self) -> list[Passage]:
        """What items and episodes are searched by."""
        items = [gather.of_item(item) for item in self.items.values()]
        return items + [gather.of_episode(each) for each in self.episodes.values()]


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
        if here.names.get(row.name) == row.blob:
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
    entry = objects.path(here.tree, path)
    if entry is None or entry.mode == TREE or entry.oid != blob:
        return ""
    try:
        return objects.blob(blob).decode(errors="replace")
    except GitError:  # a partial clone without it
        return ""
