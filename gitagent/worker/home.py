"""HOME of an agent, into which the daemon writes although a worker has written before.

Whatever lies there can be a link to somewhere else. So no link is ever followed, and
what is in the way of a file is put aside. Its worker has to be dead.
"""

import os
import secrets
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(home: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write files by their path below ``home``, in place of what is there.

    Raises:
        OSError: one cannot be written.
    """
    for path, data in files:
        *folders, name = path.split("/")
        with closing(_Opened(os.open(home, _FOLDER))) as at:
            for each in folders:
                at.enter(each)
            at.write(name, data)


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
            os.mkdir(name, 0o700, dir_fd=self._fd)
            inner = os.open(name, _FOLDER, dir_fd=self._fd)
        os.close(self._fd)
        self._fd = inner

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
