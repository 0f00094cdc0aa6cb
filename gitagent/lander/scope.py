"""Which part of a tree a commit touches, told from a handful of trees."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from gitagent.core.candidate import Change, PathChange
from gitagent.git.objects import TREE, Entry, Objects

_Names = tuple[str, ...]


def only_in(
    objects: Objects, old: str | None, new: str, folders: tuple[str, ...]
) -> bool:
    """Tell whether two trees are the same outside ``folders``; None is an empty tree.

    No tree outside the folders' own ancestors is read.
    """
    return _same(
        objects, old, new, tuple(tuple(f.rstrip("/").split("/")) for f in folders)
    )


def _same(
    objects: Objects, old: str | None, new: str | None, folders: tuple[_Names, ...]
) -> bool:
    if old == new:
        return True
    olds, news = _by_name(objects, old), _by_name(objects, new)
    for name in olds.keys() | news.keys():
        one, other = olds.get(name), news.get(name)
        if one == other:
            continue
        below = tuple(names[1:] for names in folders if names[0] == name)
        if () in below:
            continue
        if not below or not (_is_tree(one) and _is_tree(other)):
            return False
        before = None if one is None else one.oid
        after = None if other is None else other.oid
        if not _same(objects, before, after, below):
            return False
    return True


def _is_tree(entry: Entry | None) -> bool:
    return entry is None or entry.mode == TREE


def _by_name(objects: Objects, tree: str | None) -> dict[str, Entry]:
    return {} if tree is None else {entry.name: entry for entry in objects.tree(tree)}


def colliding(
    objects: Objects, base: str, merged: str, changes: tuple[PathChange, ...]
) -> tuple[str, ...]:
    """Return the added paths that another path of the merged tree equals elsewhere.

    Where file names ignore case, or how accents are composed, one of the two would
    overwrite the other. A new folder counts as its files do. Only the folders of the
    added paths are read, those of each ancestor included.
    """
    look = _Look(objects)
    return tuple(
        change.path
        for change in changes
        if change.change is Change.ADDED and look.clashes(base, merged, change.path)
    )


class _Look:
    """Trees by folded name, each read once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._folded: dict[str, dict[str, list[Entry]]] = {}

    def clashes(self, base: str, merged: str, path: str) -> bool:
        """Follow every spelling of ``path`` down the merged tree at once."""
        own: str | None = merged
        before: str | None = base
        trees = [merged]
        for name in path.split("/"):
            found = list(self._spellings(trees, name))
            was = self._entry(before, name)
            here = self._entry(own, name)
            is_new = was is None or was.mode != TREE
            if is_new and len(found) > (here is not None):
                return True
            trees = [entry.oid for entry in found if entry.mode == TREE]
            own = here.oid if here is not None and here.mode == TREE else None
            before = was.oid if was is not None and was.mode == TREE else None
        return False

    def _spellings(self, trees: list[str], name: str) -> Iterator[Entry]:
        folded = fold(name)
        for tree in trees:
            yield from self._names(tree).get(folded, ())

    def _entry(self, tree: str | None, name: str) -> Entry | None:
        if tree is None:
            return None
        spelled = self._names(tree).get(fold(name), ())
        return next((entry for entry in spelled if entry.name == name), None)

    def _names(self, tree: str) -> dict[str, list[Entry]]:
        names = self._folded.get(tree)
        if names is None:
            names = {}
            for entry in self._objects.tree(tree):
                names.setdefault(fold(entry.name), []).append(entry)
            self._folded[tree] = names
        return names


@lru_cache(maxsize=65536)
def fold(name: str) -> str:
    """Return what two names share if a file system takes them for the same."""
    if name.isascii():
        return name.lower()
    decomposed = unicodedata.normalize("NFD", name).casefold()
    return unicodedata.normalize("NFC", decomposed)
