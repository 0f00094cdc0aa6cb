"""Passing an answer on as it comes, and how that ended.

The events of a stream go to the agent as soon as they are whole; but for the last one,
which tells the agent that it may act on the answer: that one goes when the exchange is
recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gitagent.core.exchange import State
from gitagent.core.failure import Failure
from gitagent.model.answer import LARGEST_EVENT, Event
from gitagent.model.opening import LARGEST, Opened, told_error
from gitagent.model.request import Asked
from gitagent.model.scrub import Scrub
from gitagent.model.server import Connection
from gitagent.model.upstream import Lost

STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Passed:
    """How an answer ended."""

    state: State
    answer: bytes  # what was passed on, and `last`
    last: bytes = b""  # still to be passed on
    lost: Lost | None = None  # why it failed
    told: bool = False  # the agent has the provider's own word on that


class Passing:
    """One answer on its way."""

    def __init__(
        self,
        asked: Asked,
        opened: Opened,
        scrub: Scrub,
        name: str,
        left: Callable[[], bool],
    ) -> None:
        """``left`` tells whether nobody wants the answer any more."""
        self._asked = asked
        self._opened = opened
        self._scrub = scrub
        self._name = name
        self._left = left
        self._passed = bytearray()
        self._last = bytearray()
        self._failed: Lost | None = None

    def run(self, to: Connection) -> Passed:
        """Pass on all of a stream but its last event; its head has been sent."""
        opened = self._opened
        events = opened.events
        while True:
            try:
                to.pass_on(self._take(events))
            except OSError:
                return self._ended(State.LEFT)
            if self._failed is not None:
                return self._ended(State.FAILED, self._failed, told=True)
            if opened.meter.complete:
                return self._ended(State.DONE)
            data = opened.answer.read()
            if self._left():
                return self._ended(State.LEFT)
            if isinstance(data, Lost):
                return self._ended(State.FAILED, data)
            if not data:
                return self._at_end()
            events = [
                (opened.meter.event(raw), raw) for raw in opened.splitter.feed(data)
            ]
            if (
                opened.splitter.size > LARGEST_EVENT
                or len(self._passed) > LARGEST
                or any(what is Event.GARBAGE for what, _ in events)
            ):
                reason = f"The provider {self._name} sent what is no event of its API."
                return self._ended(State.FAILED, Lost(Failure.GARBAGE, reason, 200))

    def _take(self, events: list[tuple[Event, bytes]]) -> bytes:
        """Return what is passed on now of some events."""
        now = bytearray()
        for what, raw in events:
            if what is Event.USAGE and not self._asked.usage:
                continue
            clean = self._scrub.whole(raw)
            if what is Event.ERROR:
                self._failed = told_error(self._opened.meter.error, 200, self._name)
            if what is Event.LAST or self._last:
                self._last += clean
            else:
                now += clean
        self._passed += now
        return bytes(now)

    def _at_end(self) -> Passed:
        meter = self._opened.meter
        meter.ended()
        rest = self._opened.splitter.rest
        if meter.complete and not rest.strip():
            return self._ended(State.DONE)
        # The last blank line is missing, and that is all.
        if rest.strip() and meter.event(rest) is Event.LAST:
            self._last += self._scrub.whole(rest) + b"\n\n"
            return self._ended(State.DONE)
        reason = f"The answer of the provider {self._name} ended before its end."
        return self._ended(State.FAILED, Lost(Failure.CUT, reason, 200))

    def _ended(
        self, state: State, lost: Lost | None = None, *, told: bool = False
    ) -> Passed:
        last = bytes(self._last) if state is State.DONE else b""
        return Passed(state, bytes(self._passed) + last, last, lost, told)
