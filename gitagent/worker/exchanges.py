"""The exchanges with models that a task's chain of records tells, read again."""

from collections.abc import Mapping
from contextlib import suppress

from gitagent.core.exchange import Exchange, State
from gitagent.core.layout import EXCHANGES
from gitagent.core.usage import NOTHING, Usage
from gitagent.errors import UserError
from gitagent.files import record
from gitagent.git import loose, records
from gitagent.git.objects import MissingObject, Objects

ANSWER = "answer"  # the attachment


def piece(number: int) -> str:
    """Return the name of the attachment that holds a block, from 1."""
    return f"body-{number:04}"


def exchanges(objects: Objects, tip: str, attempt: int | None = None) -> list[Exchange]:
    """Return what a chain tells, or what it tells of an attempt, oldest first.

    One that has no end was cut off, or is under way.

    Raises:
        UserError: a record cannot be read.
    """
    found: dict[tuple[int, int], Exchange] = {}
    for commit in records.history(objects, tip):
        each = read(objects, commit.oid)
        if attempt is not None and each.attempt < attempt:
            break  # attempts come one after the other
        found.setdefault((each.attempt, each.number), each)
    return [found[key] for key in sorted(found) if attempt is None or key[0] == attempt]


def newest(objects: Objects, refs: Mapping[str, str]) -> list[Exchange]:
    """Return the newest record of each task, which tells what the task has spent.

    What cannot be read is left out.
    """
    tips = {ref: oid for ref, oid in refs.items() if ref.startswith(EXCHANGES)}
    found = []
    for ref, data in records.read_all(objects, tips).items():
        if isinstance(data, UserError):
            continue
        with suppress(UserError):
            found.append(record.load_exchange(data, tips[ref]))
    return found


def usage(objects: Objects, task: str, attempt: int) -> Usage:
    """Return what an attempt has used; a request without an end used what it may.

    Raises:
        UserError: a record cannot be read.
    """
    tip = objects.ref(EXCHANGES + task)
    found = [] if tip is None else exchanges(objects, tip, attempt)
    return sum(
        (each.reserved if each.state is State.SENT else each.usage for each in found),
        NOTHING,
    )


def read(objects: Objects, oid: str) -> Exchange:
    """Return the exchange of a record commit. Raises UserError."""
    return record.load_exchange(records.read(objects, oid), oid)


def body(objects: Objects, exchange: Exchange) -> bytes:
    """Return the very bytes of a request.

    Raises:
        UserError: they are not there, or are not what the record says.
    """
    entries = objects.tree(objects.commit(exchange.oid).tree)
    kept = {entry.name: entry.oid for entry in entries}
    parts = []
    for number, block in enumerate(exchange.blocks, start=1):
        data = _blob(objects, exchange, block.oid)
        if len(data) != block.size or kept.get(piece(number)) != block.oid:
            raise _refused(exchange, f"its block {number} is not what it says")
        parts.append(data)
    if sum(name.startswith("body-") for name in kept) != len(parts):
        raise _refused(exchange, "it does not name all of its blocks")
    return b"".join(parts)


def answer(objects: Objects, exchange: Exchange) -> bytes:
    """Return the answer as it was passed on; empty if there was none.

    Raises:
        UserError: it is not there, or is not what the record says.
    """
    if not exchange.answer:
        return b""
    entry = objects.path(exchange.oid, ANSWER)
    if entry is None or entry.oid != exchange.answer:
        raise _refused(exchange, "its answer is not what it says")
    return _blob(objects, exchange, exchange.answer)


def _blob(objects: Objects, exchange: Exchange, oid: str) -> bytes:
    try:
        data = objects.blob(oid)
    except MissingObject:
        raise _refused(exchange, f"the blob {oid[:12]} is not here") from None
    if oid != loose.name("blob", data, sha256=len(oid) == 64):
        raise _refused(exchange, f"the blob {oid[:12]} is damaged")
    return data


def _refused(exchange: Exchange, why: str) -> UserError:
    return UserError(
        f"the record of request {exchange.number} of attempt {exchange.attempt} at "
        f"{exchange.task} cannot be used: {why}",
        f"see: git log --first-parent {EXCHANGES}{exchange.task}",
    )
