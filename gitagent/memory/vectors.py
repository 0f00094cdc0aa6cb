"""The vectors of an index: made for what has none, and asked for what is near."""

import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from gitagent.git.objects import Objects
from gitagent.host import clock
from gitagent.memory import gather
from gitagent.memory.dense import Embedder, Matrix, Near, matrix
from gitagent.memory.gather import Change
from gitagent.memory.indexfile import IndexFile
from gitagent.memory.search import DOCUMENT, LANDING
from gitagent.memory.sync import Told, generation

_BATCH: Final = 64  # texts of one request
_AGAIN_S: Final = 60.0  # after a failure nothing is asked for so long
_KEPT: Final = 64  # queries whose vector is remembered

_Place = tuple[str, int]  # blob and first line


class Vectors:
    """Those of one embedder; for any thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._asked: dict[str, bytes] = {}
        self._matrix: tuple[tuple[int, str], Matrix] | None = None
        self._pause = 0.0  # until then
        self.note = ""  # why words alone were searched, a sentence

    def fill(
        self,
        file: IndexFile,
        objects: Objects,
        told: Told,
        until: float,
    ) -> None:
        """Make vectors of passages that have none, as many as there is time for."""
        name = self._embedder.name
        missing = file.run(lambda db: _missing(db, name), until)
        if not missing:
            return
        texts = _texts(objects, missing, told)
        while batch := list(islice(texts, _BATCH)):
            made = self._embed([text for _, text in batch], until)
            if made is None:
                return
            rows = [
                (name, blob, first, data)
                for ((blob, first), _), data in zip(batch, made, strict=True)
            ]
            if not file.run(lambda db, rows=rows: _keep(db, rows), until):  # type: ignore[misc]
                return

    def near(
        self, file: IndexFile, query: str, kinds: Collection[str], until: float
    ) -> list[Near]:
        """Return the passages that are near to a query; [] if that cannot be told."""
        name = self._embedder.name
        asked = self._of_query(query, until)
        if asked is None:
            return []
        key = (file.opened, file.run(generation, until) or "")
        with self._lock:
            known = self._matrix
        if known is None or known[0] != key:
            made = file.run(lambda db: matrix(db, name), until)
            if made is None:
                return []
            known = (key, made)
            with self._lock:
                self._matrix = known
        return known[1].nearest(asked, kinds)

    def _of_query(self, query: str, until: float) -> bytes | None:
        with self._lock:
            known = self._asked.get(query)
        if known is None:
            made = self._embed([query], until)
            if made is None:
                return None
            known = made[0]
            with self._lock:
                if len(self._asked) >= _KEPT:
                    self._asked.clear()
                self._asked[query] = known
        return known

    def _embed(self, texts: Sequence[str], until: float) -> list[bytes] | None:
        now = clock.monotonic()
        if now < self._pause or now >= until:
            return None
        made = self._embedder.embed(texts, until - now)
        if isinstance(made, str):
            self.note = made
            self._pause = clock.monotonic() + _AGAIN_S
            return None
        self.note = ""
        return made


def _missing(db: sqlite3.Connection, embedder: str) -> list[tuple[str, str, str, int]]:
    """Return kind, path, blob and first line of each passage without a vector."""
    found = db.execute(
        "SELECT kind, path, blob, first FROM passage WHERE NOT EXISTS ("
        " SELECT 1 FROM vector WHERE vector.blob = passage.blob"
        " AND vector.first = passage.first AND vector.embedder = ?) ORDER BY id",
        (embedder,),
    )
    return found.fetchall()


def _keep(db: sqlite3.Connection, rows: Sequence[tuple[str, str, int, bytes]]) -> bool:
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)
    count = int(generation(db) or 0) + 1
    db.execute("INSERT OR REPLACE INTO state VALUES ('generation', ?)", (str(count),))
    db.execute("COMMIT")
    return True


def _texts(
    objects: Objects,
    missing: Sequence[tuple[str, str, str, int]],
    told: Told,
) -> Iterator[tuple[_Place, str]]:
    """Yield what the vectors are to be made of; what is told comes first."""
    wanted = {(blob, first) for _, _, blob, first in missing}
    for key, blob in told.told.items():
        if (blob, 1) in wanted:
            yield (blob, 1), told.passage(key).said
    seen: set[str] = set()
    for kind, path, blob, _ in missing:
        if kind not in (LANDING, DOCUMENT) or blob in seen:
            continue
        seen.add(blob)
        for each in gather.of_file(objects, Change(kind, path, blob)):
            if (blob, each.first) in wanted:
                yield (blob, each.first), each.said
