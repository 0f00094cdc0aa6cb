"""What can be asked of the object store, and the values it answers with.

Two implementations, ``libgit2`` and ``plumbing``, pass one contract suite and give
the same object ids.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from gitagent.errors import GitError
from gitagent.git.text import Person

BLOB = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
TREE = 0o040000
GITLINK = 0o160000


class MissingObject(GitError):
    """An object that is not here, or is of another kind."""

    def __init__(self, oid: str, wanted: str = "object") -> None:
        super().__init__(
            ("git", "cat-file", wanted, oid), 128, f"{wanted} {oid} is not here"
        )
        self.oid = oid


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tree."""

    name: str  # bytes that are not UTF-8 as surrogates
    mode: int
    oid: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as it is stored; replacements and grafts are not looked at."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str

    @property
    def time(self) -> int:
        """Seconds since the epoch, the committer's."""
        return self.committer.when


class Objects(Protocol):
    """An open object store. For one thread, and to be closed soon.

    Object ids are full, in lower case. Every method can raise GitError.
    """

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""

    def close(self) -> None:
        """Give packs, descriptors and processes back."""

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Return the direct object id of every ref whose name begins so.

        Symbolic refs are followed; tags are not peeled; broken refs are left out.
        """

    def ref(self, name: str) -> str | None:
        """Return the object id of ``HEAD`` or a full ref name.

        None if there is none, if it is broken, or if no ref can have this name.
        """

    def kind(self, oid: str) -> str | None:
        """Return blob, tree, commit or tag; None if the object is not here."""

    def size(self, oid: str) -> int:
        """Return the bytes of an object, without reading them. Raises MissingObject."""

    def blob(self, oid: str) -> bytes:
        """Return a blob's content. Raises MissingObject."""

    def blobs_at(self, pairs: Iterable[tuple[str, str]]) -> list[bytes | None]:
        """Return the blob at each (commit or tree, path), None where there is none."""

    def commit(self, oid: str) -> Commit:
        """Return a commit. Raises MissingObject."""

    def tree(self, oid: str) -> tuple[Entry, ...]:
        """Return the entries of a tree, in Git's order. Raises MissingObject."""

    def path(self, treeish: str, path: str) -> Entry | None:
        """Return the entry at a path of a commit's tree, or of a tree; None if none."""

    def together(self) -> AbstractContextManager[None]:
        """Store what is written within at its end, which takes little longer than one.

        Until then it is seen by this store alone, and not by `ancestor` or
        `merge_base`. If an error leaves it, nothing is stored.

        Raises:
            GitError: the disk is full or not to be written.
        """

    def write_blob(self, data: bytes) -> str:
        """Store a blob; storing it again is no change."""

    def write_tree(self, entries: Iterable[Entry]) -> str:
        """Store a tree of entries in any order; names may not repeat."""

    def write_commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Person,
        committer: Person,
        sign: Callable[[bytes], str] | None = None,
    ) -> str:
        """Store a commit; message and names are mended to what every git accepts.

        ``sign`` gives the signature of the bytes of the commit; see ``signing``.

        Raises MissingObject when the tree or a parent is not here.
        """

    def ancestor(self, older: str, newer: str) -> bool:
        """Tell whether ``older`` is ``newer`` or can be reached from it."""

    def beyond(self, base: str, tip: str, limit: int) -> frozenset[str]:
        """Return up to ``limit`` commits of ``tip`` that ``base`` does not have."""

    def merge_base(self, one: str, other: str) -> str | None:
        """Return a best common ancestor; None for unrelated histories."""
