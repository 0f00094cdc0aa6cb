"""The part of an object store that is the same for libgit2 and git(1)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from gitagent.git import codec
from gitagent.git.objects import GITLINK, TREE, Commit, Entry, MissingObject
from gitagent.git.text import Person

_TREES = 2048  # kept while open; a walk of a large tree must not keep it whole


class Store(ABC):
    """Reads and writes whole objects through ``_read`` and ``_write``."""

    def __init__(self, *, sha256: bool) -> None:
        self._sha256 = sha256
        self._trees: dict[str, tuple[Entry, ...]] = {}

    @abstractmethod
    def _read(self, oid: str) -> tuple[str, bytes] | None:
        """Return kind and content; None if it is not here."""

    @abstractmethod
    def _write(self, kind: str, data: bytes) -> str:
        """Store an object and return its id."""

    @abstractmethod
    def kind(self, oid: str) -> str | None:
        """Return blob, tree, commit or tag; None if the object is not here."""

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
        return self._write("blob", data)

    def write_tree(self, entries: Iterable[Entry]) -> str:
        """Store a tree of entries in any order; names may not repeat."""
        return self._write("tree", codec.dump_tree(entries))

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
        return self._write("commit", data)

    def _require(self, oid: str, wanted: str) -> bytes:
        found = self._read(oid)
        if found is None or found[0] != wanted:
            raise MissingObject(oid, wanted)
        return found[1]

    def _tree_of(self, treeish: str) -> str:
        if treeish in self._trees:
            return treeish
        found = self._read(treeish)
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
