"""Events of the common Git directory, as a hint that something may have changed.

An event carries no fact: it wakes the loop, which reads everything anew. The loop
polls as well, so an event that is lost costs time and nothing else. Directories are
watched, never files, since Git replaces files; never `objects/` or a work tree.

Source: inotify(7), gitrepository-layout(5), proc(5) on mountinfo.
"""

import contextlib
import errno
import fnmatch
import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from watchdog.events import (
    DirModifiedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver
from watchdog.observers.inotify import InotifyEmitter, InotifyObserver
from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)

from gitagent.core.layout import CONVERSATIONS, EXCHANGES
from gitagent.host.clock import Wake

POLL_S = 10.0  # how often to look all the same
POLL_ALONE_S = 2.0  # how often to look when no events can be had

# Names directly in a Git directory that say nothing about refs or HEAD. `index` goes
# with every commit and comes before its ref: waking for it would read too early.
_NOISE = (
    *("*.lock", "packed-refs.new", "gc.pid*", "gc.log*", "*_EDITMSG", "objects"),
    *("logs", "index", "sharedindex.*", "next-index-*", "ORIG_HEAD", "FETCH_HEAD"),
    *("AUTO_MERGE", "gitagent", "rr-cache", "tmp_*"),
)

_REMOTE = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|ceph|lustre|gpfs|afs|vboxsf|prl_fs|virtiofs|drvfs"
    r"|fuse(\..*)?"
)

# What is left out matters: a move *from* is held back by watchdog for half a second,
# with all that comes after it, until the matching *to* is seen; and reading a ref
# would be an event too, so that every look at the refs would cause the next.
_MASK = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_DELETE_SELF
)

_LIMITS = {
    errno.ENOSPC: "the limit on inotify watches (sysctl fs.inotify.max_user_watches)",
    errno.EMFILE: "the limit on inotify instances "
    "(sysctl fs.inotify.max_user_instances)",
}


class Watch:
    """Sets ``wake`` when refs or HEAD of a repository may have changed.

    ``extra`` are further directories, watched without what is below them. ``problem``
    is a sentence if not everything can be watched, else None; ``poll_s`` is how many
    seconds the loop may wait without an event.
    """

    def __init__(
        self, common_dir: Path, wake: Wake, extra: Iterable[Path] = ()
    ) -> None:
        self.problem: str | None = None
        self.poll_s = POLL_S
        self._common_dir = common_dir
        self._wake = wake
        self._extra = tuple(extra)
        self._observer: _Observer | None = None
        self._watched: frozenset[tuple[Path, bool]] = frozenset()
        self._log = _LogToWake(wake)

    def start(self) -> None:
        """Begin; what cannot be watched is told by ``problem`` and never raised."""
        self.problem, self.poll_s = None, POLL_S
        if not self._common_dir.is_dir():
            self._give_up(f"{self._common_dir} is not there")
            return
        kind = filesystem(self._common_dir)
        if is_remote(kind):
            self._give_up(f"{self._common_dir} is on {kind}, which tells of no changes")
            return
        # Every watch that is added again warns; it says nothing and fills the log.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        logging.getLogger("watchdog").addHandler(self._log)
        handler = _Handler(self._common_dir, self._wake)
        try:
            self._observer = _Observer(self._limited)
            self._watched = self._folders()
            for folder, deep in self._watched:
                self._observer.schedule(handler, str(folder), recursive=deep)
            self._observer.start()
        except OSError as error:
            self.stop()
            self._limited(error)
            if self.problem is None:
                self._give_up(f"{self._common_dir} cannot be watched: {error.strerror}")

    def stop(self) -> None:
        """End; more than once is harmless."""
        observer, self._observer = self._observer, None
        logging.getLogger("watchdog").removeHandler(self._log)
        if observer is not None:
            observer.stop()
            if observer.is_alive():
                observer.join()

    def healthy(self) -> bool:
        """Whether events still come; if not, stop and start it again.

        Where only polling is possible there is nothing that could fail.
        """
        if self._observer is None:
            return self.problem is not None
        return self._observer.all_alive() and self._watched == self._folders()

    def _folders(self) -> frozenset[tuple[Path, bool]]:
        common = self._common_dir
        found = [(common, False), (common / "refs", True), (common / "reftable", False)]
        found += [(path, False) for path in self._extra]
        return frozenset(each for each in found if each[0].is_dir())

    def _limited(self, error: OSError) -> None:
        if error.errno in _LIMITS:
            self._give_up(
                f"changes are noticed late: {_LIMITS[error.errno]} is reached"
            )

    def _give_up(self, problem: str) -> None:
        self.problem = f"{problem}; gitagent looks every {POLL_ALONE_S:g} s instead"
        self.poll_s = POLL_ALONE_S


def filesystem(path: Path, mounts: str | None = None) -> str:
    """Return the type of the file system that holds ``path``; empty if unknown."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
        except OSError:
            return ""
    where = Path(os.path.realpath(path))
    kind, depth = "", -1
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        point = Path(re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), left.split()[4]))
        if where.is_relative_to(point) and len(point.parts) >= depth:
            kind, depth = right.split()[0], len(point.parts)
    return kind


def is_remote(kind: str) -> bool:
    """Whether a file system tells of no changes, and is less sure with locks."""
    return _REMOTE.fullmatch(kind) is not None


def is_noise(common_dir: Path, path: str) -> bool:
    """Whether a change of ``path`` says nothing about refs or HEAD."""
    folder, name = os.path.split(path)
    if folder == str(common_dir / "reftable"):
        return name != "tables.list"
    if Path(folder).is_relative_to(common_dir / "refs"):
        # Each request to a model moves refs that nothing is decided by.
        quiet = (f"{common_dir}/{EXCHANGES}", f"{common_dir}/{CONVERSATIONS}")
        said = f"{path}/".startswith(quiet)
        return said or name.endswith(".lock")
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _NOISE)


class _Handler(FileSystemEventHandler):
    def __init__(self, common_dir: Path, wake: Wake) -> None:
        self._common_dir = common_dir
        self._wake = wake

    def dispatch(self, event: FileSystemEvent) -> None:
        # An error here would end watchdog's thread without a word.
        with contextlib.suppress(Exception):
            # Each event in a folder comes with one that says the folder was modified.
            if isinstance(event, DirModifiedEvent):
                return
            if is_noise(self._common_dir, os.fsdecode(event.src_path)):
                return
        self._wake.set()


class _LogToWake(logging.Handler):
    """Takes watchdog's complaints, an overflow of the kernel's queue above all."""

    def __init__(self, wake: Wake) -> None:
        super().__init__(logging.WARNING)
        self._wake = wake

    def emit(self, record: logging.LogRecord) -> None:
        del record
        self._wake.set()


class _Emitter(InotifyEmitter):
    def get_event_mask_from_filter(self) -> Mask:
        return _MASK


class _Inotify(InotifyFD):
    """Tells of a limit; watchdog itself is silent when a folder below is left out."""

    def __init__(self, limited: Callable[[OSError], None]) -> None:
        super().__init__()
        self._limited = limited

    def add_callback(
        self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId
    ) -> WatchDescriptor:
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as error:
            self._limited(error)
            raise


class _Observer(InotifyObserver):
    def __init__(self, limited: Callable[[OSError], None]) -> None:
        self._inotify_fd = _Inotify(limited)
        self._inotify_fd.start()
        BaseObserver.__init__(self, _Emitter, inotify_fd=self._inotify_fd)

    def all_alive(self) -> bool:
        """Whether no thread of it has died."""
        threads = (self, self._inotify_fd, *self.emitters)
        return all(thread.is_alive() for thread in threads)
