"""The people who look at a chat: their connections, and what each has not read yet.

Whoever tells them something never waits for one of them. A client that has more than
`UNREAD` frames to read gets, in place of them, a greeting with what it does not have,
once it reads on.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitagent.core.chat import (
    LINE,
    UNREAD,
    Bye,
    Delta,
    Doing,
    Frame,
    Greeting,
    MalformedError,
    Request,
    Told,
    Trouble,
    decode_request,
    encode_frame,
)
from gitagent.host import serving

CLIENTS: Final = 16  # at once
_LAST_S = 1.0  # for a client to read what it was told last
_READ_S = 60.0  # after which a thread that waits for words looks around
_JOINED = 4096  # characters of deltas that become one while nobody reads them
_FULL = encode_frame(Trouble("There are too many who look at this chat."))
_SKIPPED = (Greeting, Told, Delta, Doing)  # a greeting stands for all of them


@dataclass(frozen=True, slots=True)
class Has:
    """What a client was sent: entries of a side chat, up to a number."""

    side: int = 0
    number: int = 0


class Client:
    """One who looks; for any thread."""

    def __init__(self, peer: serving.Peer) -> None:
        self._peer = peer
        self._change = threading.Condition()
        self._queue: deque[Frame] = deque()
        self._behind = False  # it gets a greeting next
        self._over = False
        self.greeted = False
        self._has = Has()

    def tell(self, frames: Sequence[Frame]) -> None:
        """Let it have frames when it reads; never waits."""
        with self._change:
            if self._over:
                return
            for each in frames:
                self._put(each)
            if len(self._queue) > UNREAD:
                # Its own answers stay: nobody would tell it these again.
                kept = [each for each in self._queue if not isinstance(each, _SKIPPED)]
                self._queue = deque(kept)
                self._behind = True
                if len(kept) > UNREAD:  # it asks, and does not listen
                    self._over = True
                    self._queue.clear()
                    self._peer.shut()
            self._change.notify()

    def end(self) -> None:
        """Send it nothing more."""
        with self._change:
            self._over = True
            self._change.notify()

    def greet(
        self, make: Callable[[Has], Sequence[Frame]], has: Has | None = None
    ) -> None:
        """Let it have a greeting in place of what it did not read.

        ``has`` is what it says that it has; else it is what it was sent.
        """
        with self._change:
            self._has = has or self._has
            self.greeted = True
            self._behind = False
            kept = [each for each in self._queue if not isinstance(each, _SKIPPED)]
            self._queue = deque([*kept, *make(self._has)])
            self._change.notify()

    def write(self, missed: Callable[["Client"], None]) -> None:
        """Send what there is until the end; the life of a thread.

        ``missed`` has to `greet` it, since it did not read in time.
        """
        with suppress(OSError):
            while (frame := self._next(missed)) is not None:
                self._peer.send(encode_frame(frame))
        self.end()
        self._peer.shut()

    def read(self, take: Callable[["Client", Request], None]) -> None:
        """Take what it says until it goes. Raises OSError."""
        rest = b""
        while not self._over:
            try:
                more = self._peer.receive(_READ_S)
            except TimeoutError:
                continue
            if not more:
                return
            *lines, rest = (rest + more).split(b"\n")
            for line in lines:
                if not self._take(line, take):
                    return
            if len(rest) > LINE:
                self.tell([Trouble(f"A message has at most {LINE} bytes.")])
                return

    def _take(self, line: bytes, take: Callable[["Client", Request], None]) -> bool:
        try:
            request = decode_request(line)
        except MalformedError as error:
            self.tell([Trouble(f"A message was not understood: {error}.")])
            return True
        if isinstance(request, Bye):
            return False
        take(self, request)
        return True

    def _put(self, frame: Frame) -> None:
        if self._behind and isinstance(frame, _SKIPPED):
            return
        last = self._queue[-1] if self._queue else None
        if (
            isinstance(frame, Delta)
            and isinstance(last, Delta)
            and len(last.text) < _JOINED
        ):
            self._queue[-1] = Delta(last.text + frame.text)
        else:
            self._queue.append(frame)

    def _next(self, missed: Callable[["Client"], None]) -> Frame | None:
        while True:
            with self._change:
                while not (self._queue or self._behind or self._over):
                    self._change.wait()
                if self._queue:
                    return self._popped()
                if self._over:
                    return None
            # It waits for who tells everybody something, so without the lock.
            missed(self)

    def _popped(self) -> Frame:
        frame = self._queue.popleft()
        if isinstance(frame, Greeting):
            self._has = Has(frame.side, frame.first - 1)
        elif isinstance(frame, Told):
            self._has = Has(self._has.side, frame.entry.number)
        return frame


class Clients:
    """All who look; serves a socket from `start` to `stop`."""

    def __init__(
        self,
        path: Path,
        take: Callable[[Client, Request], None],
        missed: Callable[[Client], None],
        changed: Callable[[], None],
    ) -> None:
        """``take`` gets what a client says, in a thread of its own.

        ``missed`` has to `greet` a client that did not read in time. ``changed`` is
        told that one came or went.
        """
        self._take = take
        self._missed = missed
        self._changed = changed
        self._lock = threading.Lock()
        self._all: dict[Client, threading.Thread] = {}
        bounds = serving.Bounds(connections=CLIENTS)
        self._server = serving.Server(path, self._serve, bounds, _FULL)

    def start(self) -> None:
        """Make the socket, for its user alone, and begin to serve. Raises OSError."""
        self._server.start()

    def stop(self) -> None:
        """Let everybody have what was told, within bounds, and cut them off."""
        with self._lock:
            everybody = dict(self._all)
        for each in everybody:
            each.end()
        for writer in everybody.values():
            writer.join(_LAST_S)
        self._server.stop()

    @property
    def count(self) -> int:
        """How many there are."""
        with self._lock:
            return len(self._all)

    @property
    def greeted(self) -> list[Client]:
        """Those who see the conversation."""
        with self._lock:
            return [each for each in self._all if each.greeted]

    def tell(self, *frames: Frame) -> None:
        """Tell those who see the conversation."""
        for each in self.greeted:
            each.tell(frames)

    def _serve(self, peer: serving.Peer) -> None:
        client = Client(peer)
        writer = threading.Thread(
            target=client.write, args=(self._missed,), daemon=True
        )
        with self._lock:
            self._all[client] = writer
            writer.start()
        self._changed()
        try:
            client.read(self._take)
        finally:
            client.end()
            writer.join()
            with self._lock:
                del self._all[client]
            self._changed()
