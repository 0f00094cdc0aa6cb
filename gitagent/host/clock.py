"""The only place that reads the time or waits for it.

Wall time is for people and schedules; limits on work are on the monotonic clock,
which stands still while the machine sleeps.
"""

import os
import select
import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the wall time, aware, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime | None = None) -> str:
    """Return a moment (default: now) as ``2026-11-30T12:00:00Z``."""
    return (moment or now()).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp_us(moment: datetime | None = None) -> str:
    """Return a moment (default: now) as ``2026-11-30T12:00:00.123456Z``."""
    return (moment or now()).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def monotonic() -> float:
    """Return seconds on a clock that never jumps; only differences mean anything."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Wait; for the few places that have nothing to be woken by."""
    time.sleep(seconds)


class Wake:
    """A latch that anything may set and one thread waits for.

    Setting it twice before a wait counts once. It is a file descriptor and not a
    condition, because a signal handler that takes a lock its own thread holds waits
    for ever.
    """

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def set(self) -> None:
        """Wake the waiter, or the next one."""
        os.eventfd_write(self._fd, 1)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Return True once set, and clear; False after ``timeout_s`` seconds."""
        limit = None if timeout_s is None else max(0, round(timeout_s * 1000))
        self._poll.poll(limit)
        try:
            os.eventfd_read(self._fd)
        except BlockingIOError:
            return False
        return True

    def fileno(self) -> int:
        """Return the descriptor, readable while set, for a selector."""
        return self._fd

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)
