"""The ``.gitattributes`` files of a tree, found and laid out in a folder.

A merge without a work tree takes its attributes from the folder that it runs in.
Source: gitattributes(5).
"""

from pathlib import Path

from gitagent.errors import UserError
from gitagent.git.objects import BLOB, EXECUTABLE, TREE, Entry, Objects

ATTRIBUTE_FILES = 10_000  # in one tree; more is a mistake, or an attack on the disk
_PATH_LENGTH = 1_000  # at four bytes a character the most that can be opened
_NO_NAME = frozenset({"", ".", "..", ".git"})  # not to be written to a folder
_MEMO_TREES = 200_000

Attributes = tuple[tuple[str, str], ...]  # (path, blob)

_attributes: dict[str, Attributes] = {}  # by tree; ids never go stale


def attribute_files(objects: Objects, tree: str) -> Attributes:
    """Return (path, blob) of every ``.gitattributes`` file in the tree.

    A tree that was seen before is not read again, so that a target that moved a
    little costs the trees along what changed.

    Raises UserError when there are more than ``ATTRIBUTE_FILES``.
    """
    if len(_attributes) > _MEMO_TREES:
        _attributes.clear()
    known: dict[str, Attributes] = {}
    pending: list[tuple[str, tuple[Entry, ...]]] = [(tree, ())]
    while pending:
        oid, entries = pending.pop()
        if oid in known:
            continue
        if oid in _attributes:
            known[oid] = _attributes[oid]
            continue
        entries = entries or objects.tree(oid)
        unread = [x for x in entries if x.mode == TREE and x.oid not in known]
        if unread:
            pending.append((oid, entries))
            pending.extend((each.oid, ()) for each in unread)
            continue
        known[oid] = _gather(entries, known)
    _attributes.update(known)
    return known[tree]


def lay_out(objects: Objects, attributes: Attributes, folder: Path) -> None:
    """Write the files to a folder, which is made and must not be there."""
    folder.mkdir()
    for path, blob in attributes:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(objects.blob(blob))


def _gather(entries: tuple[Entry, ...], known: dict[str, Attributes]) -> Attributes:
    found: list[tuple[str, str]] = []
    for entry in entries:
        if entry.name in _NO_NAME or "/" in entry.name:
            continue
        if entry.mode == TREE:
            below = ((f"{entry.name}/{path}", blob) for path, blob in known[entry.oid])
            found += ((path, blob) for path, blob in below if len(path) <= _PATH_LENGTH)
        elif entry.name == ".gitattributes" and entry.mode in {BLOB, EXECUTABLE}:
            found.append((entry.name, entry.oid))
    if len(found) > ATTRIBUTE_FILES:
        raise UserError(
            f"more than {ATTRIBUTE_FILES} .gitattributes files in one tree",
            "use fewer",
        )
    return tuple(found)
