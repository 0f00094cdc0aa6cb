"""Which repository a path belongs to, and how its objects are read.

One git process finds it, with the user's own rules about ownership; after that it is
always named. libgit2 is used where it can be: not for reftable, sha256, partial
clones, or an extension that it does not know.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitagent.errors import GitError, UserError
from gitagent.git.command import Done, Git, run_git
from gitagent.git.objects import Objects

if TYPE_CHECKING:
    from gitagent.git.libgit2 import Libgit2

# Found by text and not by key, so that it can be asked at every opening; a false alarm
# costs some milliseconds.
_PARTIAL = re.compile(rb"promisor|partialclone", re.IGNORECASE)
_DUBIOUS = re.compile(r"(?:dubious ownership|unsafe repository).*?'(?P<path>[^']*)'")
_EXTENSION = re.compile(
    r"unknown repository extensions? found:\s*(?P<names>.*)", re.DOTALL
)

_QUESTIONS = (
    "--path-format=absolute",
    "--git-common-dir",
    "--git-dir",
    "--is-bare-repository",
    "--show-object-format",
    "--show-toplevel",  # last: without a work tree it fails, after the rest is told
)


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, seen from one of its work trees or from none."""

    common_dir: Path  # absolute, links resolved
    git_dir: Path  # of the work tree it was found from; else the common directory
    worktree: Path | None  # top of the work tree it was found from
    bare: bool
    object_format: str  # "sha1" or "sha256"
    git: Git

    def objects(self, *, fast: bool = False) -> Objects:
        """Open the object store; a context manager, for one thread.

        ``fast`` leaves libgit2 out, whose import takes longer than a whole command.
        """
        from gitagent.git.plumbing import Plumbing  # noqa: PLC0415

        partial = self.partial
        sha256 = self.object_format != "sha1"
        plumbing = Plumbing(self.git, sha256=sha256, lazy=partial)
        if fast or partial or sha256:
            return plumbing
        return self._libgit2(plumbing) or plumbing

    @property
    def partial(self) -> bool:
        """Whether objects may be absent because a remote promised them."""
        try:
            config = (self.common_dir / "config").read_bytes()
        except OSError:
            return True
        return _PARTIAL.search(config) is not None

    def _libgit2(self, lenient: Objects) -> "Libgit2 | None":
        from gitagent.git import libgit2  # noqa: PLC0415

        return libgit2.try_open(self.common_dir, lenient)


def discover(start: Path) -> Repository:
    """Return the repository that ``start`` lies in: a work tree, or inside .git.

    Raises:
        UserError: there is none, or git's ownership rule refuses it, or this git
            cannot read it.
    """
    start = Path(os.path.abspath(start))  # noqa: PTH100 - links are git's to follow
    admitted = False
    try:
        done = _ask(start, user_config=False)
    except GitError as error:
        if _DUBIOUS.search(error.stderr) is None:
            raise _refusal(start, error) from error
        done, admitted = _ask_as_user(start), True
    common, git_dir, bare, object_format, *top = done.text.split("\n")
    worktree = Path(top[0]) if top else _worktree_of(Path(common), Path(git_dir))
    if bare == "true":
        worktree = None
        _refuse_embedded(Path(common))
    config: tuple[str, ...] = ()
    if admitted:
        places = dict.fromkeys((common, git_dir, str(worktree or common)))
        config = tuple(f"safe.directory={place}" for place in places)
    return Repository(
        common_dir=Path(common),
        git_dir=Path(git_dir),
        worktree=worktree,
        bare=bare == "true",
        object_format=object_format,
        git=Git(Path(common), config),
    )


def _ask(start: Path, *, user_config: bool) -> Done:
    # The person stands in it: here alone a bare repository may be found by its place.
    done = run_git(
        "rev-parse",
        *_QUESTIONS,
        cwd=start,
        config=("safe.bareRepository=all",),
        user_config=user_config,
        ok=(0, 128),
    )
    if done.code and len(done.text.split("\n")) != len(_QUESTIONS) - 2:
        raise GitError(("git", "rev-parse"), done.code, done.err)
    return done


def _ask_as_user(start: Path) -> Done:
    try:
        return _ask(start, user_config=True)
    except GitError as error:
        raise _refusal(start, error) from error


def _refusal(start: Path, error: GitError) -> UserError:
    if match := _DUBIOUS.search(error.stderr):
        path = Path(match["path"])
        return UserError(
            f"{path} belongs to uid {_owner(path)} and gitagent runs as uid"
            f" {os.geteuid()}, so git does not trust it",
            f"run as its owner, or: git config --global --add safe.directory {path}",
        )
    if "not a git repository" in error.stderr:
        return UserError(f"{start} is in no Git repository", "run: git init")
    if match := _EXTENSION.search(error.stderr):
        names = ", ".join(match["names"].split())
        return UserError(
            f"{start}: the installed git cannot read this repository: it uses the"
            f" extension {names}",
            "install a newer git",
        )
    lines = error.stderr.strip().splitlines()
    return UserError(f"{start}: {lines[0] if lines else error.message}")


def _owner(path: Path) -> int | str:
    """Return the uid that git's rule was about: of .git if there, else of the path."""
    mine = os.geteuid()
    for place in (path, path / ".git"):
        try:
            uid = place.stat().st_uid
        except OSError:
            continue
        if uid != mine:
            return uid
    return "another user"


def _worktree_of(common: Path, git_dir: Path) -> Path | None:
    """Return the work tree of a Git directory that was itself the place asked from."""
    if git_dir != common:
        try:
            return Path((git_dir / "gitdir").read_text().strip()).parent
        except OSError:
            return None
    return common.parent if common.name == ".git" else None


def _refuse_embedded(bare: Path) -> None:
    """Refuse a bare repository that is content of another: its config is hostile.

    Source: git-config(1), safe.bareRepository.
    """
    outer = next((up for up in bare.parents if (up / ".git").exists()), None)
    if outer is None:
        return
    head = str((bare / "HEAD").relative_to(outer))
    listed = run_git("ls-files", "--", f":(literal){head}", cwd=outer, ok=(0, 128))
    if listed.out:
        raise UserError(
            f"{bare} is a repository committed inside {outer}, and not to be trusted",
            f"go to {outer}",
        )
