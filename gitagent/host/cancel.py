"""A stop that is asked for from another thread and seen at once."""

import os


class Cancel:
    """A request to stop, seen at once by every run that was given it; never cleared."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._set = False

    def set(self) -> None:
        """Ask for the stop; more than once is harmless."""
        self._set = True
        os.eventfd_write(self._fd, 1)

    def is_set(self) -> bool:
        """Whether the stop was asked for."""
        return self._set

    def fileno(self) -> int:
        """Return a descriptor that is readable once set."""
        return self._fd

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)
