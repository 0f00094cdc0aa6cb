"""JSON objects, a line each, to and fro over a connected Unix socket.

Made for two ends that do not trust each other: a line has a greatest length, and what
is no object ends the channel. Nothing is ever repaired.
"""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitagent.host import until
from gitagent.host.clock import monotonic
from gitagent.host.socket import address

Message = dict[str, Any]

LINE = 8 << 20  # bytes of one line that are taken
_SIZE = 65536
_TAKEN_S = 60.0  # for the other end to take a whole message


class Channel:
    """One end; one thread receives, any may send."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        self._lock = threading.Lock()
        self._buffer = bytearray()
        self._looked = 0

    def send(self, message: Message) -> None:
        """Send one object. Raises OSError; then the channel is of no more use."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        left = memoryview(data)
        with self._lock:
            deadline = monotonic() + _TAKEN_S
            while left:
                try:
                    left = left[self._socket.send(left) :]
                except BlockingIOError:
                    wait = deadline - monotonic()
                    if until.first([until.writable(self._socket.fileno())], wait) < 0:
                        raise TimeoutError("the other end takes nothing") from None

    def receive(self, timeout_s: float | None = None, limit: int = LINE) -> Message:
        """Return the next object.

        Raises:
            OSError: The channel is at its end: closed, silent for too long, or what
                came is not what may come.
        """
        deadline = None if timeout_s is None else monotonic() + timeout_s
        while (end := self._buffer.find(b"\n", self._looked)) < 0:
            self._looked = len(self._buffer)
            if self._looked > limit:
                raise ConnectionError("a line is too long")
            self._more(deadline)
        if end > limit:
            raise ConnectionError("a line is too long")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._looked = 0
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise ConnectionError("a line is not JSON") from None
        if not isinstance(message, dict):
            raise ConnectionError("a line is not an object")
        return message

    def close(self) -> None:
        """End it for both; a thread that receives is woken."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def __del__(self) -> None:
        self._socket.close()

    def _more(self, deadline: float | None) -> None:
        left = None if deadline is None else deadline - monotonic()
        if until.first([until.readable(self._socket.fileno())], left) < 0:
            raise TimeoutError("nothing came in time")
        try:
            data = self._socket.recv(_SIZE)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionError("the other end is closed")
        self._buffer += data


def connect(path: Path) -> Channel:
    """Return a channel to who listens at ``path``. Raises OSError."""
    there = socket.socket(socket.AF_UNIX)
    try:
        with address(path) as name:
            there.connect(name)
    except OSError:
        there.close()
        raise
    return Channel(there)
