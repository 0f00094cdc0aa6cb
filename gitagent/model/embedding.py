"""Vectors from a provider: reserved, recorded, asked for once, and settled.

What is asked for is the text of passages, a bounded number at a time. A failure is an
answer like any other: whoever asked goes on without vectors.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from gitagent.core.budget import Limits, Short
from gitagent.core.exchange import Api, Exchange, State
from gitagent.core.failure import Failure
from gitagent.core.models import ModelRef, price
from gitagent.core.settings import Model
from gitagent.core.usage import NOTHING, Usage, priced
from gitagent.core.vector import unit
from gitagent.errors import GitagentError
from gitagent.host import clock, until
from gitagent.model.ledger import Ledger, Reservation
from gitagent.model.upstream import Ask, Lost, Upstream

ACCOUNT: Final = "_search"  # in the ledger and among the exchanges; of no task
_ANSWER: Final = 64 << 20  # bytes of an answer that are read
_CHARACTERS: Final = 4000  # of a text that are sent
_JSON: Final = ("content-type", "application/json")


class Journal(Protocol):
    """Keeps exchanges; see `gateway.Journal`."""

    def sent(self, exchange: Exchange, body: bytes) -> Exchange:
        """Record a request before it is sent; return it as stored."""

    def ended(self, exchange: Exchange, answer: bytes) -> Exchange:
        """Record its end."""


class Embedding:
    """One model of one provider; see `memory.dense.Embedder`. For any thread."""

    def __init__(
        self,
        ref: ModelRef,
        model: Model,
        day: Limits,
        *,
        upstream: Upstream,
        ledger: Ledger,
        journal: Journal,
    ) -> None:
        """``day`` is what all tasks together may spend on one day."""
        self.name = str(ref)
        self._ref = ref
        self._model = model
        self._day = day
        self._upstream = upstream
        self._ledger = ledger
        self._journal = journal
        self._lock = threading.Lock()  # one request at a time
        self._number = 0

    def embed(self, texts: Sequence[str], seconds: float) -> list[bytes] | str:
        """Return one vector each, or why there is none, a sentence."""
        cut = [text[:_CHARACTERS] or " " for text in texts]
        wake = clock.Wake()
        stop = threading.Timer(seconds, wake.set)
        stop.daemon = True
        stop.start()
        try:
            with self._lock:
                return self._asked(cut, wake, seconds)
        except GitagentError as error:
            return f"No vectors were asked for: {error.line()}."
        finally:
            stop.cancel()

    def _asked(
        self, texts: Sequence[str], wake: clock.Wake, seconds: float
    ) -> list[bytes] | str:
        body = json.dumps({"model": self._ref.model, "input": list(texts)}).encode()
        stops = [until.readable(wake.fileno())]
        # No tokenizer makes more tokens of a text than it has bytes.
        most = sum(len(text.encode(errors="replace")) for text in texts)
        need = priced(price(self._ref, self._model), input=most)
        reserved = self._ledger.reserve(ACCOUNT, Limits(), self._day, need, stops)
        if reserved is None:
            return "There was no time left to ask for vectors."
        if isinstance(reserved, Short):
            return reserved.sentence
        try:
            sent = self._journal.sent(self._exchange(reserved), _named(body, texts))
            answer = self._answer(sent, body, seconds, stops)
            used = _used(answer, price(self._ref, self._model), reserved.usage)
            reserved.settle(used)
            made = _vectors(answer, len(texts), str(self._ref))
            failed = made if isinstance(made, str) else ""
            self._journal.ended(
                replace(
                    sent,
                    state=State.FAILED if failed else State.DONE,
                    failure=answer.failure if isinstance(answer, Lost) else "",
                    reason=failed,
                    ended=clock.stamp(),
                    status=answer.status if isinstance(answer, Lost) else 200,
                    tries=1,
                    usage=used,
                ),
                b"",  # a million numbers, which follow from the texts
            )
        finally:
            reserved.settle(reserved.usage)
        return made

    def _exchange(self, reserved: Reservation) -> Exchange:
        self._number += 1
        return Exchange(
            task=ACCOUNT,
            attempt=1,
            number=self._number,
            api=Api.EMBEDDINGS,
            asked=self._ref.model,
            model=str(self._ref),
            state=State.SENT,
            started=clock.stamp(),
            reserved=reserved.usage,
            day=reserved.day,
        )

    def _answer(
        self,
        sent: Exchange,
        body: bytes,
        seconds: float,
        stops: Sequence[until.Watched],
    ) -> "dict[str, Any] | Lost":
        ask = Ask(
            task=ACCOUNT,
            attempt=sent.attempt,
            number=sent.number,
            ref=self._ref,
            provider=self._model.providers[self._ref.provider],
            api=Api.EMBEDDINGS,
            body=body,
            headers=(_JSON,),
            patience_s=seconds,
        )
        answer = self._upstream.send(ask, stops)
        if isinstance(answer, Lost):
            return answer
        try:
            parts, size = [], 0
            while part := answer.read():
                if isinstance(part, Lost):
                    return part
                parts.append(part)
                size += len(part)
                if size > _ANSWER:
                    return _lost(answer.status, "it is too large")
            if answer.status != 200:
                return _lost(answer.status, f"it has the status {answer.status}")
            value = json.loads(b"".join(parts))
        except (ValueError, RecursionError):
            return _lost(answer.status, "it is no JSON")
        finally:
            answer.close()
        return value if isinstance(value, dict) else _lost(200, "it is no object")


def _lost(status: int, why: str) -> Lost:
    return Lost(Failure.GARBAGE, f"The answer is no vectors: {why}.", status)


def _named(body: bytes, texts: Sequence[str]) -> bytes:
    """Return what is recorded of a request: its texts lie in Git already."""
    names = [
        hashlib.sha256(each.encode(errors="replace")).hexdigest() for each in texts
    ]
    return json.dumps({**json.loads(body), "input": names}).encode()


def _used(
    answer: dict[str, Any] | Lost, prices: dict[str, float] | None, most: Usage
) -> Usage:
    """Return what a request used: what was reserved, if nobody says."""
    if isinstance(answer, Lost):
        # A provider that has refused has counted nothing.
        return NOTHING if answer.status not in (None, 200) else most
    usage = answer.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        return most
    return priced(prices, input=tokens)


def _vectors(
    answer: dict[str, Any] | Lost, count: int, model: str
) -> list[bytes] | str:
    if isinstance(answer, Lost):
        return answer.reason
    rows = answer.get("data")
    found: dict[int, bytes] = {}
    for row in rows if isinstance(rows, list) else ():
        at = row.get("index") if isinstance(row, dict) else None
        numbers = row.get("embedding") if isinstance(row, dict) else None
        if not isinstance(at, int) or not isinstance(numbers, list) or not numbers:
            continue
        if all(isinstance(each, int | float) for each in numbers):
            found[at] = unit(numbers)
    made = [found.get(at, b"") for at in range(count)]
    if not made or not made[0] or len({len(each) for each in made}) > 1:
        return f"The answer of {model} has not one vector for each text."
    return made
