"""HTTP/1.1 of the gateway's side: one request after another on a connection.

What a client sends is hostile: sizes and times are bounded, and whatever is not HTTP
ends the connection.

Source: RFC 9110, RFC 9112; the manual of h11.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import h11

from gitagent.host.clock import monotonic
from gitagent.host.serving import Peer

_DRAIN_S = 2.0

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one request may take; times in seconds."""

    head: int = 64 * 1024  # bytes
    body: int = 64 * 1024 * 1024
    bodies: int = 128 * 1024 * 1024  # of all requests under way together
    idle: float = 600.0  # before a request begins
    head_time: float = 20.0  # for all of its head
    body_time: float = 120.0  # for all of its body


@dataclass(frozen=True, slots=True)
class Request:
    """One that came whole."""

    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case; of several the first
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Refused:
    """One that cannot be served; the connection is over after the answer."""

    status: int
    sentence: str


class Room:
    """What the bodies of all requests under way may take; for all threads."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._left = size

    def take(self, size: int) -> bool:
        """Take some of it; False: there is not so much."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give(self, size: int) -> None:
        """Give it back."""
        with self._lock:
            self._left += size


class Connection:
    """Speaks with one peer, for its thread. Methods raise OSError when it has gone.

    Its room is taken until the next request, or until `close`.
    """

    def __init__(self, peer: Peer, bounds: Bounds, room: Room) -> None:
        self.peer = peer
        self._bounds = bounds
        self._room = room
        self._taken = 0
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=bounds.head)
        self._first = True
        self._began = False  # some of the next request is here
        self._deadline = 0.0
        self._bodiless = False  # HEAD

    def request(self) -> Request | Refused | None:
        """Return the next request; None: there is none any more."""
        self.close()
        if not self._first:
            if self._http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
                return None
            self._http.start_next_cycle()
        self._first = False
        try:
            return self._take()
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
            return Refused(status, f"The request is not HTTP: {_ascii(error)}.")
        except TimeoutError:
            return Refused(408, "The request did not come in time.")

    def close(self) -> None:
        """Give back what the body has taken; more than once is harmless."""
        taken, self._taken = self._taken, 0
        self._room.give(taken)

    def begin(self, status: int, headers: Headers) -> None:
        """Send the head of an answer that comes in pieces."""
        self._send(h11.Response(status_code=status, headers=_bytes(headers)))

    def pass_on(self, data: bytes) -> None:
        """Send a piece at once."""
        if data:
            self._send(h11.Data(data=data))

    def end(self, data: bytes = b"") -> None:
        """Send the last piece, and the end of the answer."""
        raw = [self._http.send(h11.Data(data=data))] if data else []
        raw.append(self._http.send(h11.EndOfMessage()))
        self.peer.send(b"".join(each for each in raw if each))

    def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Send an answer whose length is known."""
        length = ("content-length", str(len(body)))
        head = h11.Response(status_code=status, headers=_bytes([*headers, length]))
        raw = [self._http.send(head)]
        if body and not self._bodiless:
            raw.append(self._http.send(h11.Data(data=body)))
        raw.append(self._http.send(h11.EndOfMessage()))
        self.peer.send(b"".join(each for each in raw if each))

    def refuse(self, refused: Refused, headers: Headers, body: bytes) -> None:
        """Answer what is not HTTP, as far as that can be."""
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.whole(refused.status, [*headers, ("connection", "close")], body)
            if refused.status in (413, 503):
                self._drain()

    def _drain(self) -> None:
        """Take what is still coming: a close before that would lose the answer."""
        deadline = monotonic() + _DRAIN_S
        while (left := deadline - monotonic()) > 0 and self.peer.receive(left):
            pass

    def _take(self) -> Request | Refused | None:
        bounds = self._bounds
        head: h11.Request | None = None
        body = bytearray()
        # Of a client that sends the next request already, some is here.
        self._began = bool(self._http.trailing_data[0])
        self._deadline = monotonic() + (
            bounds.head_time if self._began else bounds.idle
        )
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if not self._more():
                    return None
            elif isinstance(event, h11.Request):
                head = event
                self._bodiless = event.method == b"HEAD"
                self._deadline = monotonic() + bounds.body_time
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > bounds.body:
                    most = bounds.body // 2**20
                    return Refused(413, f"The request has more than {most} MiB.")
                if not self._room.take(len(event.data)):
                    return Refused(503, "Too much is sent at once.")
                self._taken += len(event.data)
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, bytes(body))
            else:
                return None

    def _more(self) -> bool:
        """Take in what comes next; False: nothing came, nor anything before it."""
        if self._http.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[]))
        left = self._deadline - monotonic()
        if self._began and left <= 0:
            raise TimeoutError
        try:
            data = self.peer.receive(left)
        except TimeoutError:
            if self._began:
                raise
            return False
        if not self._began:
            self._began = True
            self._deadline = monotonic() + self._bounds.head_time
        self._http.receive_data(data)
        return True

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self.peer.send(data)


def _request(head: h11.Request, body: bytes) -> Request:
    headers: dict[str, str] = {}
    for name, value in head.headers:
        headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return Request(
        head.method.decode("latin-1"), head.target.decode("latin-1"), headers, body
    )


def _bytes(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [
        (name.encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in headers
    ]


def _ascii(error: Exception) -> str:
    text = str(error).encode("ascii", "replace").decode()
    return "".join(each for each in text if each.isprintable())[:200]
