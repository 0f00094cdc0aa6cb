"""How the index comes to hold what a commit holds: by what differs, and in pieces.

What is gone goes first and at once. What is new comes in pieces, so that a search in
the meantime finds what is there already, and who has no more time goes on later.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from gitagent.git.objects import Objects
from gitagent.host import clock
from gitagent.memory import gather
from gitagent.memory.gather import Change, Passage
from gitagent.memory.indexfile import IndexFile
from gitagent.memory.search import DOCUMENT, EPISODE, ITEM, LANDING

_PIECE: Final = 250  # files of one transaction: about 100 ms
_ROUNDS: Final = 3
_FILES: Final = (LANDING, DOCUMENT)
_TOLD: Final = (ITEM, EPISODE)
_MOST: Final = {LANDING: gather.LANDED, DOCUMENT: gather.DOCUMENTS}

_Key = tuple[str, str]  # kind and name


@dataclass(frozen=True, slots=True)
class Held:
    """What an index holds."""

    tree: str = ""  # whose landing notes and documents; "": not known
    told: str = ""  # which items and episodes, by `gather.same`; "": not known


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done."""

    gone: Collection[_Key]
    files: Sequence[Change]
    told: Sequence[Passage]

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
    told: Sequence[Passage],
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
    told: Sequence[Passage],
    until: float,
) -> bool:
    before = file.run(held, until)
    if before is None or before == wanted:
        return before is not None
    opened = file.opened
    files = _MOST if not before.tree or objects.kind(before.tree) is None else ()
    kinds = (*files, *(() if before.told == wanted.told else _TOLD))
    known = file.run(lambda db: {kind: _known(db, kind) for kind in kinds}, until)
    counts = file.run(_counts, until)
    if known is None or counts is None:
        return False
    old = None if files else before.tree
    plan = _plan(
        known,
        counts,
        list(gather.changes(objects, old, wanted.tree)),
        told if before.told != wanted.told else (),
    )
    gone, new = plan.gone, plan.new(objects)
    piece = list(islice(new, _PIECE))
    while True:
        following = list(islice(new, _PIECE))
        now = Held() if following else wanted

        def apply(
            db: sqlite3.Connection,
            gone: Collection[_Key] = gone,
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


def _known(db: sqlite3.Connection, kind: str) -> dict[str, str]:
    """Return the blob by name of what the index holds of a kind."""
    found = db.execute("SELECT name, blob FROM passage WHERE kind = ?", (kind,))
    return dict(found)


def _counts(db: sqlite3.Connection) -> dict[str, int]:
    found = db.execute("SELECT kind, count(DISTINCT name) FROM passage GROUP BY kind")
    return dict(found)


def _plan(
    known: Mapping[str, Mapping[str, str]],
    counts: Mapping[str, int],
    changes: Sequence[Change],
    told: Sequence[Passage],
) -> _Plan:
    """Plan from what is known by kind; of a kind that is not, all changes are new."""
    gone: dict[_Key, None] = {}
    room = {kind: most - counts.get(kind, 0) for kind, most in _MOST.items()}
    files = []
    for each in changes:
        there = known.get(each.kind, {}).get(each.name)
        if there and there == each.blob:
            continue
        if there or each.kind not in known:
            gone[each.kind, each.name] = None
        if each.blob:
            files.append(each)
    for kind in _FILES:
        listed = {each.name for each in changes if each.kind == kind and each.blob}
        left = [name for name in known.get(kind, {}) if name not in listed]
        gone.update(dict.fromkeys((kind, name) for name in left))
    here = {(each.kind, each.name): each for each in told}
    for kind in _TOLD:
        for name, blob in known.get(kind, {}).items():
            if (kind, name) not in here or here[kind, name].blob != blob:
                gone[kind, name] = None
            else:
                del here[kind, name]
    new = [each for each in files if _fits(room, each, gone)]
    return _Plan(gone, new, tuple(here.values()))


def _fits(room: dict[str, int], change: Change, gone: Collection[_Key]) -> bool:
    """Whether there is room for one more of its kind, which it takes."""
    if (change.kind, change.name) not in gone:
        room[change.kind] -= 1
    return room[change.kind] >= 0


def _apply(
    db: sqlite3.Connection,
    gone: Iterable[_Key],
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


def _remove(db: sqlite3.Connection, key: _Key) -> None:
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
