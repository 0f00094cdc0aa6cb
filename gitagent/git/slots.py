"""The folders of a pool, each taken by one at a time, and what is known of them.

What a taker left, this process remembers for a short time and for as long as nobody
else had the folder, which the next one sees in its lock file. Anything else, and
nothing is known. What a dead taker held is free at once: the kernel drops its lock.
"""

import fcntl
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from gitagent.git.stat_index import Folders
from gitagent.host import clock
from gitagent.host.place import make_private

# A program that removes old files from caches may come by later.
TIDY_S = 60.0

_WAIT_S = 10.0  # for a slot that is being tidied, before making another
_TOKEN = 16  # bytes


@dataclass(frozen=True, slots=True)
class Tidy:
    """A checkout that holds exactly a commit, and kept folders."""

    commit: str
    keep: frozenset[str]


@dataclass(slots=True)
class Known:
    """What this process knows of a slot."""

    token: bytes = b""  # what is in its lock file if nobody had it since
    left: float = 0.0  # when it was left tidy, monotonic
    tidy: Tidy | None = None
    stamp: tuple[int, int] | None = None  # of the index
    folders: Folders | None = None  # that the index holds
    skeleton: tuple[Path, ...] | None = None  # objects lent to a next Git directory


@dataclass(frozen=True, slots=True)
class Slot:
    """One folder, held by one taker."""

    path: Path
    known: Known
    leave: Callable[[], None]  # from now on it is worth waiting for


class Slots:
    """The slots of one pool; for any thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[Path, Known] = {}
        self._tidying: set[Path] = set()
        self._freed = threading.Condition()

    @contextmanager
    def take(self) -> Iterator[Slot]:
        """Yield the first that is free, or a new one."""
        fd, path = self._free()
        try:
            known = self._known.setdefault(path, Known())
            ours = known.token and os.pread(fd, _TOKEN, 0) == known.token
            if not ours or clock.monotonic() - known.left > TIDY_S:
                known.tidy = known.skeleton = None
            known.token = secrets.token_bytes(_TOKEN)
            os.pwrite(fd, known.token, 0)
            yield Slot(path, known, lambda: self._tidying.add(path))
        finally:
            os.close(fd)
            with self._freed:
                self._tidying.discard(path)
                self._freed.notify_all()

    def _free(self) -> tuple[int, Path]:
        """Return a slot with its lock; one that is being tidied comes before a new one.

        A new one has all files to write, which takes seconds for a large repository.
        """
        limit = clock.monotonic() + _WAIT_S
        with self._freed:
            while True:
                for path in self._paths(new=False):
                    if (fd := _lock(path)) is not None:
                        return fd, path
                left = limit - clock.monotonic()
                if not self._tidying or left <= 0:
                    break
                self._freed.wait(left)
        for path in self._paths(new=True):
            make_private(path)
            if (fd := _lock(path)) is not None:
                return fd, path
        raise AssertionError("unreachable")

    def _paths(self, *, new: bool) -> Iterator[Path]:
        for number in count():
            path = self._root / str(number)
            if not new and not path.exists():
                return
            yield path


def _lock(path: Path) -> int | None:
    """Lock a slot; None: somebody has it, or it was removed just now."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        fd = os.open(path / "lock", flags, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    return fd
