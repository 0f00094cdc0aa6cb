"""Trees as values: what a path holds, what differs, and a tree with some paths changed.

Only the trees along a changed path are read and written. What is read can be hostile:
trees nested to any depth, and few objects that unfold to more paths than memory holds.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

from gitagent.core.candidate import Change, PathChange
from gitagent.core.layout import RECORD_FOLDERS
from gitagent.errors import UserError
from gitagent.files import clean
from gitagent.git.objects import BLOB, GITLINK, LINK, TREE, Entry, Objects

_RECORDS: Final = frozenset(path.split("/")[1] for path in RECORD_FOLDERS)

PATHS = 1_000_000  # that a walk unfolds before it gives up
PATH_BYTES = 3_000  # of a new path; the kernel takes 4096 with all that is above
_NAME_BYTES = 255

# What git checks nothing out for; see verify_path in read-cache.c.
_GITS_OWN = re.compile(r"(?:^|\\)(?:\.git|git~1)[ .]*(?:$|[:\\])", re.IGNORECASE)
_MODULES = re.compile(r"\.gitmodules[ .]*$|gitmod~|gi7eba~", re.IGNORECASE)

_Leaf = tuple[int, str] | None  # (mode, object id), or None to remove
_Changes = Mapping[tuple[str, ...], _Leaf]  # by the names of the path


def product_tree(objects: Objects, tree: str) -> str:
    """Return the tree without ``.agent/tasks``, ``.agent/landings``, ``.agent/memory``.

    An ``.agent`` that held nothing else is left out too. Without any of them it is
    the same tree.
    """
    agent = objects.path(tree, ".agent")
    if agent is None or agent.mode != TREE:
        return tree
    entries = objects.tree(agent.oid)
    kept = [entry for entry in entries if entry.name not in _RECORDS]
    if len(kept) == len(entries):
        return tree
    others = [entry for entry in objects.tree(tree) if entry.name != ".agent"]
    if kept:
        others.append(Entry(".agent", TREE, objects.write_tree(kept)))
    return objects.write_tree(others)


def put(
    objects: Objects, tree: str | None, path: str, blob: str | None, mode: int = BLOB
) -> str:
    """Return the tree with ``blob`` at ``path``, or without the path if it is None."""
    return edit(objects, tree, {path: None if blob is None else (mode, blob)})


def remove(objects: Objects, tree: str, path: str) -> str:
    """Return the tree without a file or folder; without it there, the same tree."""
    return edit(objects, tree, {path: None})


def edit(objects: Objects, tree: str | None, changes: Mapping[str, _Leaf]) -> str:
    """Return the tree with each path set to (mode, object id), or removed for None.

    ``tree`` None is the empty tree. Folders come and go as they are needed. Removed
    are files and whole folders.

    Raises:
        UserError: a file is where a folder is needed, or a folder where a file is.
        ValueError: a path that Git does not take, or one that is part of another.
    """
    named = {_names(path): leaf for path, leaf in changes.items()}
    return _edited(objects, tree, named, "") or objects.write_tree(())


def folder(objects: Objects, treeish: str, path: str) -> tuple[Entry, ...]:
    """Return what a folder of a commit or tree holds; empty if it is not there."""
    entry = objects.path(treeish, path.removesuffix("/"))
    if entry is None or entry.mode != TREE:
        return ()
    return objects.tree(entry.oid)


def walk(
    objects: Objects, tree: str, *, limit: int = PATHS
) -> Iterator[tuple[str, Entry]]:
    """Yield path and entry of everything in a tree but the trees, in no set order.

    Raises:
        UserError: it has more than ``limit`` paths.
    """
    budget = _Budget(limit)
    stack = [("", tree)]
    while stack:
        prefix, oid = stack.pop()
        for entry in objects.tree(oid):
            budget.spend()
            if entry.mode == TREE:
                stack.append((f"{prefix}{entry.name}/", entry.oid))
            else:
                yield prefix + entry.name, entry


def gitlinks(objects: Objects, tree: str) -> tuple[str, ...]:
    """Return the paths of the submodules of a tree, sorted."""
    return tuple(
        sorted(path for path, entry in walk(objects, tree) if entry.mode == GITLINK)
    )


def walk_changes(
    objects: Objects, old: str | None, new: str | None, *, limit: int = PATHS
) -> tuple[PathChange, ...]:
    """Return the paths that differ between two trees, sorted; None is an empty tree.

    Equal subtrees are not looked into. A file that became a folder is deleted, and
    the folder's files are added.

    Raises:
        UserError: more than ``limit`` paths differ, or a new one is none that can be
            checked out.
    """
    budget = _Budget(limit)
    found = []
    stack = [("", old, new)]
    while stack:
        prefix, before, after = stack.pop()
        if before == after:
            continue
        olds, news = _by_name(objects, before), _by_name(objects, after)
        if after is not None and len(news) < len(objects.tree(after)):
            raise UserError(f"{clean.line(prefix) or 'the top'} has one name twice")
        for name in olds.keys() | news.keys():
            one, other = olds.get(name), news.get(name)
            if one == other:
                continue
            budget.spend()
            path = prefix + name
            if other is not None and not _fits(prefix, other):
                shown = clean.sentence(path)
                raise UserError(f"no checkout can hold the path {shown}")
            subtrees = _tree_oid(one), _tree_oid(other)
            if subtrees != (None, None):
                stack.append((f"{path}/", *subtrees))
            change = _change(path, _file(one), _file(other))
            if change is not None:
                found.append(change)
    return tuple(sorted(found, key=lambda change: change.path))


class _Budget:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spent = 0

    def spend(self) -> None:
        self._spent += 1
        if self._spent > self._limit:
            raise UserError(f"a tree unfolds to more than {self._limit} paths")


def _by_name(objects: Objects, tree: str | None) -> dict[str, Entry]:
    if tree is None:
        return {}
    return {entry.name: entry for entry in objects.tree(tree)}


def _fits(prefix: str, entry: Entry) -> bool:
    """Whether git and the kernel take an entry into a folder of a checkout."""
    name, size = entry.name, len(os.fsencode(entry.name))
    return not (
        name in {".", ".."}
        or "/" in name
        or size > _NAME_BYTES
        or size + len(os.fsencode(prefix)) > PATH_BYTES
        or _GITS_OWN.search(name)
        or (entry.mode == LINK and _MODULES.match(name))
    )


def _tree_oid(entry: Entry | None) -> str | None:
    return entry.oid if entry is not None and entry.mode == TREE else None


def _file(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.mode == TREE else entry


def _change(path: str, old: Entry | None, new: Entry | None) -> PathChange | None:
    if old is None:
        if new is None:
            return None
        return PathChange(path, Change.ADDED, 0, new.mode, "", new.oid)
    if new is None:
        return PathChange(path, Change.DELETED, old.mode, 0, old.oid, "")
    return PathChange(path, Change.MODIFIED, old.mode, new.mode, old.oid, new.oid)


def _names(path: str) -> tuple[str, ...]:
    names = tuple(path.split("/"))
    for name in names:
        if name in {"", ".", ".."} or name.lower() == ".git" or "\0" in name:
            raise ValueError(f"not a path in a tree: {path!r}")
    return names


def _edited(
    objects: Objects, tree: str | None, changes: _Changes, prefix: str
) -> str | None:
    """Return the changed tree; None if nothing is left in it."""
    before = _by_name(objects, tree)
    entries = dict(before)
    for names, leaf in changes.items():
        if len(names) == 1:
            _set(entries, names[0], leaf, prefix)
    for name, below in _folders(changes).items():
        entry, path = entries.get(name), f"{prefix}{name}"
        if (name,) in changes:
            raise ValueError(f"{path} and paths in it are both to change")
        if _file(entry) is None:
            inner = _edited(objects, _tree_oid(entry), below, f"{path}/")
            _set(entries, name, None if inner is None else (TREE, inner), prefix)
        elif any(leaf is not None for leaf in below.values()):
            raise UserError(f"{path} is a file, and has to be a folder")
    if not entries:
        return None
    if entries == before and tree is not None:
        return tree
    return objects.write_tree(entries.values())


def _set(entries: dict[str, Entry], name: str, leaf: _Leaf, prefix: str) -> None:
    if leaf is None:
        entries.pop(name, None)
    elif leaf[0] != TREE and _tree_oid(entries.get(name)) is not None:
        raise UserError(f"{prefix}{name} is a folder, and has to be a file")
    else:
        entries[name] = Entry(name, *leaf)


def _folders(changes: _Changes) -> dict[str, dict[tuple[str, ...], _Leaf]]:
    """Return the changes below each name, by what is left of their path."""
    folders: dict[str, dict[tuple[str, ...], _Leaf]] = {}
    for names, leaf in changes.items():
        if len(names) > 1:
            folders.setdefault(names[0], {})[names[1:]] = leaf
    return folders
