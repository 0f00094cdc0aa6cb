"""How what the index holds is put in order for a query.

Words are ranked by BM25, vectors by their angle, and both rankings are fused. The score
beside it says how much of a query is answered, and means the same for every query.
"""

import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gitagent.core.glob import matching
from gitagent.core.scoring import fused
from gitagent.core.words import terms
from gitagent.memory.search import POOL

if TYPE_CHECKING:
    from gitagent.memory.indexfile import IndexFile
    from gitagent.memory.vectors import Vectors

_CHARACTERS: Final = 20_000  # of a query that are looked at
_TERMS: Final = 128  # of it that are looked up
_ASKED: Final = 24  # of these, the rarest, that are searched for
_SPARE: Final = 3  # passages looked at for each hit that is asked for
# Passages from which it can be told how common a word is: with fewer there may be as
# many more as that without it, or else nothing would be close in a young memory.
_LEAST: Final = 100
_FEW: Final = 2  # that are searched for however common they are
_COMMON: Final = 0.25  # share of all passages
_DRIFT: Final = 0.02  # of the number of passages, after which all is counted anew
_REMEMBERED: Final = 50_000  # terms
_WEIGHTS: Final = (3.0, 1.0)  # of a word in the title, and in the body
# In nats: what one word tells that one of twenty passages has. It keeps a single common
# word from being the whole of a match.
_DOUBT: Final = 3.0
# Where a vector says nothing, and where all: as the labelled set of the tests has it.
_LEANS: Final = (0.15, 0.7)
_NEAR: Final = 0.1  # of what is missing of a score, for what is about the paths


@dataclass(frozen=True, slots=True)
class Row:
    """A passage as the index has it."""

    id: int
    kind: str
    name: str
    path: str
    blob: str
    first: int
    last: int
    at: str
    about: tuple[str, ...]
    title: str  # terms
    body: str


@dataclass(frozen=True, slots=True)
class Question:
    """A query as terms, with what each of them tells."""

    weights: Mapping[str, float]  # of the terms, in nats; what nobody has tells most
    asked: tuple[str, ...]  # those that are searched for

    @property
    def mass(self) -> float:
        """What all of them tell."""
        return math.fsum(self.weights.values())


class Spread:
    """In how many passages each term is; remembered, as it changes little."""

    def __init__(self) -> None:
        self._total = 0
        self._known: dict[str, int] = {}

    def total(self, db: sqlite3.Connection) -> int:
        """Return how many passages there are. Raises sqlite3.Error."""
        total: int = db.execute("SELECT count(*) FROM passage").fetchone()[0]
        if abs(total - self._total) > self._total * _DRIFT:
            self._total, self._known = total, {}
        return total

    def of(self, db: sqlite3.Connection, term: str) -> int:
        """Return in how many passages a term is. Raises sqlite3.Error."""
        known = self._known.get(term)
        if known is None:
            row = db.execute("SELECT doc FROM spread WHERE term = ?", (term,))
            (known,) = row.fetchone() or (0,)
            if len(self._known) >= _REMEMBERED:
                self._known = {}
            self._known[term] = known
        return known


def question(db: sqlite3.Connection, query: str, spread: Spread) -> Question:
    """Return any text as a question. Raises sqlite3.Error."""
    found = list(dict.fromkeys(terms(query[:_CHARACTERS])))[:_TERMS]
    total = spread.total(db)
    seen = {term: min(total, spread.of(db, term)) for term in found}
    most = max(total, _LEAST)
    weights = {t: math.log1p((most - n + 0.5) / (n + 0.5)) for t, n in seen.items()}
    asked = sorted(filter(seen.get, found), key=lambda term: -weights[term])
    # What is nearly everywhere makes a ranking slow, and no other.
    while len(asked) > _FEW and seen[asked[-1]] > most * _COMMON:
        asked.pop()
    return Question(weights, tuple(asked[:_ASKED]))


def by_words(
    db: sqlite3.Connection, asked: Question, kinds: Collection[str]
) -> list[int]:
    """Return the passages with words of the question, the best first.

    Raises sqlite3.Error.
    """
    if not asked.asked or not kinds:
        return []
    # Terms are letters and digits alone, so that nothing in them is an operator.
    match = " OR ".join(f'"{term}"' for term in asked.asked)
    marks = ", ".join("?" * len(kinds))
    found = db.execute(
        # S608: the marks are question marks, the weights numbers of ours.
        "SELECT word.rowid FROM word JOIN passage ON passage.id = word.rowid"  # noqa: S608
        f" WHERE word MATCH ? AND passage.kind IN ({marks})"
        f" ORDER BY bm25(word, {_WEIGHTS[0]}, {_WEIGHTS[1]}), word.rowid DESC LIMIT ?",
        (match, *kinds, POOL),
    )
    return [row[0] for row in found]


def rows(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, Row]:
    """Return passages by id. Raises sqlite3.Error."""
    found: dict[int, Row] = {}
    for each in ids:
        row = db.execute(
            "SELECT passage.*, title, body FROM passage JOIN word ON word.rowid = id"
            " WHERE id = ?",
            (each,),
        ).fetchone()
        if row is not None:
            *head, about, title, body = row
            paths = tuple(about.split("\n")) if about else ()
            number, kind, name, path, blob, first, last, at = head
            found[each] = Row(
                number, kind, name, path, blob, first, last, at, paths, title, body
            )
    return found


def answered(asked: Question, row: Row) -> float:
    """Return how much of a question the words of a passage answer, 0..1.

    A term counts by how rare it is. What both share is held against the smaller of the
    two, the question and the passage's title: so a title is found whole in a long text
    as well as a few words in a long passage.
    """
    title = set(row.title.split())
    both = title.union(row.body.split())
    shared = _mass(asked, both)
    whole = shared / (asked.mass + _DOUBT)
    named = _mass(asked, title)
    rest = sum(1 for term in title if term not in asked.weights)
    # What other words of the title tell is not looked up: as the average of the rest.
    mean = asked.mass / max(1, len(asked.weights))
    titled = named / (named + rest * mean + _DOUBT)
    return max(whole, titled)


def _mass(asked: Question, words: Iterable[str]) -> float:
    return math.fsum(asked.weights.get(word, 0.0) for word in words)


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that was found."""

    row: Row
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """What was found, the best first, one passage of each thing."""

    asked: Question
    found: tuple[Found, ...] = ()


NOTHING: Final = Ranked(Question({}, ()))


def ranked(
    file: "IndexFile",
    vectors: "Vectors | None",
    spread: Spread,
    query: str,
    kinds: Collection[str],
    paths: tuple[str, ...],
    most: int,
    until: float,
) -> Ranked:
    """Return what is close to a query; nothing, if there is no time left."""
    read = file.run(lambda db: _by_words(db, query, kinds, spread), until)
    if read is None:
        return NOTHING
    asked, words = read
    near = [] if vectors is None else vectors.near(file, query, kinds, until)
    leans = {each.id: each.lean for each in near}
    order = fused([words, list(leans)])
    # Some passages are of one document, and some may be gone.
    wanted = order if paths else order[: most * _SPARE]
    known = file.run(lambda db: rows(db, wanted), until) or {}
    close = [
        each for each in wanted if each in known and matching(paths, known[each].about)
    ]
    best: dict[tuple[str, str], Found] = {}
    for each in fused([words, list(leans), close]):
        row = known.get(each)
        if row is None or (row.kind, row.name) in best:
            continue
        score = max(answered(asked, row), _by_lean(leans.get(each, 0.0)))
        if each in close:
            score += (1 - score) * _NEAR
        best[row.kind, row.name] = Found(row, round(score, 4))
    return Ranked(asked, tuple(best.values()))


def _by_words(
    db: sqlite3.Connection, query: str, kinds: Collection[str], spread: Spread
) -> tuple[Question, list[int]]:
    asked = question(db, query, spread)
    return asked, by_words(db, asked, kinds)


def _by_lean(lean: float) -> float:
    least, most = _LEANS
    return min(1.0, max(0.0, (lean - least) / (most - least)))
