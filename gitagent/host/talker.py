"""A process that stays and is asked over its pipes."""

import os
import select
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from gitagent.host.process import GRACE_S, PIPE, STDERR, spawn

_CHUNK = 65536


class Talker:
    """One such process, for example ``git cat-file --batch``.

    For one thread. It ends when its input is closed; it leads its own group and is
    killed with it by `close`. Raises OSError when the command cannot be started.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: str | Path | None, env: Mapping[str, str]
    ) -> None:
        # A file takes any amount of complaints; a pipe that nobody reads fills up.
        self._stderr = os.memfd_create("stderr", os.MFD_CLOEXEC)
        try:
            self._child = spawn(argv, cwd, env, stdin=PIPE, stderr=self._stderr)
        except OSError:
            os.close(self._stderr)
            raise
        if self._child.stdin is None or self._child.stdout is None:
            raise ValueError("a talker has both pipes")
        self._in, self._out = self._child.stdin, self._child.stdout
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        self._buffer = bytearray()

    def write(self, data: bytes, timeout: float = 60.0) -> None:
        """Send all of ``data``; what comes back meanwhile is kept for reading.

        Raises:
            EOFError: The process is gone.
            TimeoutError: It took nothing for ``timeout`` seconds.
        """
        left = memoryview(data)
        while left:
            readable, writable = self._wait(timeout, writing=True)
            if readable:
                self._fill()
            if writable:
                try:
                    left = left[os.write(self._in.fileno(), left[:_CHUNK]) :]
                except BrokenPipeError:
                    raise EOFError(self.complaint()) from None

    def read_until(self, end: bytes, timeout: float = 60.0) -> bytes:
        """Return what comes up to and with ``end``. Raises as `write` does."""
        start = 0
        while (found := self._buffer.find(end, start)) < 0:
            start = max(0, len(self._buffer) - len(end) + 1)
            self._more(timeout)
        return self._cut(found + len(end))

    def read_exactly(self, size: int, timeout: float = 60.0) -> bytes:
        """Return the next ``size`` bytes. Raises as `write` does."""
        while len(self._buffer) < size:
            self._more(timeout)
        return self._cut(size)

    def complaint(self) -> str:
        """Return the last 64 KiB of what it wrote to standard error."""
        size = os.fstat(self._stderr).st_size
        data = os.pread(self._stderr, STDERR, max(0, size - STDERR))
        return data.decode("utf-8", "replace").strip()

    def close(self) -> None:
        """End the process; more than once is harmless."""
        if self._stderr < 0:
            return
        self._in.close()
        # It is asked to end by the closed input, and given a moment to do so.
        pidfd = os.pidfd_open(self._child.pid)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.poll(GRACE_S * 1000)
        os.close(pidfd)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._out.close()
        os.close(self._stderr)
        self._stderr = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _cut(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _more(self, timeout: float) -> None:
        self._wait(timeout, writing=False)
        self._fill()

    def _fill(self) -> None:
        data = os.read(self._out.fileno(), _CHUNK)
        if not data:
            raise EOFError(self.complaint())
        self._buffer += data

    def _wait(self, timeout: float, *, writing: bool) -> tuple[bool, bool]:
        # poll and not select: a busy daemon can have descriptors above 1023.
        poll = select.poll()
        poll.register(self._out.fileno(), select.POLLIN)
        if writing:
            poll.register(self._in.fileno(), select.POLLOUT)
        ready = {fd for fd, _ in poll.poll(timeout * 1000)}
        if not ready:
            raise TimeoutError(self._child.args)
        return self._out.fileno() in ready, self._in.fileno() in ready
