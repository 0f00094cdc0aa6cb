"""The part of an object store that is the same for libgit2 and git(1)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from gitagent.errors import GitError
from gitagent.git import codec, loose
from gitagent.git.objects import GITLINK, TREE, Commit, Entry, MissingObject
from gitagent.git.text import Person

_TREES = 2048  # kept while open; a walk of a large tree must not keep it whole


class Store(ABC):
    """Reads and writes whole objects through ``_read`` and ``_write``."""

    def __init__(self, folder: Path, *, sha256: bool) -> None:
        """``folder`` is the object directory."""
        self._folder = folder
        self._sha256 = sha256
        self._trees: dict[str, tuple[Entry, ...]] = {}
        self._held: dict[str, tuple[str, bytes]] | None = None  # not stored yet

    @abstractmethod
    def _read(self, oid: str) -> tuple[str, bytes] | None:
        """Return kind and content; None if it is not here."""

    @abstractmethod
    def _write(self, kind: str, data: bytes) -> str:
        """Store an object and return its id."""

    @abstractmethod
    def _kind(self, oid: str) -> str | None:
        """Return the kind of a stored object; None if it is not here."""

    @abstractmethod
    def _size(self, oid: str) -> int:
        """Return the bytes of a stored object. Raises MissingObject."""

    @abstractmethod
    def close(self) -> None:
        """Give packs, descriptors and processes back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Store what is written within at its end, which takes little longer than one.

        Until then it is seen by this store alone, and not by `ancestor` or
        `merge_base`. If an error leaves it, nothing is stored.

        Raises:
            GitError: the disk is full or not to be written.
        """
        if self._held is not None:
            yield
            return
        self._held = {}
        try:
            yield
            held = self._held
        finally:
            self._held = None
        try:
            loose.store(self._folder, held)
        except OSError as error:
            raise GitError(("git", "hash-object", "-w"), 1, str(error)) from error

    def kind(self, oid: str) -> str | None:
        """Return blob, tree, commit or tag; None if the object is not here."""
        held = self._unstored(oid)
        return held[0] if held else self._kind(oid)

    def size(self, oid: str) -> int:
        """Return the bytes of an object, without reading them. Raises MissingObject."""
        held = self._unstored(oid)
        return len(held[1]) if held else self._size(oid)

    def blob(self, oid: str) -> bytes:
        """Return a blob's content. Raises MissingObject."""
        return self._require(oid, "blob")

    def commit(self, oid: str) -> Commit:
        """Return a commit. Raises MissingObject."""
        return codec.load_commit(oid, self._require(oid, "commit"))

    def tree(self, oid: str) -> tuple[Entry, ...]:
        """Return the entries of a tree, in Git's order. Raises MissingObject."""
        known = self._trees.get(oid)
        if known is None:
            data = self._require(oid, "tree")
            if len(self._trees) >= _TREES:
                self._trees.clear()
            known = codec.load_tree(data, sha256=self._sha256)
            self._trees[oid] = known
        return known

    def path(self, treeish: str, path: str) -> Entry | None:
        """Return the entry at a path of a commit's tree, or of a tree; None if none."""
        found: Entry | None = Entry("", TREE, self._tree_of(treeish))
        for name in path.split("/"):
            if found is None or found.mode != TREE:
                return None
            entries = self.tree(found.oid)
            found = next((entry for entry in entries if entry.name == name), None)
        return found

    def blobs_at(self, pairs: Iterable[tuple[str, str]]) -> list[bytes | None]:
        """Return the blob at each (commit or tree, path), None where there is none."""
        return [self._blob_at(treeish, path) for treeish, path in pairs]

    def write_blob(self, data: bytes) -> str:
        """Store a blob; storing it again is no change."""
        return self._put("blob", data)

    def write_tree(self, entries: Iterable[Entry]) -> str:
        """Store a tree of entries in any order; names may not repeat."""
        return self._put("tree", codec.dump_tree(entries))

    def write_commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Person,
        committer: Person,
        sign: codec.Sign | None = None,
    ) -> str:
        """Store a commit; message and names are mended to what every git accepts.

        ``sign`` gives the signature of the bytes of the commit.

        Raises MissingObject for a tree or parent that is not here: neither store
        looks, and a ref moved to such a commit breaks the repository.
        """
        for oid, kind in ((tree, "tree"), *((parent, "commit") for parent in parents)):
            if self.kind(oid) != kind:
                raise MissingObject(oid, kind)
        data = codec.dump_commit(tree, parents, message, author, committer, sign)
        return self._put("commit", data)

    def _put(self, kind: str, data: bytes) -> str:
        if self._held is None:
            return self._write(kind, data)
        oid = loose.name(kind, data, sha256=self._sha256)
        self._held[oid] = (kind, data)
        return oid

    def _unstored(self, oid: str) -> tuple[str, bytes] | None:
        return None if self._held is None else self._held.get(oid)

    def _look(self, oid: str) -> tuple[str, bytes] | None:
        return self._unstored(oid) or self._read(oid)

    def _require(self, oid: str, wanted: str) -> bytes:
        found = self._look(oid)
        if found is None or found[0] != wanted:
            raise MissingObject(oid, wanted)
        return found[1]

    def _tree_of(self, treeish: str) -> str:
        if treeish in self._trees:
            return treeish
        found = self._look(treeish)
        if found is None or found[0] not in {"commit", "tree"}:
            raise MissingObject(treeish, "tree")
        kind, data = found
        if kind == "tree":
            return treeish
        return codec.tree_of(data)

    def _blob_at(self, treeish: str, path: str) -> bytes | None:
        try:
            entry = self.path(treeish, path)
            if entry is None or entry.mode in {TREE, GITLINK}:
                return None
            return self.blob(entry.oid)
        except MissingObject:
            return None
