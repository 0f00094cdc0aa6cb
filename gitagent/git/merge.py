"""What merging a tip onto a base gives, without a work tree.

The engine is git's own (ort), run in a scratch repository that borrows the object
directory: no configuration of the repository is read, so no merge driver, filter or
rename limit of one machine decides, and the result is a function of base and tip.
Attributes are those of the base. Source: git-merge-tree(1), gitattributes(5).
"""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gitagent.core.ident import is_oid
from gitagent.errors import GitError, UserError
from gitagent.git import scratch
from gitagent.git.command import Done
from gitagent.git.objects import BLOB, EXECUTABLE, TREE, Entry, Objects
from gitagent.git.refs import DURABLE
from gitagent.git.repository import Repository

TIMEOUT_S = 300.0

ATTRIBUTE_FILES = 10_000  # in one tree; more is a mistake, or an attack on the disk
_PATH_LENGTH = 1_000  # at four bytes a character the most that can be opened
_NO_NAME = frozenset({"", ".", "..", ".git"})  # not to be written to a folder
_MEMO_TREES = 200_000

_attributes: dict[str, tuple[tuple[str, str], ...]] = {}  # by tree; ids never go stale


@dataclass(frozen=True, slots=True)
class MergeResult:
    """A merged tree, or why there is none."""

    tree: str | None
    conflicts: tuple[str, ...] = ()  # paths, sorted; no tree and none: unrelated


def merge(repo: Repository, objects: Objects, base: str, tip: str) -> MergeResult:
    """Merge commit ``tip`` onto commit ``base``; new trees and blobs are stored.

    Both are full object ids. Nothing pins the result: a ref has to, at once.

    Raises:
        GitError: an object is not here, the disk is full, no answer in time.
    """
    attributes = attribute_files(objects, objects.commit(base).tree)
    with tempfile.TemporaryDirectory(prefix="gitagent-merge-") as place:
        folder = Path(place, "tree")
        folder.mkdir()
        for path, blob in attributes:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(objects.blob(blob))
        try:
            done = _merge_tree(repo, Path(place, "git"), folder, base, tip)
        except GitError:
            if objects.merge_base(base, tip) is None:
                return MergeResult(None)
            raise
    tree, *rest = done.out.decode(errors="surrogateescape").split("\0")
    if not is_oid(tree):
        raise GitError(("git", "merge-tree", base, tip), done.code, done.err)
    if done.code == 0:
        return MergeResult(tree)
    return MergeResult(None, conflict_paths(rest, (base, tip)))


def _merge_tree(
    repo: Repository, git_dir: Path, folder: Path, base: str, tip: str
) -> Done:
    env = scratch.make(repo, git_dir)
    return repo.git.run(
        *DURABLE,
        "merge-tree",
        "--write-tree",
        "--messages",
        "--name-only",
        "-z",
        base,
        tip,
        git_dir=git_dir,
        work_tree=folder,
        env=env | {"GIT_WORK_TREE": "."},
        ok=(0, 1),
        timeout=TIMEOUT_S,
    )


def conflict_paths(fields: list[str], sides: tuple[str, str]) -> tuple[str, ...]:
    """Return the conflicting paths of a ``merge-tree -z --name-only`` after its tree.

    Some conflicts are told in a message only. A path that git had to invent, such as
    ``a~<commit>`` for a file where the other side has a folder, is given as ``a``.
    """
    end = fields.index("") if "" in fields else len(fields)
    paths = fields[:end] or _told(fields[end + 1 :])
    invented = re.compile(rf"~(?:{'|'.join(sides)})(?:_\d+)?\Z")
    return tuple(sorted({invented.sub("", path) for path in paths}))


def _told(fields: list[str]) -> list[str]:
    """Return the paths of the messages, each: count, paths, kind, text."""
    paths: list[str] = []
    while fields and fields[0].isdigit():
        count = int(fields[0])
        if "CONFLICT" in fields[count + 1]:
            paths += fields[1 : count + 1]
        fields = fields[count + 3 :]
    return paths


def attribute_files(objects: Objects, tree: str) -> tuple[tuple[str, str], ...]:
    """Return (path, blob) of every ``.gitattributes`` file in the tree.

    A tree that was seen before is not read again, so that a target that moved a
    little costs the trees along what changed.

    Raises UserError when there are more than ``ATTRIBUTE_FILES``.
    """
    if len(_attributes) > _MEMO_TREES:
        _attributes.clear()
    known: dict[str, tuple[tuple[str, str], ...]] = {}
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


def _gather(
    entries: tuple[Entry, ...], known: dict[str, tuple[tuple[str, str], ...]]
) -> tuple[tuple[str, str], ...]:
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
