"""Vectors: a second way to be close, for what is said in other words.

A vector is kept by who made it and of what, so it is made once. Without numpy the
angles are reckoned in Python, which is enough for some thousand passages.
"""

import math
import sqlite3
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

from gitagent.core.vector import unit
from gitagent.errors import UserError
from gitagent.memory.search import POOL

LOCAL: Final = "local"  # the value of memory.embeddings
_PACKAGE: Final = "wordllama"
_SAME: Final = 0.99  # mean cosine at which nothing can be told apart
_CHARACTERS: Final = 4000  # of a text that its vector is made of


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def name(self) -> str:
        """What its vectors are kept under; other vectors, another name."""

    def embed(self, texts: Sequence[str], seconds: float) -> list[bytes] | str:
        """Return one vector each, 32-bit floats, or why there is none, a sentence."""


class Local:
    """The model that the package wordllama carries: 256 numbers, no network."""

    name: str = "wordllama-l2-256"

    def __init__(self) -> None:
        """Raises UserError: the package is not installed."""
        if find_spec(_PACKAGE) is None:
            raise UserError(
                'no vectors: memory.embeddings is "local", and its package is missing',
                "install gitagent with its extra `embeddings`, or take the setting out",
            )

    def embed(self, texts: Sequence[str], seconds: float) -> list[bytes] | str:
        """See `Embedder`."""
        del seconds  # 10,000 short texts take one or two
        try:
            made = _model().embed([text[:_CHARACTERS] or " " for text in texts])
        except Exception as error:  # noqa: BLE001 - of the package, of any kind
            return f"The local vectors cannot be made ({type(error).__name__})."
        return [unit(row.tolist()) for row in made]


@lru_cache(maxsize=1)
def _model() -> Any:  # noqa: ANN401 - a package without types, and an extra
    package = import_module(_PACKAGE)  # half a second
    # Named by its own folder: else it looks for its weights on the network.
    there = find_spec(_PACKAGE)
    folder = Path(there.origin).parent if there and there.origin else None
    return package.WordLlama.load(cache_dir=folder, disable_download=True)


@dataclass(frozen=True, slots=True)
class Near:
    """A passage that is near to a query."""

    id: int
    lean: float  # 1: the same; 0: as near as passages are to the query on average


class Matrix:
    """The vectors of one state of the index."""

    def __init__(self, found: Sequence[tuple[int, str, bytes]]) -> None:
        size = len(found[0][2]) if found else 0
        kept = [each for each in found if len(each[2]) == size]
        self._ids = [each[0] for each in kept]
        self._kinds = [each[1] for each in kept]
        self._size = size
        self._data = b"".join(each[2] for each in kept)
        self._numpy = _numpy()

    def nearest(self, vector: bytes, kinds: Collection[str]) -> list[Near]:
        """Return the passages of some kinds at the smallest angles, nearest first.

        Of one model all cosines are near 0, of another near 0.7; what they have in
        common is taken off, so that one threshold does for both.
        """
        if not self._ids or len(vector) != self._size:
            return []
        angles = self._angles(vector)
        among = [n for n, kind in enumerate(self._kinds) if kind in kinds]
        among.sort(key=lambda n: -angles[n])
        mean = min(_SAME, math.fsum(angles) / len(angles))
        leans = ((n, (angles[n] - mean) / (1 - mean)) for n in among[:POOL])
        return [Near(self._ids[n], lean) for n, lean in leans]

    def _angles(self, vector: bytes) -> list[float]:
        if self._numpy is not None:
            of = self._numpy.frombuffer
            rows = of(self._data, dtype="float32").reshape(len(self._ids), -1)
            angles: list[float] = (rows @ of(vector, dtype="float32")).tolist()
            return angles
        asked = array("f", vector)
        whole = array("f", self._data)
        size = len(asked)
        return [
            math.fsum(map(float.__mul__, whole[at : at + size], asked))
            for at in range(0, len(whole), size)
        ]


def _numpy() -> Any:  # noqa: ANN401 - an extra
    try:
        return import_module("numpy")  # 100 ms
    except ImportError:
        return None


def matrix(db: sqlite3.Connection, embedder: str) -> Matrix:
    """Return the vectors that an embedder made. Raises sqlite3.Error."""
    found = db.execute(
        "SELECT passage.id, passage.kind, vector.data FROM passage JOIN vector"
        " ON vector.blob = passage.blob AND vector.first = passage.first"
        " WHERE vector.embedder = ?",
        (embedder,),
    )
    return Matrix(found.fetchall())
