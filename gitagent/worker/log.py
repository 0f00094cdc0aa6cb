"""The log of an attempt: raw output, as it comes, bounded twice.

The file that people follow has at most FILE_BYTES; the blob that the record keeps has
its beginning and its end.
"""

import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from gitagent.files import clean

FILE_BYTES = 64 * 1024 * 1024
BLOB_BYTES = 4 * 1024 * 1024
_HALF = BLOB_BYTES // 2
_TAIL_BYTES = 64 * 1024
_TAIL_LINES = 120
_TAIL_CHARACTERS = 12_000


class Log:
    """An open log; what is written to it, from any thread, is in the file at once."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._lock = threading.RLock()
        self._fd = os.open(path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size
        self._over = 0  # bytes that are not in the file
        self._end = bytearray()  # the last of those

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)

    def write(self, data: bytes) -> None:
        """Append a worker's output. Raises OSError when the disk is full."""
        with self._lock:
            room = max(0, FILE_BYTES - self._size)
            head, rest = data[:room], data[room:]
            while head:
                written = os.write(self._fd, head)
                self._size += written
                head = head[written:]
            if rest:
                self._over += len(rest)
                self._end += rest
                del self._end[:-_HALF]

    def say(self, text: str) -> None:
        """Append a line of gitagent's own; on a full disk it is left out."""
        with self._lock, suppress(OSError):
            start = b"" if self._ends_a_line() else b"\n"
            self.write(start + f"gitagent: {text}\n".encode(errors="replace"))

    def blob(self) -> bytes:
        """Return all of it, or beginning and end with what is left out between them."""
        if self._size <= BLOB_BYTES and not self._over:
            return self._read(0, BLOB_BYTES)
        head, end = self._read(0, _HALF), self._last(_HALF)
        left = self._size + self._over - len(head) - len(end)
        return head + f"\ngitagent: {left} bytes are left out here\n".encode() + end

    def tail(self) -> str:
        """Return the end of it as text for people and for the next attempt."""
        text = clean.plain(self._last(_TAIL_BYTES))
        return clean.tail(text, _TAIL_LINES, _TAIL_CHARACTERS)

    def _ends_a_line(self) -> bool:
        return self._last(1) in {b"", b"\n"}

    def _last(self, count: int) -> bytes:
        end = bytes(self._end[-count:])
        missing = count - len(end)
        return self._read(max(0, self._size - missing), missing) + end

    def _read(self, start: int, count: int) -> bytes:
        parts = []
        while count > 0 and (data := os.pread(self._fd, count, start)):
            parts.append(data)
            start += len(data)
            count -= len(data)
        return b"".join(parts)
