"""Whether anybody is left at the other end of a pipe."""

import select


def broken(*fds: int) -> bool:
    """Tell whether the reader of one of these descriptors went away.

    Source: poll(2), POLLERR: also set for the write end of a pipe when the read end
    has been closed.
    """
    poll = select.poll()
    for fd in fds:
        poll.register(fd, 0)
    gone = select.POLLERR | select.POLLHUP | select.POLLNVAL
    return any(event & gone for _, event in poll.poll(0))
