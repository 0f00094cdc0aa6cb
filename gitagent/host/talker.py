"""A process that stays and is asked over its pipes, or over a terminal."""

import errno
import os
import select
import signal
import tty
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from gitagent.host.process import GRACE_S, PIPE, STDERR, spawn

_CHUNK = 65536


class Talker:
    """One such process, for example ``git cat-file --batch``.

    For one thread. It ends when its input is closed; it leads its own group and is
    killed with it by `close`. With ``terminal`` it reads and writes a raw terminal
    instead of pipes (not its controlling one): the C library then flushes what a
    program has printed before it waits for more input; see setvbuf(3).

    Raises OSError when the command cannot be started, or there is no terminal.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | Path | None,
        env: Mapping[str, str],
        terminal: bool = False,
    ) -> None:
        # A file takes any amount of complaints; a pipe that nobody reads fills up.
        self._stderr = os.memfd_create("stderr", os.MFD_CLOEXEC)
        try:
            if terminal:
                self._in = self._out = self._on_terminal(argv, cwd, env)
            else:
                self._in, self._out = self._on_pipes(argv, cwd, env)
        except OSError:
            os.close(self._stderr)
            raise
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        self._buffer = bytearray()

    def _on_pipes(
        self, argv: Sequence[str], cwd: str | Path | None, env: Mapping[str, str]
    ) -> tuple[IO[bytes], IO[bytes]]:
        self._child = spawn(argv, cwd, env, stdin=PIPE, stderr=self._stderr)
        if self._child.stdin is None or self._child.stdout is None:
            raise ValueError("a talker has both pipes")
        return self._child.stdin, self._child.stdout

    def _on_terminal(
        self, argv: Sequence[str], cwd: str | Path | None, env: Mapping[str, str]
    ) -> IO[bytes]:
        ours, theirs = os.openpty()
        try:
            tty.setraw(theirs)
            self._child = spawn(
                argv, cwd, env, stdin=theirs, stdout=theirs, stderr=self._stderr
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return open(ours, "r+b", buffering=0)  # noqa: PTH123 - it has no path

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
                except OSError as error:
                    raise self._end(error) from None

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
        try:
            data = os.read(self._out.fileno(), _CHUNK)
        except OSError as error:
            raise self._end(error) from None
        if not data:
            raise EOFError(self.complaint())
        self._buffer += data

    def _end(self, error: OSError) -> Exception:
        """Return what an error of a read or write means; EIO: a terminal's end."""
        if error.errno in {errno.EPIPE, errno.EIO}:
            return EOFError(self.complaint())
        return error

    def _wait(self, timeout: float, *, writing: bool) -> tuple[bool, bool]:
        # poll and not select: a busy daemon can have descriptors above 1023.
        poll = select.poll()
        wanted = {self._out.fileno(): select.POLLIN}
        if writing:
            wanted[self._in.fileno()] = (
                wanted.get(self._in.fileno(), 0) | select.POLLOUT
            )
        for fd, events in wanted.items():
            poll.register(fd, events)
        ready = dict(poll.poll(timeout * 1000))
        if not ready:
            raise TimeoutError(self._child.args)
        return (
            ready.get(self._out.fileno(), 0) & ~select.POLLOUT != 0,
            ready.get(self._in.fileno(), 0) & ~select.POLLIN != 0,
        )
