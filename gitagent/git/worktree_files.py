"""The list of worktrees read from its files, as git keeps them; no process.

Whatever is not exactly as git writes it is left to git to tell. Source:
gitrepository-layout(5), "worktrees"; worktree.c and refs/files-backend.c of Git.
"""

import os
import re
from pathlib import Path

from gitagent.git.repository import Repository
from gitagent.git.worktree import Worktree

_BRANCH = re.compile(r"ref: (?P<ref>refs/\S+)\n\Z")
_COMMIT = re.compile(r"(?P<oid>[0-9a-f]{40}|[0-9a-f]{64})\n\Z")
_BYTES = 8192  # of a HEAD or a path
_NO_REF = "refs/heads/.invalid"  # HEAD where refs are no files


class _OddError(Exception):
    """Something that git has to be asked about."""


def read(repo: Repository) -> tuple[Worktree, ...] | None:
    """Return what ``worktree.entries`` does, `prunable` aside; None: ask git.

    It is asked too where the repository was found from a linked worktree.
    """
    try:
        return (_main(repo), *_linked(repo))
    except (OSError, _OddError):
        return None


def _main(repo: Repository) -> Worktree:
    if repo.bare:
        return Worktree(repo.common_dir, None, None, bare=True)
    if repo.worktree is None or repo.git_dir != repo.common_dir:
        raise _OddError
    head, branch = _head(repo, repo.common_dir)
    return Worktree(repo.worktree, head, branch)


def _linked(repo: Repository) -> list[Worktree]:
    try:
        names = sorted(os.listdir(repo.common_dir / "worktrees"))  # noqa: PTH208
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        folder = repo.common_dir / "worktrees" / name
        gitfile = Path(_text(folder / "gitdir").removesuffix("\n"))
        if not gitfile.is_absolute() or gitfile.name != ".git":
            raise _OddError
        head, branch = _head(repo, folder)
        found.append(Worktree(gitfile.parent, head, branch, locked=_locked(folder)))
    return found


def _head(repo: Repository, folder: Path) -> tuple[str | None, str | None]:
    """Return what HEAD in a Git directory is: a commit, or a branch."""
    path = folder / "HEAD"
    text = _text(path)
    if path.is_symlink():
        raise _OddError
    if match := _COMMIT.match(text):
        return match["oid"], None
    match = _BRANCH.match(text)
    if match is None or match["ref"] == _NO_REF:
        raise _OddError
    try:
        target = _text(repo.common_dir / match["ref"])
    except FileNotFoundError:
        return None, match["ref"]
    oid = _COMMIT.match(target)
    if oid is None:  # a branch that stands for another one
        raise _OddError
    return oid["oid"], match["ref"]


def _locked(folder: Path) -> str | None:
    try:
        return _text(folder / "locked").strip()
    except FileNotFoundError:
        return None


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_BYTES).decode(errors="surrogateescape")


def value(repo: Repository, ref: str) -> str | None:
    """Return the commit that a ref's own file holds; None: git has to be asked."""
    try:
        match = _COMMIT.match(_text(repo.common_dir / ref))
    except OSError:
        return None
    return match and match["oid"]
