"""What of a person's is in the way of an advance in one checkout.

Nothing here changes a checkout. The answers are for people: paths and a sentence.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gitagent.errors import Busy
from gitagent.git.command import Done
from gitagent.git.repository import Repository
from gitagent.host import clock

YOUNG_S = 60.0  # a lock older than that is one that a person should look at


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something of a person's is in the way; nothing was changed."""

    paths: tuple[str, ...]  # relative to the checkout; may be empty
    reason: str  # a full sentence


@dataclass(frozen=True, slots=True)
class Checkout:
    """A worktree of a person's, with what a git process in it has to be told."""

    repo: Repository
    path: Path
    git_dir: Path
    index: Path | None = None  # None: its own

    def git(
        self,
        *args: str,
        stdin: bytes | None = None,
        ok: tuple[int, ...] = (0,),
        env: dict[str, str] | None = None,
        timeout: float = 60,
        pass_fds: tuple[int, ...] = (),
    ) -> Done:
        """Run git there as the person's own would, with the person's configuration."""
        return self.repo.git.run(
            *args,
            stdin=stdin,
            ok=ok,
            env=env,
            timeout=timeout,
            pass_fds=pass_fds,
            git_dir=self.git_dir,
            work_tree=self.path,
            index=self.index,
            user_config=True,
        )


def empty_tree(checkout: Checkout) -> str:
    """Return the id of the tree without entries, which need not be stored."""
    return checkout.git("hash-object", "-t", "tree", "--stdin", stdin=b"").text


def locked(checkout: Checkout) -> Blocked | None:
    """Look for the locks that a person's git holds; None: there are none.

    Raises:
        Busy: there is one, and it is young.
    """
    for name in ("index.lock", "HEAD.lock"):
        lock = checkout.git_dir / name
        try:
            age = clock.now().timestamp() - lock.stat().st_mtime
        except FileNotFoundError:
            continue
        if age < YOUNG_S:
            raise Busy(f"git is at work in {checkout.path} ({name})")
        return Blocked(
            (),
            f"{lock} is {age / 60:.0f} minutes old: a git command waits there for its"
            " person, or it died and that person should remove the file.",
        )
    return None


@dataclass(frozen=True, slots=True)
class Change:
    """One path that the landing changes."""

    path: str
    mode: str  # new one, octal; "000000": deleted
    oid: str  # new blob
    added: bool


def changes(checkout: Checkout, old: str, new: str) -> tuple[Change, ...]:
    """Return what a move of the checkout from ``old`` to ``new`` changes."""
    fields = checkout.git("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new)
    found = []
    for facts, path in zip(fields.fields[::2], fields.fields[1::2], strict=True):
        _, mode, _, oid, status = facts.lstrip(":").split(" ")
        found.append(Change(path, mode, oid, added=status == "A"))
    return tuple(found)


def in_the_way(checkout: Checkout, wanted: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return the changes that would overwrite something of a person's."""
    if not wanted:
        return ()
    dirty = _dirty(checkout)
    return tuple(
        change
        for change in wanted
        if change.path in dirty or (change.added and _taken(checkout, change, dirty))
    )


def _dirty(checkout: Checkout) -> set[str]:
    """Return the tracked paths that are edited, in the index or beside it."""
    done = checkout.git(
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=no",
        "--no-renames",
        "--ignore-submodules=dirty",
        timeout=300,
    )
    widths = {"1": 8, "u": 10}  # fields before the path
    return {
        line.split(" ", widths[line[0]])[-1] for line in done.fields if line[0] in "1u"
    }


def unmerged(checkout: Checkout) -> tuple[str, ...]:
    """Return the paths with a conflict that a merge or a stash left in the index."""
    fields = checkout.git("ls-files", "--unmerged", "-z").fields
    return tuple(dict.fromkeys(each.partition("\t")[2] for each in fields))


def _taken(checkout: Checkout, change: Change, dirty: set[str]) -> bool:
    """Whether an untracked or ignored file is where the landing puts a new one."""
    place = checkout.path
    *folders, _ = change.path.split("/")
    for folder in folders:
        place /= folder
        if place.is_symlink() or (os.path.lexists(place) and not place.is_dir()):
            # A tracked file that becomes a folder is the landing's own change.
            inner = str(place.relative_to(checkout.path))
            return inner in dirty or not _tracked(checkout, inner)
    place = checkout.path / change.path
    if place.is_dir() and not place.is_symlink():
        return bool(_untracked(checkout, change.path))
    return os.path.lexists(place)


def _tracked(checkout: Checkout, path: str) -> bool:
    return bool(checkout.git("ls-files", "-z", "--", f":(literal){path}").out)


def _untracked(checkout: Checkout, path: str) -> bytes:
    return checkout.git("ls-files", "-o", "-z", "--", f":(literal){path}").out


def same(checkout: Checkout, wanted: Iterable[Change]) -> frozenset[str]:
    """Return the paths at which the checkout already has what the landing brings."""
    found, regular = set(), []
    for change in wanted:
        kind = _kind(checkout.path / change.path)
        if change.mode == "120000" == kind:
            link = (checkout.path / change.path).readlink()
            if _blob_id(os.fsencode(link), change.oid) == change.oid:
                found.add(change.path)
        elif {change.mode, kind} <= {"100644", "100755"}:
            regular.append((change, kind))
    if any(change.mode != kind for change, kind in regular) and _modes_count(checkout):
        regular = [(change, kind) for change, kind in regular if change.mode == kind]
    changes_ = [change for change, _ in regular]
    hashed = _hashes(checkout, [change.path for change in changes_])
    found |= {change.path for change in changes_ if hashed[change.path] == change.oid}
    return frozenset(found)


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return ""
    if stat.S_ISLNK(mode):
        return "120000"
    if not stat.S_ISREG(mode):
        return ""
    return "100755" if mode & stat.S_IXUSR else "100644"


def _hashes(checkout: Checkout, paths: list[str]) -> dict[str, str]:
    """Return the blob that git would make of each file, filters applied."""
    single = [path for path in paths if "\n" in path or path.startswith('"')]
    many = [path for path in paths if path not in single]
    hashed = {}
    if many:
        stdin = "".join(f"{path}\n" for path in many)
        done = checkout.git(
            *("hash-object", "--stdin-paths"),
            stdin=stdin.encode(errors="surrogateescape"),
            timeout=300,
        )
        hashed = dict(zip(many, done.text.split("\n"), strict=True))
    for path in single:
        hashed[path] = checkout.git("hash-object", "--path", path, "--", path).text
    return hashed


def _modes_count(checkout: Checkout) -> bool:
    done = checkout.git("config", "--type=bool", "core.fileMode", ok=(0, 1))
    return done.text != "false"


def _blob_id(data: bytes, like: str) -> str:
    text = b"blob %d\0%b" % (len(data), data)
    kind = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return kind(text).hexdigest()
