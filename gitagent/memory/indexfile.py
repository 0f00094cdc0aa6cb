"""The SQLite file of the index: opened, locked, and thrown away when it is no good.

It is a cache. One of another version has another name; one that is damaged is removed
and made anew; where nothing can be written, it is kept in memory.
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from gitagent.host import clock, place

VERSION: Final = 1  # of the tables, and of how texts become terms and passages

_BUSY_S: Final = 2.0
_PAUSE_S: Final = 0.01
_STEPS: Final = 4000  # of SQLite's machine between two looks at the clock
_UNWRITABLE: Final = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
_LATER: Final = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT}
)
_TABLES: Final = """
CREATE TABLE passage (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  path TEXT NOT NULL, -- of the file; empty: an episode has none
  blob TEXT NOT NULL,
  first INTEGER NOT NULL, -- line
  last INTEGER NOT NULL,
  at TEXT NOT NULL,
  about TEXT NOT NULL -- paths, one a line
);
CREATE INDEX passage_name ON passage (kind, name);
CREATE INDEX passage_blob ON passage (blob);
CREATE VIRTUAL TABLE word USING fts5 (title, body, tokenize = 'unicode61');
CREATE VIRTUAL TABLE spread USING fts5vocab (word, row);
CREATE TABLE vector (
  embedder TEXT NOT NULL,
  blob TEXT NOT NULL,
  first INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (blob, first, embedder)
) WITHOUT ROWID;
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

T = TypeVar("T")


class IndexFile:
    """One connection, for one thread at a time."""

    def __init__(self, common_dir: Path) -> None:
        folder = place.cache_root(common_dir) / "memory"
        self.path = folder / f"search-{VERSION}.sqlite3"
        self.in_memory = False
        self.problem = ""  # why there cannot be one, not even in memory
        self.opened = 0  # times; what was told of it before is void after one more
        self._turn = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close it; who asks again opens it again."""
        with self._turn:
            self._close()

    def run(self, work: Callable[[sqlite3.Connection], T], until: float) -> T | None:
        """Return what ``work`` returns; None: not before ``until``, or not at all.

        A transaction that it leaves open is undone. A damaged file is made anew once,
        and then, as where it cannot be written, there is an empty one in memory.
        """
        left = until - clock.monotonic()
        if left <= 0 or not self._turn.acquire(timeout=left):
            return None
        try:
            for again in (False, True, True):
                try:
                    return self._once(work, until)
                except sqlite3.Error as error:
                    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                    self._undo()
                    if code in _LATER:
                        return None
                    if self.in_memory:
                        self.problem = str(error)
                        return None
                    if again or code in _UNWRITABLE or not self._discard():
                        self._close()
                        self.in_memory = True
                except OSError:
                    self._close()
                    self.in_memory = True
            return None
        finally:
            self._turn.release()

    @contextmanager
    def writing(self, until: float) -> Iterator[bool]:
        """Keep other processes from writing; False: they would not let go in time."""
        if self.in_memory:
            yield True
            return
        try:
            fd = self._lock(until)
        except OSError:  # it cannot be written at all, as opening it will tell
            yield True
            return
        try:
            yield fd is not None
        finally:
            if fd is not None:
                os.close(fd)

    def _once(self, work: Callable[[sqlite3.Connection], T], until: float) -> T:
        if self._connection is None:
            self._connection = self._made()
            self.opened += 1
        db = self._connection
        db.set_progress_handler(lambda: clock.monotonic() > until, _STEPS)
        try:
            return work(db)
        finally:
            db.set_progress_handler(None, 0)

    def _undo(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.rollback()

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _discard(self) -> bool:
        """Take a damaged file away; whether it is gone."""
        self._close()
        if self.in_memory:
            return False
        try:
            # Its log too: a new file with an old log would be damaged again.
            for ending in ("-wal", "-shm", ""):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _lock(self, until: float) -> int | None:
        place.make_private(self.path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        fd = os.open(self.path.with_suffix(".lock"), flags, 0o600)
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if clock.monotonic() >= until:
                    os.close(fd)
                    return None
                clock.sleep(_PAUSE_S)
            except OSError:  # a file system without locks: SQLite has its own
                return fd
            else:
                return fd

    def _made(self) -> sqlite3.Connection:
        if self.in_memory:
            return _made(":memory:")
        place.make_private(self.path.parent)
        return _made(str(self.path))


def _made(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        # What a crash loses is made again; what it tears shows as damage.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA cache_size = -32000")
        if not _is_made(db):
            db.execute("BEGIN IMMEDIATE")
            if not _is_made(db):  # another process was first
                for statement in _TABLES.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION:d}")
            db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _is_made(db: sqlite3.Connection) -> bool:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return bool(version == VERSION)
