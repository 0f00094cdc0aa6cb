"""The note of an advance under way, so that a crash in between can be mended.

It is a file that the advance's git process inherits locked: while that process lives
nobody starts another advance, and once the lock is free with the note still there, it
died. Then the lock files it left are known by what they hold. A lock of a person's is
never removed. Source: lockfile.h and refs/files-backend.c of Git.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from gitagent.errors import Busy
from gitagent.git.repository import Repository
from gitagent.host import clock, place

DEAD_S = 5.0  # a ref lock is held for milliseconds; a slow hook can take longer

_NOTE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Note:
    """What an advance is about to do in a checkout."""

    path: str  # top of the work tree
    git_dir: str  # of that work tree
    ref: str
    old: str  # all zeros: the ref does not exist
    new: str


@dataclass(frozen=True, slots=True)
class Desk:
    """The one place for a note, held by us."""

    fd: int  # to be inherited by the git process of the advance

    def read(self) -> Note | None:
        """Return the note of an advance that did not end; None: there is none."""
        try:
            return Note(**json.loads(os.pread(self.fd, _NOTE_BYTES, 0)))
        except (ValueError, TypeError):
            return None

    @property
    def since(self) -> float:
        """When the note was left, in seconds since the epoch."""
        return os.fstat(self.fd).st_mtime

    def write(self, note: Note) -> None:
        """Leave the note, in place of any other."""
        data = json.dumps(asdict(note)).encode()
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, data, 0)

    def clear(self) -> None:
        """Take the note away: the advance ended, or was taken back."""
        os.ftruncate(self.fd, 0)


@contextmanager
def desk(repo: Repository) -> Iterator[Desk]:
    """Hold the place for the note.

    Raises:
        Busy: an advance is under way, maybe one that outlived its daemon.
    """
    folder = place.state_dir(repo.common_dir)
    folder.mkdir(exist_ok=True)
    fd = os.open(folder / "advance.json", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy("another advance of a checkout is still under way") from None
        yield Desk(fd)
    finally:
        os.close(fd)


def remove_ref_locks(repo: Repository, note: Note) -> None:
    """Remove the locks on refs that the dead git process of ``note`` left.

    Raises:
        Busy: one is not old enough to be sure of.
    """
    git_dir = Path(note.git_dir)
    values = {f"{note.old}\n".encode(), f"{note.new}\n".encode(), b""}
    for lock in (
        git_dir / "ORIG_HEAD.lock",
        git_dir / "HEAD.lock",
        repo.common_dir / f"{note.ref}.lock",
    ):
        with suppress(FileNotFoundError):
            if lock.read_bytes() not in values:
                continue
            if clock.now().timestamp() - lock.stat().st_mtime < DEAD_S:
                raise Busy(f"{lock} was left behind", "try again in some seconds")
            lock.unlink()
