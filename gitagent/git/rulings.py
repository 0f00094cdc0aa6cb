"""The log of the memory: every ruling, as one chain of records.

A ruling is recorded before its commit is on the target, which it keeps alive. Whether
the commit came to be there is for the target's history to say. Landings that change the
memory stand in the log too, so that it has every file that was ever admitted.
"""

from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Final

from gitagent.core.layout import OPERATIONS
from gitagent.core.remembering import Ruling
from gitagent.errors import LostRace, UserError
from gitagent.files import clean, record
from gitagent.git import records
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository

_TRIES: Final = 100  # rulings of others that may come first
_MANY: Final = 16  # tips whose rulings are remembered

_lock: Final = Lock()  # of both; many threads ask
# By tip of the chain, which names all that is below it.
_read: dict[str, tuple[Ruling, ...]] = {}
# Of the newest that were asked for: its last ruling, and the commits it names.
_named: dict[str, frozenset[str]] = {}


def append(repo: Repository, objects: Objects, ruling: Ruling) -> Ruling:
    """Add a ruling to the log; return it as recorded.

    Raises:
        LostRace: others add to it all the time.
    """
    for _ in range(_TRIES):
        old = objects.ref(OPERATIONS)
        try:
            oid = records.Records(repo).append(
                OPERATIONS,
                old,
                record.dump_ruling(ruling),
                what=_what(ruling),
                kind="memory",
                parents=(ruling.commit,) if ruling.commit else (),
                objects=objects,
            )
        except LostRace:
            continue
        return replace(ruling, oid=oid)
    raise LostRace(f"{OPERATIONS} is moved all the time")


def read_all(
    objects: Objects, refs: Mapping[str, str] | None = None
) -> tuple[Ruling, ...]:
    """Return every ruling, the oldest first; a damaged one is left out.

    ``refs`` are all refs, if they were read already.

    Raises:
        UserError: a newer release wrote to the log.
    """
    tip = objects.ref(OPERATIONS) if refs is None else refs.get(OPERATIONS)
    if tip is None:
        return ()
    with _lock:
        found = _read.get(tip)
        if found is None:
            records.read(objects, tip)
            found = _walk(objects, tip)
            while len(_read) >= _MANY:
                _read.pop(next(iter(_read)))
            _read[tip] = found
    return found


def commits(objects: Objects) -> frozenset[str]:
    """Return the commits that the log names, on the target or not."""
    rulings = read_all(objects)
    if not rulings:
        return frozenset()
    last = rulings[-1].oid
    with _lock:
        if last not in _named:
            _named.clear()
            _named[last] = frozenset(each.commit for each in rulings if each.commit)
        return _named[last]


def _walk(objects: Objects, tip: str) -> tuple[Ruling, ...]:
    newer: list[Ruling] = []
    below: tuple[Ruling, ...] = ()
    for commit in records.history(objects, tip):
        if (known := _read.get(commit.oid)) is not None:
            below = known
            break
        try:
            data = records.read(objects, commit.oid)
            newer.append(replace(record.load_ruling(data), oid=commit.oid))
        except UserError:
            continue
    return (*below, *reversed(newer))


def _what(ruling: Ruling) -> str:
    """Say what happened in words; the first line is the subject."""
    count = sum(each.admitted for each in ruling.ruled)
    if not ruling.ruled:
        slugs = ", ".join(each.slug for each in ruling.files[:3])
        return f"{ruling.submission} lands {slugs or 'no item'}"
    rows = [
        f"- {each.operation.op} {clean.sentence(each.operation.slug, 80)}: "
        f"{'admitted' if each.admitted else 'refused'}."
        f" {clean.sentence(each.reason, 1000)}"
        for each in ruling.ruled
    ]
    whose = f" of {ruling.task}" if ruling.task else ""
    subject = f"{count} of {len(ruling.ruled)} operations{whose} admitted"
    return "\n".join([subject, "", *rows])
