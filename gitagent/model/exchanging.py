"""One exchange: from an agent's request to the record of its end.

The order is what matters. The budget is reserved, the request is recorded, it is sent;
the answer passes as it comes; what it used is settled and its end recorded; and only
then does the agent get the end of the answer.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitagent.core.budget import Short
from gitagent.core.exchange import Api, Exchange, State
from gitagent.core.failure import Failure
from gitagent.core.models import ANTHROPIC, ModelRef, price
from gitagent.core.usage import NOTHING, Usage, priced
from gitagent.host import clock
from gitagent.model import form, request
from gitagent.model.answer import Counts
from gitagent.model.ledger import Reservation, today
from gitagent.model.opening import Opened, opened
from gitagent.model.passing import JSON, STREAM, Passed, Passing
from gitagent.model.request import Asked
from gitagent.model.retry import Reached, Retrying
from gitagent.model.scrub import Scrub
from gitagent.model.server import Connection, Request
from gitagent.model.upstream import Ask, Lost

if TYPE_CHECKING:
    from gitagent.model.gateway import Gateway

_PASS = frozenset(
    {
        "accept",
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
        "user-agent",
    }
)
# A failure is final: what could be tried again was. Not every program heeds
# `x-should-retry`; these are the statuses that none of them sends a request again for.
# Codex does so for all but 400.
_FINAL = {
    "anthropic": frozenset({400, 401, 403, 404, 413, 422}),
    "openai": frozenset({400}),
}
_PASS_BACK = ("request-id", "x-request-id")
_QUERY = re.compile(r"beta=true")


@dataclass(slots=True)
class _Result:
    """How an exchange ended."""

    state: State
    answer: bytes
    content_type: str
    status: int | None
    usage: Usage
    lost: Lost | None


class Exchanging:
    """One request on one connection, for its thread."""

    def __init__(
        self, gateway: "Gateway", to: Connection, api: Api, got: Request
    ) -> None:
        self._gateway = gateway
        self._access = gateway.access
        self._to = to
        self._api = api
        # A key has no business in there; where it comes from, others may read it.
        self._got = replace(got, body=gateway.upstream.scrub().whole(got.body))
        self._stops = (to.peer.leaving, gateway.stopping)

    def run(self) -> None:
        """Answer the request."""
        gateway, access = self._gateway, self._access
        asked = request.read(
            self._api, self._got.body, server_tools=access.server_tools
        )
        if isinstance(asked, str):
            gateway.refuse(self._to, 400, asked)
            return
        first = access.route.first
        if asked.model not in (first.model, str(first)):
            gateway.refuse(
                self._to,
                404 if access.route.api == ANTHROPIC else 400,
                f"The model {asked.model[:120]} may not be asked for; "
                f"this agent has {first.model}.",
                "model_not_found",
            )
            return
        reserved = self._reserve(asked)
        if isinstance(reserved, Short):
            gateway.is_short(reserved)
            # Not 402 or 429: programs would try those again.
            gateway.refuse(self._to, 400, reserved.sentence, "budget")
        elif reserved is not None:
            try:
                self._exchange(asked, reserved)
            finally:
                reserved.settle(reserved.usage)

    def _reserve(self, asked: Asked) -> Reservation | Short | None:
        """Reserve the most that the request can cost at any model of the route."""
        access, ledger = self._access, self._gateway.ledger
        if asked.api is Api.COUNT:
            return Reservation(ledger, access.task, today(), NOTHING)
        most = max(
            (self._dearest(asked, ref) for ref in access.route.models),
            key=lambda usage: usage.usd,
        )
        return ledger.reserve(
            access.task, access.limits_task, access.limits_day, most, self._stops
        )

    def _dearest(self, asked: Asked, ref: ModelRef) -> Usage:
        known = price(ref, self._access.model)
        plain = priced(known, input=asked.most_in, output=asked.most_out)
        cached = priced(known, cache_write=asked.most_in, output=asked.most_out)
        return replace(plain, usd=max(plain.usd, cached.usd))

    def _exchange(self, asked: Asked, reserved: Reservation) -> None:
        gateway, access = self._gateway, self._access
        ref = access.route.first
        body = request.prepared(asked, self._got.body, ref.model)
        exchange = Exchange(
            task=access.task,
            attempt=access.attempt,
            number=gateway.next_number(),
            api=asked.api,
            asked=asked.model,
            model=str(ref),
            state=State.SENT,
            started=clock.stamp(),
            reserved=reserved.usage,
            day=reserved.day,
        )
        stored = gateway.sent(lambda: self._spent(exchange, reserved), body)
        if isinstance(stored, str):
            reserved.settle(NOTHING)
            gateway.refuse(self._to, 500, stored)
            return
        retrying = Retrying(
            lambda at: self._send(asked, stored.number, at),
            gateway.breaker,
            self._stops,
            gateway.say,
        )
        reached = retrying.reach(access.route.models)
        found = reached.found
        if isinstance(found, Opened) and asked.stream:
            self._stream(stored, asked, reserved, reached, found)
        else:
            self._whole(stored, asked, reserved, reached)

    def _send(self, asked: Asked, number: int, ref: ModelRef) -> Opened | Lost:
        access = self._access
        query = self._got.target.partition("?")[2]
        ask = Ask(
            task=access.task,
            attempt=access.attempt,
            number=number,
            ref=ref,
            provider=access.model.providers[ref.provider],
            api=asked.api,
            body=request.prepared(asked, self._got.body, ref.model),
            headers=(
                *(each for each in self._got.headers.items() if each[0] in _PASS),
                # As it was read here: none of another encoding or form.
                ("content-type", JSON),
            ),
            query=query if _QUERY.fullmatch(query) else "",
            patience_s=access.model.patience,
        )
        upstream = self._gateway.upstream
        answer = upstream.send(ask, self._stops)
        if not isinstance(answer, Lost):
            found = opened(asked, answer, ref.provider)
        else:
            found = answer
        if not isinstance(found, Lost):
            return found
        # Here, where all that a provider says of a failure comes through.
        scrub = upstream.scrub()
        reason, body = scrub.text(found.reason), scrub.whole(found.body)
        return replace(found, reason=reason, body=body)

    def _whole(
        self, exchange: Exchange, asked: Asked, reserved: Reservation, reached: Reached
    ) -> None:
        """End an exchange whose answer is known as a whole, or is an error."""
        found = reached.found
        scrub = self._gateway.upstream.scrub()
        headers: list[tuple[str, str]] = [("content-type", JSON)]
        if isinstance(found, Opened):
            body = scrub.whole(found.body)
            status = found.answer.status
            headers += _back(found.answer.headers, scrub)
            usage = self._used(asked, reached.ref, found.meter.counts(asked.most_in))
            state = State.LEFT if self._left() else State.DONE
            result = _Result(state, body, JSON, status, usage, None)
            found.answer.close()
        elif found is None:
            # Nobody says what a request costs that was left before its answer began. A
            # provider does not see that of one whose answer comes whole: it goes on.
            out = 0 if asked.stream else asked.most_out
            usage = self._used(asked, reached.ref, Counts(asked.most_in, out))
            usage = usage if reached.tries else NOTHING
            result = _Result(State.LEFT, b"", "", None, usage, None)
            status, body = 499, b""
        else:
            status, body = self._error(found)
            body = scrub.whole(body)
            headers.append(("x-should-retry", "false"))
            # What is answered, but not so that it could be read, is paid for as well.
            garbage = found.failure is Failure.GARBAGE and found.status == 200
            begun = found.failure in (Failure.HUNG, Failure.CUT) or garbage
            counts = Counts(asked.most_in) if begun else None
            usage = self._used(asked, reached.ref, counts) if counts else NOTHING
            result = _Result(State.FAILED, body, JSON, found.status, usage, found)
        stored = self._end(exchange, reserved, reached, result)
        if result.state is State.LEFT:
            raise ConnectionResetError
        if isinstance(stored, str):
            self._gateway.refuse(self._to, 500, stored)
        else:
            self._to.whole(status, headers, body)

    def _stream(
        self,
        exchange: Exchange,
        asked: Asked,
        reserved: Reservation,
        reached: Reached,
        found: Opened,
    ) -> None:
        """Pass a stream on and end its exchange; its connection is closed at last."""
        name = reached.ref.provider
        scrub = self._gateway.upstream.scrub()
        headers = [("content-type", STREAM), ("cache-control", "no-cache")]
        passed = Passed(State.LEFT, b"")
        try:
            with suppress(OSError):
                self._to.begin(200, [*headers, *_back(found.answer.headers, scrub)])
                passing = Passing(asked, found, scrub, name, self._left)
                passed = passing.run(self._to)
            if passed.state is not State.DONE:
                found.answer.close()
            lost = passed.lost
            error = b""
            if lost is not None and not passed.told:
                error = scrub.whole(form.event(self._api, lost.reason, lost.failure))
            counts = found.meter.counts(asked.most_in)
            result = _Result(
                passed.state,
                passed.answer + error,
                STREAM,
                200,
                self._used(asked, reached.ref, counts),
                lost,
            )
            stored = self._end(exchange, reserved, reached, result)
            if isinstance(stored, str):
                error = form.event(self._api, stored, "gitagent")
            elif passed.state is State.DONE:
                self._to.end(passed.last)
                return
            # The end is missing on purpose: no program takes this for a whole answer.
            self._to.pass_on(error)
            raise ConnectionResetError
        finally:
            # Only now: the agent need not wait for the end of the connection.
            found.answer.close()

    def _end(
        self,
        exchange: Exchange,
        reserved: Reservation,
        reached: Reached,
        result: _Result,
    ) -> Exchange | str:
        gateway = self._gateway
        reserved.settle(result.usage)
        lost = result.lost if result.state is not State.LEFT else None
        scrub = gateway.upstream.scrub()
        reason = lost.reason if lost else ""
        ended = replace(
            exchange,
            model=str(reached.ref),
            state=result.state,
            ended=clock.stamp(),
            failure=str(lost.failure) if lost else "",
            reason=scrub.text(reason),
            status=result.status,
            tries=reached.tries,
            fallback=scrub.text(reached.fallback),
            usage=result.usage,
            content_type=result.content_type,
        )
        left = result.state is State.LEFT
        failed = (reached.ref.provider, lost.failure) if lost else None
        gateway.add(result.usage, None if left else reason, failed)
        return gateway.ended(lambda: self._spent(ended, reserved), result.answer)

    def _spent(self, exchange: Exchange, reserved: Reservation) -> Exchange:
        """Return the exchange with what its task has spent by now."""
        spent, on_day = self._gateway.ledger.held(exchange.task, reserved.day)
        return replace(exchange, spent=spent, spent_day=on_day)

    def _left(self) -> bool:
        return self._gateway.stopped or self._to.peer.gone()

    def _used(self, asked: Asked, ref: ModelRef, counts: Counts) -> Usage:
        if asked.api is Api.COUNT:
            return NOTHING
        return priced(
            price(ref, self._access.model),
            input=counts.input,
            output=counts.output,
            cache_read=counts.cache_read,
            cache_write=counts.cache_write,
        )

    def _error(self, lost: Lost) -> tuple[int, bytes]:
        """Return status and body of an error, the provider's own if it is final."""
        kind = self._access.route.api
        if lost.status in _FINAL[kind] and form.is_error(kind, lost.body):
            return lost.status, lost.body
        status = lost.status if lost.status in _FINAL[kind] else 400
        return status, form.error(kind, status, lost.reason, str(lost.failure))


def _back(headers: Mapping[str, str], scrub: Scrub) -> list[tuple[str, str]]:
    """Return the headers of an answer that pass."""
    return [(name, scrub.text(headers[name])) for name in _PASS_BACK if name in headers]
