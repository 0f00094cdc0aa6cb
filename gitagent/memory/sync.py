"""How the index comes to hold what a commit holds: by what differs, and in pieces.

What is gone goes first and at once. What is new comes in pieces, so that a search in
the meantime finds what is there already, and who has no more time goes on later.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol

from gitagent.git.objects import Objects
from gitagent.host import clock
from gitagent.memory import gather
from gitagent.memory.gather import Change, Passage
from gitagent.memory.indexfile import IndexFile
from gitagent.memory.search import DOCUMENT, EPISODE, ITEM, LANDING

# Characters of one transaction, about 100 ms: what is not through in time is undone, so
# that a piece which takes longer than anybody waits would never get in.
_PIECE: Final = 500_000
_EACH: Final = 1000  # that each file counts for beside its text
_ROUNDS: Final = 3
_FILES: Final = (LANDING, DOCUMENT)
_TOLD: Final = (ITEM, EPISODE)
_MOST: Final = {LANDING: gather.LANDED, DOCUMENT: gather.DOCUMENTS}

Key = tuple[str, str]  # kind and name


@dataclass(frozen=True, slots=True)
class Held:
    """What an index holds."""

    tree: str = ""  # whose landing notes and documents; "": not known
    told: str = ""  # which items and episodes, by `gather.same`; "": not known


class Told(Protocol):
    """The items and episodes that an index is to hold."""

    @property
    def told(self) -> Mapping[Key, str]:
        """What each is kept under: another one, if it says something else."""

    def passage(self, key: Key) -> Passage:
        """Return what one is searched by."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done."""

    gone: Collection[Key]
    files: Sequence[Change]
    told: Sequence[Passage]  # one by one

    def new(self, objects: Objects) -> Iterator[list[Passage]]:
        """Yield the passages of each thing that is new."""
        files = (gather.of_file(objects, change) for change in self.files)
        return chain(([each] for each in self.told), files)


def held(db: sqlite3.Connection) -> Held:
    """Return what the index says that it holds. Raises sqlite3.Error."""
    known = dict(db.execute("SELECT key, value FROM state"))
    return Held(known.get("tree", ""), known.get("told", ""))


def generation(db: sqlite3.Connection) -> str:
    """Return what is another one after each change. Raises sqlite3.Error."""
    row = db.execute("SELECT value FROM state WHERE key = 'generation'").fetchone()
    return str(row[0]) if row else ""


def bring(
    file: IndexFile,
    objects: Objects,
    wanted: Held,
    told: Told,
    until: float,
) -> bool:
    """Make the index hold a tree, items and episodes; return whether it does by then.

    Raises:
        GitError: the tree cannot be read.
    """
    with file.writing(until) as mine:
        rounds = range(_ROUNDS) if mine else ()
        return any(_round(file, objects, wanted, told, until) for _ in rounds)


def _round(
    file: IndexFile,
    objects: Objects,
    wanted: Held,
    told: Told,
    until: float,
) -> bool:
    before = file.run(held, until)
    if before is None or before == wanted:
        return before is not None
    opened = file.opened
    whole = not before.tree or objects.kind(before.tree) is None
    differ = list(gather.changes(objects, None if whole else before.tree, wanted.tree))
    kinds = (
        *(_FILES if whole else ()),
        *(_TOLD if before.told != wanted.told else ()),
    )
    names = () if whole else [(each.kind, each.name) for each in differ]
    known = file.run(lambda db: _known(db, kinds, names), until)
    counts = file.run(_counts, until)
    if known is None or counts is None:
        return False
    plan = _plan(
        known, counts, differ, told if _TOLD[0] in kinds else None, whole=whole
    )
    gone, new = plan.gone, plan.new(objects)
    piece = _piece(new)
    while True:
        following = _piece(new)
        now = Held() if following else wanted

        def apply(
            db: sqlite3.Connection,
            gone: Collection[Key] = gone,
            piece: Sequence[list[Passage]] = piece,
            now: Held = now,
        ) -> bool:
            # One that was made anew meanwhile lacks what came before.
            return file.opened == opened and _apply(db, gone, piece, now)

        if not file.run(apply, until):
            return False
        if not following:
            return True
        gone, piece = (), following
        if clock.monotonic() > until:
            return False


def _piece(new: Iterator[list[Passage]]) -> list[list[Passage]]:
    """Return the next things that go in at once; none: there are no more."""
    piece, left = [], _PIECE
    while left > 0 and (some := next(new, None)) is not None:
        piece.append(some)
        left -= _EACH + sum(len(each.said) for each in some)
    return piece


def _known(
    db: sqlite3.Connection, kinds: Iterable[str], names: Iterable[Key]
) -> dict[Key, str]:
    """Return the blobs of what the index holds of some kinds and under some names."""
    found: dict[Key, str] = {}
    for kind in kinds:
        every = db.execute("SELECT name, blob FROM passage WHERE kind = ?", (kind,))
        found.update(((kind, name), blob) for name, blob in every)
    for key in names:
        one = "SELECT blob FROM passage WHERE kind = ? AND name = ? LIMIT 1"
        found.update((key, row[0]) for row in db.execute(one, key))
    return found


def _counts(db: sqlite3.Connection) -> dict[str, int]:
    found = db.execute("SELECT kind, count(DISTINCT name) FROM passage GROUP BY kind")
    return dict(found)


def _plan(
    known: Mapping[Key, str],
    counts: Mapping[str, int],
    changes: Sequence[Change],
    told: Told | None,
    *,
    whole: bool,
) -> _Plan:
    """Plan from what is known of what differs.

    ``whole``: the changes are all files there are. ``told`` None: it is as it was.
    """
    here = {(each.kind, each.name): each.blob for each in changes}
    if told is not None:
        here |= told.told
    kinds = {*(_FILES if whole else ()), *(_TOLD if told is not None else ())}
    gone = [
        key
        for key, blob in known.items()
        if here.get(key, "" if key[0] in kinds else blob) != blob
    ]
    left = known.keys() - set(gone)
    room = {kind: most - counts.get(kind, 0) for kind, most in _MOST.items()}
    for kind, _ in gone:
        if kind in room:
            room[kind] += 1
    files = []
    for each in changes:
        if each.blob and (each.kind, each.name) not in left:
            room[each.kind] -= 1
            if room[each.kind] >= 0:
                files.append(each)
    new = [] if told is None else [key for key in told.told if key not in left]
    return _Plan(gone, files, [told.passage(key) for key in new] if told else ())


def _apply(
    db: sqlite3.Connection,
    gone: Iterable[Key],
    new: Iterable[list[Passage]],
    now: Held,
) -> bool:
    db.execute("BEGIN IMMEDIATE")
    for key in gone:
        _remove(db, key)
    for passages in new:
        for each in passages:
            _insert(db, each)
    count = int(generation(db) or 0) + 1
    state = {"tree": now.tree, "told": now.told, "generation": str(count)}
    db.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", state.items())
    db.execute("COMMIT")
    return True


def _remove(db: sqlite3.Connection, key: Key) -> None:
    found = db.execute(
        "SELECT id, blob FROM passage WHERE kind = ? AND name = ?", key
    ).fetchall()
    for number, _ in found:
        db.execute("DELETE FROM word WHERE rowid = ?", (number,))
        db.execute("DELETE FROM passage WHERE id = ?", (number,))
    for blob in {blob for _, blob in found}:
        db.execute(
            "DELETE FROM vector WHERE blob = ?"
            " AND blob NOT IN (SELECT blob FROM passage WHERE blob = ?)",
            (blob, blob),
        )


def _insert(db: sqlite3.Connection, each: Passage) -> None:
    made = db.execute(
        "INSERT INTO passage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            each.kind,
            each.name,
            each.path,
            each.blob,
            each.first,
            each.last,
            each.at,
            "\n".join(each.about),
        ),
    )
    db.execute(
        "INSERT INTO word (rowid, title, body) VALUES (?, ?, ?)",
        (made.lastrowid, *each.words),
    )
