"""What of a person's is in the way of an advance in one checkout.

Nothing here changes a checkout. The answers are for people: paths and a sentence.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from gitagent.errors import Busy
from gitagent.git.command import Done
from gitagent.git.repository import Repository
from gitagent.git.worktree import Worktree
from gitagent.host import clock

YOUNG_S = 60.0  # a lock older than that is one that a person should look at

# Files in a Git directory, and what is under way while they exist.
_HEAD_STAYS = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or git am",
    "BISECT_LOG": "a bisect",
}
_BRANCH_NAMED = {
    "rebase-merge/head-name": "a rebase",
    "rebase-apply/head-name": "a rebase",
    "rebase-merge/update-refs": "a rebase",
    "BISECT_START": "a bisect",
}


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


def under_way(worktree: Worktree, git_dir: Path, ref: str) -> str | None:
    """Return what is under way with the branch ``ref`` in a worktree; None: nothing.

    During a rebase or bisect HEAD is detached, and the branch is moved at the end.
    """
    if worktree.branch == ref:
        for name, what in _HEAD_STAYS.items():
            if (git_dir / name).exists():
                return what
    wanted = {ref.encode(), ref.removeprefix("refs/heads/").encode()}
    for name, what in _BRANCH_NAMED.items():
        try:
            lines = (git_dir / name).read_bytes().split(b"\n")
        except OSError:
            continue
        if wanted.intersection(lines):
            return what
    return None


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


def same(checkout: Checkout, change: Change) -> bool:
    """Whether the file in the checkout already is what the landing makes of it."""
    place = checkout.path / change.path
    try:
        if change.mode == "120000":
            return _blob_id(os.fsencode(place.readlink()), change.oid) == change.oid
        if place.is_symlink() or not place.is_file():
            return False
        executable = bool(place.stat().st_mode & 0o100)
    except OSError:
        return False
    if change.mode not in {"100644", "100755"}:
        return False
    if executable != (change.mode == "100755") and _modes_count(checkout):
        return False
    hashed = checkout.git("hash-object", "--path", change.path, "--", str(place))
    return hashed.text == change.oid


def _modes_count(checkout: Checkout) -> bool:
    done = checkout.git("config", "--type=bool", "core.fileMode", ok=(0, 1))
    return done.text != "false"


def _blob_id(data: bytes, like: str) -> str:
    text = b"blob %d\0%b" % (len(data), data)
    kind = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return kind(text).hexdigest()
