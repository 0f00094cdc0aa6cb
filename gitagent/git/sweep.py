"""Removing files that hostile code wrote.

No symbolic link is followed, folders that deny access are opened up, and the depth of
the nesting does not matter: a folder below is moved up before it is emptied, so no
path grows long and no stack deep.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

_FOLDER_MODE = 0o755  # of one that had to be opened up
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Remove whatever is at ``path``; nothing there is no error.

    The folder that it lies in must be out of reach of whoever wrote it.

    Raises:
        OSError: the kernel refuses, for a file made immutable or a busy mount.
    """
    with suppress(FileNotFoundError), opened(path.parent) as parent:
        remove_entry(parent, path.name)


def remove_below(top: Path, path: str) -> None:
    """Remove what is at a path below ``top``, if only real folders lead there."""
    *folders, name = path.split("/")
    with ExitStack() as stack:
        fd = stack.enter_context(opened(top))
        for each in folders:
            try:
                fd = open_folder(fd, each)
            except OSError:
                return
            stack.callback(os.close, fd)
        remove_entry(fd, name)


def remove_entry(parent: int, name: str) -> None:
    """Remove the entry ``name`` of the folder opened as ``parent``."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            _empty(parent, name)
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)


def open_folder(parent: int | None, name: str) -> int:
    """Open a folder for reading and writing its entries, whatever its mode says.

    ``name`` may be a path through folders that are known to be real ones, from the
    one opened as ``parent``, or from the root for None.

    Raises OSError when it is no folder, but a symbolic link for example.
    """
    try:
        fd = os.open(name, _OPEN, dir_fd=parent)
    except PermissionError:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            raise
        os.chmod(name, _FOLDER_MODE, dir_fd=parent)
        fd = os.open(name, _OPEN, dir_fd=parent)
    if os.fstat(fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(fd, _FOLDER_MODE)
    return fd


@contextmanager
def opened(top: Path, folder: str = "") -> Iterator[int]:
    """Open ``top``, or the folder at a path below it, for its entries."""
    fd = open_folder(None, os.path.realpath(top))
    try:
        if folder:
            inner = open_folder(fd, folder)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _empty(parent: int, name: str) -> None:
    root = open_folder(parent, name)
    names = (f".{secrets.token_hex(8)}-{number}" for number in count())
    try:
        pending = _unlink_files(root)
        while pending:
            child = pending.pop()
            fd = open_folder(root, child)
            try:
                for below in _unlink_files(fd):
                    moved = next(names)
                    _move_up(fd, below, root, moved)
                    pending.append(moved)
            finally:
                os.close(fd)
            os.rmdir(child, dir_fd=root)
    finally:
        os.close(root)


def _unlink_files(folder: int) -> list[str]:
    """Unlink all that is no folder, and empty folders; return the other folders."""
    folders = []
    with os.scandir(folder) as entries:
        listed = [(each.name, each.is_dir(follow_symlinks=False)) for each in entries]
    for name, is_folder in listed:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
            continue
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:
            folders.append(name)
    return folders


def _move_up(source: int, name: str, root: int, new: str) -> None:
    try:
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=root)
    except PermissionError:
        # A folder's own mode has to allow the change of its "..".
        os.close(open_folder(source, name))
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=root)
