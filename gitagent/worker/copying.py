"""The ``copy`` files: untracked files of the main worktree, given to each attempt.

Both ends can hold links: one would show the agent a file from elsewhere, the other,
committed by an earlier attempt, would have the daemon write elsewhere. So every name
on the way is opened without following links.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitagent.files import clean
from gitagent.git.repository import Repository

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class CannotCopy(Exception):
    """A file of ``worker.copy`` that cannot be given; the text says what to change."""


def main_worktree(repo: Repository) -> Path | None:
    """Return the main worktree; None: a bare repository has none."""
    if repo.bare:
        return None
    if repo.common_dir.name == ".git":
        return repo.common_dir.parent
    return repo.worktree


def copy_all(repo: Repository, names: tuple[str, ...], tree: Path) -> None:
    """Copy files of the main worktree to the same paths below ``tree``.

    Raises:
        CannotCopy: one is missing, or is no regular file inside the main worktree.
        OSError: the disk is full.
    """
    if not names:
        return
    main = main_worktree(repo)
    if main is None:
        raise CannotCopy(
            "`worker.copy` names files of the main worktree, and this repository is"
            " bare; take them out of .agent/config.toml"
        )
    for name in names:
        _copy(main, name, tree)


def _copy(main: Path, name: str, tree: Path) -> None:
    shown = clean.line(name)
    mend = f"put it there, or take it out of `worker.copy`: {main / shown}"
    parts = Path(name).parts
    if not parts or ".." in parts or parts[0] == "/" or ".git" in parts:
        raise CannotCopy(
            f"`worker.copy` names {shown}, which is no path of a file in it"
        )
    try:
        with _folder(main, parts[:-1], make=False) as source:
            fd = os.open(
                parts[-1],
                os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                dir_fd=source,
            )
    except FileNotFoundError:
        raise CannotCopy(f"The file {shown} is missing; {mend}") from None
    except OSError as error:
        # ELOOP and ENOTDIR are what a link on the way gives.
        raise CannotCopy(
            f"The file {shown} cannot be copied ({error.strerror}; links are not"
            f" followed); {mend}"
        ) from None
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise CannotCopy(f"{shown} is no regular file; {mend}")
        try:
            with _folder(tree, parts[:-1], make=True) as target:
                _write(fd, target, parts[-1], stat.S_IMODE(mode))
        except (FileExistsError, NotADirectoryError):
            raise CannotCopy(
                f"{shown} is in the commit that the attempt starts from, or something"
                " there is in its way; take it out of `worker.copy`"
            ) from None
    finally:
        os.close(fd)


def _write(source: int, folder: int, name: str, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, mode, dir_fd=folder)
    with os.fdopen(os.dup(source), "rb") as old, os.fdopen(fd, "wb") as new:
        shutil.copyfileobj(old, new)


@contextmanager
def _folder(root: Path, names: tuple[str, ...], *, make: bool) -> Iterator[int]:
    """Yield a descriptor of a folder below ``root``; no link on the way is followed."""
    fd = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=fd)
            below = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)
