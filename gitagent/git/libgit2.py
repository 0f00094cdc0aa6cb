"""The object store through libgit2: no process, 0.2 ms to open.

It reads objects and refs and writes objects. Refs are never moved through it: it runs
no hook, and its compare-and-swap is not git's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel, ObjectType, RepositoryOpenFlag

from gitagent.errors import GitError
from gitagent.git.objects import MissingObject, Objects
from gitagent.git.store import Store

_KINDS: dict[int, str] = {
    ObjectType.BLOB: "blob",
    ObjectType.TREE: "tree",
    ObjectType.COMMIT: "commit",
    ObjectType.TAG: "tag",
}
_BROKEN_REF = "corrupted loose reference"  # left by a crash; git leaves it out too
_NUMBERS = {kind: number for number, kind in _KINDS.items()}


def _configure() -> None:
    pygit2.settings.enable_fsync_gitdir(True)  # noqa: FBT003
    # Whose repository it is was decided by git, which knows the user's safe.directory.
    pygit2.settings.owner_validation = False
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""


_configure()


def try_open(common_dir: Path, lenient: Objects) -> "Libgit2 | None":
    """Open a repository; None if libgit2 does not know its format.

    ``lenient`` answers about histories that libgit2 cannot walk: one commit whose
    committer it cannot read, which anybody may have pushed, is enough.
    """
    try:
        return Libgit2(common_dir, lenient)
    except (pygit2.GitError, KeyError, ValueError):
        return None


class Libgit2(Store):
    """One opening of one repository."""

    def __init__(self, common_dir: Path, lenient: Objects) -> None:
        super().__init__(common_dir / "objects", sha256=False)
        self._lenient = lenient
        self._path = str(common_dir)
        self._repo = self._open()

    def _open(self) -> pygit2.Repository:
        return pygit2.Repository(self._path, RepositoryOpenFlag.BARE)

    def close(self) -> None:
        """Give packs and descriptors back."""
        self._repo.free()

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Return the direct object id of every ref whose name begins so."""
        found = {}
        with _errors("for-each-ref", prefix):
            for ref in self._repo.references.iterator():
                if ref.name.startswith(prefix):
                    oid = _target(ref)
                    if oid is not None:
                        found[ref.name] = oid
        return dict(sorted(found.items()))

    def ref(self, name: str) -> str | None:
        """Return the object id of ``HEAD`` or a full ref name; None if none."""
        with _errors("show-ref", name):
            try:
                return _target(self._repo.references[name])
            except (KeyError, pygit2.InvalidSpecError):
                return None
            except pygit2.GitError as error:
                if _BROKEN_REF in str(error):
                    return None
                raise

    def _kind(self, oid: str) -> str | None:
        header = self._header(oid)
        return None if header is None else header[0]

    def _size(self, oid: str) -> int:
        header = self._header(oid)
        if header is None:
            raise MissingObject(oid)
        return header[1]

    def ancestor(self, older: str, newer: str) -> bool:
        """Tell whether ``older`` is ``newer`` or can be reached from it."""
        with _errors("merge-base", newer):
            try:
                return older == newer or self._repo.descendant_of(newer, older)
            except pygit2.GitError:
                return self._lenient.ancestor(older, newer)

    def merge_base(self, one: str, other: str) -> str | None:
        """Return a best common ancestor; None for unrelated histories."""
        with _errors("merge-base", one):
            try:
                base = self._repo.merge_base(one, other)
            except pygit2.GitError:
                return self._lenient.merge_base(one, other)
        return None if base is None else str(base)

    def beyond(self, base: str, tip: str, limit: int) -> frozenset[str]:
        """Return up to ``limit`` commits of ``tip`` that ``base`` does not have."""
        with _errors("rev-list", tip):
            try:
                walk = self._repo.walk(tip)
                walk.hide(base)
                return frozenset(str(commit.id) for commit in islice(walk, limit))
            except pygit2.GitError:
                return self._lenient.beyond(base, tip, limit)

    def _header(self, oid: str) -> tuple[str, int] | None:
        for last in (False, True):
            with _errors("cat-file", oid):
                try:
                    number, size = self._repo.odb.read_header(pygit2.Oid(hex=oid))
                    return _KINDS[number], size
                except KeyError:
                    self._again(last=last)
        return None

    def _read(self, oid: str) -> tuple[str, bytes] | None:
        for last in (False, True):
            with _errors("cat-file", oid):
                try:
                    number, data = self._repo.read(oid)
                    return _KINDS[number], data
                except KeyError:
                    self._again(last=last)
        return None

    def _again(self, *, last: bool) -> None:
        """Open anew once: what is missing may have gone into a pack meanwhile."""
        if not last:
            self._repo.free()
            self._repo = self._open()

    def _write(self, kind: str, data: bytes) -> str:
        with _errors("hash-object", kind):
            return str(self._repo.write(_NUMBERS[kind], data))


def _target(ref: pygit2.Reference) -> str | None:
    target = ref.target
    if isinstance(target, str):  # symbolic
        try:
            target = ref.resolve().target
        except (KeyError, pygit2.GitError):
            return None
    return str(target)


@contextmanager
def _errors(command: str, about: str) -> Iterator[None]:
    """Turn what pygit2 raises into our errors, one line each."""
    try:
        yield
    except GitError:
        raise
    except KeyError as error:
        raise MissingObject(about) from error
    except (pygit2.GitError, OSError, ValueError) as error:
        raise GitError(("libgit2", command, about), 1, str(error)) from error
