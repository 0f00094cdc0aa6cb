"""Waiting for the first of several descriptors, or for a time."""

import select
from collections.abc import Sequence

from gitagent.host.cancel import Cancel

Watched = tuple[int, int]  # a descriptor and the events of poll(2) to wait for

# A peer that has closed its side has gone: nobody half-closes a request's connection.
GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR


def readable(fd: int) -> Watched:
    """Something to read, or an end."""
    return fd, select.POLLIN


def writable(fd: int) -> Watched:
    """Room to write."""
    return fd, select.POLLOUT


def set_(cancel: Cancel) -> Watched:
    """A stop that is asked for."""
    return cancel.fileno(), select.POLLIN


def gone(fd: int) -> Watched:
    """The other end of a socket is closed."""
    return fd, GONE


def first(watched: Sequence[Watched], timeout_s: float | None) -> int:
    """Return the place of one that came true, the first of them; -1: none in time."""
    poll = select.poll()
    wanted: dict[int, int] = {}
    for fd, events in watched:
        wanted[fd] = wanted.get(fd, 0) | events
    for fd, events in wanted.items():
        poll.register(fd, events)
    limit = None if timeout_s is None else max(0, round(timeout_s * 1000))
    came = dict(poll.poll(limit))
    always = select.POLLHUP | select.POLLERR | select.POLLNVAL
    for place, (fd, events) in enumerate(watched):
        if came.get(fd, 0) & (events | always):
            return place
    return -1
