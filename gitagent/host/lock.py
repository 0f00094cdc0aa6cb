"""One daemon per repository.

The lock is on a descriptor of the common Git directory itself, so every path and
worktree meets it and removing `.git/gitagent` frees nothing. The file `daemon.json`
says who holds it, for people only.
"""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from gitagent.errors import UserError
from gitagent.host.boot import boot_id
from gitagent.host.clock import sleep, stamp
from gitagent.host.kin import alive, ticks
from gitagent.host.place import state_dir

# `held` takes the lock for a moment; a daemon that starts just then tries again.
_TRIES = 5
_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Holder:
    """Who said that it holds the lock."""

    pid: int
    ticks: int  # start time in clock ticks since boot
    boot: str
    since: str  # UTC
    code: str = ""  # commit of the repository that its own code is of; empty: of none
    swap: str = ""  # sentence why it does not run newer code; empty: there is none


class DaemonLock:
    """The lock, held until `release` or the end of the process."""

    def __init__(self, fd: int, common_dir: Path) -> None:
        self._fd = fd
        self._common_dir = common_dir
        self._since = ""

    @classmethod
    def acquire(cls, common_dir: Path) -> Self | None:
        """Take the lock; None if another process or thread holds it.

        Raises:
            UserError: The directory cannot be opened, or its file system has no locks.
        """
        for _ in range(_TRIES):
            fd = _locked(common_dir, fcntl.LOCK_EX)
            if fd is not None:
                return cls(fd, common_dir)
            sleep(_PAUSE_S)
        return None

    def announce(self, code: str = "", swap: str = "") -> None:
        """Write who holds the lock, for `holder`; again, if that has changed."""
        pid = os.getpid()
        self._since = self._since or stamp()
        me = Holder(pid, ticks(pid) or 0, boot_id(), self._since, code, swap)
        path = _file(self._common_dir)
        path.parent.mkdir(exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        new.write_text(json.dumps(asdict(me)) + "\n", encoding="ascii")
        new.replace(path)

    def release(self) -> None:
        """Give the lock back; more than once is harmless."""
        if self._fd < 0:
            return
        _file(self._common_dir).unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1


def held(common_dir: Path) -> bool:
    """Whether a daemon, or a `land` without one, holds the lock now."""
    fd = _locked(common_dir, fcntl.LOCK_SH)
    if fd is not None:
        os.close(fd)
    return fd is None


def holder(common_dir: Path) -> Holder | None:
    """Return the process that announced itself and still lives, or None."""
    try:
        values = json.loads(_file(common_dir).read_bytes())
        found = Holder(
            int(values["pid"]),
            int(values["ticks"]),
            str(values["boot"]),
            str(values["since"]),
            str(values.get("code", "")),
            str(values.get("swap", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    same = found.boot == boot_id() and alive(found.pid, found.ticks)
    return found if same else None


def _file(common_dir: Path) -> Path:
    return state_dir(common_dir) / "daemon.json"


def _locked(common_dir: Path, how: int) -> int | None:
    try:
        fd = os.open(common_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"cannot open {common_dir}: {error.strerror}") from None
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except OSError as error:
        os.close(fd)
        raise UserError(
            f"cannot lock {common_dir}: {error.strerror}",
            "gitagent needs a file system with flock(2), such as a local disk",
        ) from None
    return fd
