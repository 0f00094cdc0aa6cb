"""HOME of an agent, into which the daemon writes although a worker has written before.

Whatever lies there can be a link to somewhere else. So no link is ever followed, and
what is in the way of a file is put aside. Its worker has to be dead.
"""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from fnmatch import fnmatchcase
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o700
_MOST = 10_000  # entries that are looked at
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(home: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write files by their path below ``home``, in place of what is there.

    Raises:
        OSError: one cannot be written.
    """
    free(home)
    for path, data in files:
        *folders, name = path.split("/")
        with closing(_Opened(os.open(home, _FOLDER))) as at:
            for each in folders:
                at.enter(each)
            at.write(name, data)


def free(home: Path) -> None:
    """Let its owner in, whatever a worker made of it; a link is left alone."""
    with suppress(OSError):
        if not home.is_symlink():
            home.chmod(_MODE)


def has(home: Path, *names: str) -> bool:
    """Whether there is a plain file at a path below ``home``; ``*`` fits any part.

    Nothing is believed of a home where that is hard to tell.
    """
    left = iter(range(_MOST))
    try:
        return any(_below(str(home), names, left))
    except OSError:
        return False


def _below(folder: str, names: tuple[str, ...], left: Iterator[int]) -> Iterator[bool]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if next(left, None) is None:
                return
            if not fnmatchcase(entry.name, names[0]):
                continue
            if len(names) == 1:
                yield entry.is_file(follow_symlinks=False)
            elif entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path, names[1:], left)


class _Opened:
    """A folder that is open."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def close(self) -> None:
        os.close(self._fd)

    def enter(self, name: str) -> None:
        """Go into a folder; make it if it is not there, or is no folder."""
        try:
            inner = os.open(name, _FOLDER, dir_fd=self._fd)
        except OSError:
            self._put_aside(name)
            os.mkdir(name, _MODE, dir_fd=self._fd)
            inner = os.open(name, _FOLDER, dir_fd=self._fd)
        os.close(self._fd)
        self._fd = inner
        os.fchmod(inner, _MODE)

    def write(self, name: str, data: bytes) -> None:
        self._put_aside(name)
        with open(os.open(name, _NEW, 0o600, dir_fd=self._fd), "wb") as file:  # noqa: PTH123
            file.write(data)

    def _put_aside(self, name: str) -> None:
        aside = f"{name}.{secrets.token_hex(8)}"
        try:
            os.rename(name, aside, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except FileNotFoundError:
            return
        try:
            os.unlink(aside, dir_fd=self._fd)
        except IsADirectoryError:
            return  # it goes with the home
