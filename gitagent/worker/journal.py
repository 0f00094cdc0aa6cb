"""Where the exchanges of an attempt with models are written down, before and after.

Each is a step of the chain ``refs/gitagent/exchanges/<task>``, with the request's bytes
as blobs in order. Most of a request was in the one before it, and is stored once.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gitagent.core.exchange import Block, Exchange, State
from gitagent.core.layout import EXCHANGES
from gitagent.core.manifest import shares, split
from gitagent.core.producers import attribute
from gitagent.core.said import said
from gitagent.core.usage import NOTHING, Usage
from gitagent.errors import LostRace, UserError
from gitagent.files import clean, record
from gitagent.git import loose
from gitagent.git.objects import Objects
from gitagent.git.records import Records
from gitagent.git.repository import Repository
from gitagent.worker.exchanges import ANSWER, piece, read

_TRIES = 10

# What the records of one attempt may take, so that an agent cannot fill the disk with
# requests that cost nothing; an object takes a block of it at least.
MOST = 2**30
_LEAST = 4096


class Journal:
    """Writes the exchanges of one attempt; for any thread."""

    def __init__(
        self,
        repo: Repository,
        task: str,
        *,
        program: str = "",
        parts: Sequence[tuple[str, str]] = (),
    ) -> None:
        """``program`` and ``parts`` are as `producers.attribute` takes them."""
        self._repo = repo
        self._ref = EXCHANGES + task
        self._sha256 = repo.object_format != "sha1"
        self._program = program
        self._parts = parts
        self._lock = threading.Lock()
        self._tip: str | None = None
        self._spent = NOTHING  # by what has ended
        self._day = ""
        self._spent_day = NOTHING
        self._known: set[str] = set()  # blobs that the chain keeps
        self._under_way: dict[tuple[int, int], Usage] = {}
        self._said: dict[str, str] = {}
        self._size = 0  # of what was written

    def sent(self, exchange: Exchange, body: bytes) -> Exchange:
        """Write down a request before it goes out; return the record.

        Raises:
            GitagentError: it could not be.
        """
        with self._lock:
            if self._size > MOST:
                raise UserError(
                    f"the records of this attempt have more than {MOST >> 20} MiB"
                )
            spans = attribute(
                split(body, exchange.api),
                body,
                program=self._program,
                parts=self._parts,
                said=self._said,
            )
            contents = [body[span.start : span.end] for span in spans]
            blocks = tuple(
                Block(self._name(data), len(data), span.path, span.kind, span.producer)
                for span, data in zip(spans, contents, strict=True)
            )
            blobs = {
                block.oid: data for block, data in zip(blocks, contents, strict=True)
            }
            return self._append(replace(exchange, blocks=blocks), blobs)

    def ended(self, exchange: Exchange, answer: bytes) -> Exchange:
        """Write down how a request ended, and what was passed on; return the record.

        Raises:
            GitagentError: it could not be.
        """
        with self._lock:
            usage, blocks = exchange.usage, exchange.blocks
            counted = usage.input + usage.cache_read + usage.cache_write
            tokens = shares([block.size for block in blocks], counted)
            exchange = replace(
                exchange,
                blocks=tuple(
                    Block(b.oid, b.size, b.path, b.kind, b.producer, share)
                    for b, share in zip(blocks, tokens, strict=True)
                ),
                answer=self._name(answer) if answer else "",
            )
            made = self._append(exchange, {exchange.answer: answer} if answer else {})
            for each in said(answer):
                self._said.setdefault(each, f"request {exchange.number}")
            return made

    def _append(self, exchange: Exchange, blobs: Mapping[str, bytes]) -> Exchange:
        for _ in range(_TRIES):
            with self._repo.objects() as objects:
                if self._tip is None:
                    self._read(objects)
                made = self._counted(exchange)
                # Beside its blobs: a commit, a tree and the record itself.
                self._size += 3 * _LEAST + 64 * len(made.blocks)
                try:
                    oid = Records(self._repo).append(
                        self._ref,
                        self._tip,
                        record.dump_exchange(made),
                        what=_message(made),
                        kind="exchange",
                        attachments=self._attachments(objects, made, blobs),
                        objects=objects,
                    )
                except LostRace:
                    self._tip = None
                    self._known.clear()
                    continue
            self._known.update(blobs)
            self._tip = oid
            self._keep(made)
            return replace(made, oid=oid)
        raise LostRace(f"{self._ref} changes all the time; try again")

    def _read(self, objects: Objects) -> None:
        """Find the end of the chain, and with the first what was spent before.

        What had been reserved for requests whose end nobody told is in it.
        """
        self._tip = objects.ref(self._ref)
        if self._tip is not None and not self._day:
            last = read(objects, self._tip)
            self._spent, self._day = last.spent, last.day
            self._spent_day = last.spent_day

    def _counted(self, exchange: Exchange) -> Exchange:
        """Return an exchange with what was spent up to and with it."""
        # The day never goes back: what is under way over midnight counts for the next.
        day = max((exchange.ended or exchange.started)[:10], self._day)
        before = self._spent_day if day == self._day else NOTHING
        beside = (u for k, u in self._under_way.items() if k != _key(exchange))
        mine = exchange.reserved if exchange.state is State.SENT else exchange.usage
        held = sum(beside, mine)
        return replace(
            exchange, spent=self._spent + held, day=day, spent_day=before + held
        )

    def _keep(self, made: Exchange) -> None:
        """Count what was written down."""
        if made.day != self._day:
            self._day, self._spent_day = made.day, NOTHING
        if made.state is State.SENT:
            self._under_way[_key(made)] = made.reserved
        else:
            self._under_way.pop(_key(made), None)
            self._spent += made.usage
            self._spent_day += made.usage

    def _attachments(
        self, objects: Objects, exchange: Exchange, blobs: Mapping[str, bytes]
    ) -> dict[str, bytes | str]:
        """Return by name what the record keeps: as bytes only what is new."""
        wanted = [(piece(n), b.oid) for n, b in enumerate(exchange.blocks, start=1)]
        wanted += [(ANSWER, exchange.answer)] if exchange.answer else []
        kept: dict[str, bytes | str] = {}
        for name, oid in wanted:
            if oid in self._known:
                kept[name] = oid
            elif oid in blobs:
                kept[name] = blobs[oid]
                self._size += max(_LEAST, len(blobs[oid]))
            elif objects.kind(oid) == "blob":  # a chain was deleted, not yet its blobs
                kept[name] = oid
        return kept

    def _name(self, data: bytes) -> str:
        return loose.name("blob", data, sha256=self._sha256)


def _key(exchange: Exchange) -> tuple[int, int]:
    return exchange.attempt, exchange.number


def _message(exchange: Exchange) -> str:
    what = f"attempt {exchange.attempt}, request {exchange.number} to {exchange.model}"
    usage = exchange.usage
    used = f"{_tokens(usage)}{f', ${usage.usd:.4f}' if usage.usd else ''}"
    match exchange.state:
        case State.SENT:
            return f"{what} is sent"
        case State.DONE:
            return f"{what} is answered: {used}"
        case State.LEFT:
            return f"{what} was left before its answer ended: {used}"
        case State.FAILED:
            return f"{what} failed: {clean.sentence(exchange.reason)}"


def _tokens(usage: Usage) -> str:
    read = usage.input + usage.cache_read + usage.cache_write
    return f"{read:,} tokens in, {usage.output:,} out"
