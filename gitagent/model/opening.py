"""The beginning of an answer: enough of it to know that it is one.

Until then nothing is passed on, so that the request can still be sent again.
"""

from dataclasses import dataclass, field

from gitagent.core.failure import Failure, classify, said, told
from gitagent.files import clean
from gitagent.host import clock
from gitagent.model.answer import LARGEST_EVENT, Event, Meter, Splitter
from gitagent.model.request import Asked
from gitagent.model.upstream import Answer, Lost

LARGEST = 64 * 1024 * 1024  # bytes of an answer
_LARGEST_ERROR = 1024 * 1024


@dataclass(slots=True)
class Opened:
    """An answer that is one, as far as it has come."""

    answer: Answer
    meter: Meter
    splitter: Splitter = field(default_factory=Splitter)
    events: list[tuple[Event, bytes]] = field(default_factory=list)  # of a stream
    body: bytes = b""  # the whole of it, if it is no stream


def opened(asked: Asked, answer: Answer, name: str) -> Opened | Lost:
    """Return a begun answer of the provider of that name, or why there is none.

    Whatever is `Lost` is closed.
    """
    if answer.status != 200:
        found: Opened | Lost = _refusal(answer, name)
    elif asked.stream:
        found = _stream(asked, answer, name)
    else:
        found = _body(asked, answer, name)
    if isinstance(found, Lost):
        answer.close()
    return found


def told_error(body: bytes, status: int, name: str) -> Lost:
    """Return what a provider's own error means; 200: it came as an event."""
    what = said(body)
    failure = classify(status, what)
    words = clean.sentence(what.message, 500).rstrip(".")
    by = f" ({status})" if status != 200 else ""
    reason = f"The provider {name} answered {failure}{by}"
    return Lost(failure, f"{reason}: {words}." if words else f"{reason}.", status, body)


def _refusal(answer: Answer, name: str) -> Lost:
    body = _all(answer, _LARGEST_ERROR)
    lost = told_error(body if isinstance(body, bytes) else b"", answer.status, name)
    wait = told(answer.headers, clock.now())
    return Lost(lost.failure, lost.reason, lost.status, lost.body, wait)


def _stream(asked: Asked, answer: Answer, name: str) -> Opened | Lost:
    found = Opened(answer, Meter(asked.api))
    size = 0
    while not found.meter.begun:
        data = answer.read()
        if isinstance(data, Lost):
            return data
        size += len(data)
        if not data or size > LARGEST_EVENT:
            return _garbage(name, "no stream of events")
        for raw in found.splitter.feed(data):
            what = found.meter.event(raw)
            if what is Event.ERROR and not found.meter.begun:
                return told_error(found.meter.error, 200, name)
            if what is Event.GARBAGE and not found.meter.begun:
                return _garbage(name, "no event of its API")
            found.events.append((what, raw))
    return found


def _body(asked: Asked, answer: Answer, name: str) -> Opened | Lost:
    found = Opened(answer, Meter(asked.api))
    body = _all(answer, LARGEST)
    if isinstance(body, Lost):
        return body
    if not found.meter.whole(body):
        return _garbage(name, "no answer of its API")
    found.body = body
    return found


def _all(answer: Answer, limit: int) -> bytes | Lost:
    body = bytearray()
    while data := answer.read():
        if isinstance(data, Lost):
            return data
        body += data
        if len(body) > limit:
            return Lost(Failure.GARBAGE, "The provider's answer has no end.")
    return bytes(body)


def _garbage(name: str, what: str) -> Lost:
    return Lost(Failure.GARBAGE, f"The provider {name} sent {what}.", 200)
