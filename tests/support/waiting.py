"""Waiting for something to become true, woken by files that change.

Nothing here sleeps for a fixed time: a wait ends when its condition holds. The poll
beside the events covers what inotify cannot see (a process, another mount).
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

T = TypeVar("T")

_POLL_S = 0.2


class TimedOut(AssertionError):
    """The condition did not come true in time."""


class _Set(FileSystemEventHandler):
    def __init__(self, event: threading.Event) -> None:
        self.event = event

    def on_any_event(self, event: FileSystemEvent) -> None:
        # Reading fires events too; a condition that reads would wake itself for ever.
        if event.event_type not in {"opened", "closed_no_write"}:
            self.event.set()


@contextmanager
def watched(event: threading.Event, *folders: Path) -> Iterator[None]:
    """Set ``event`` whenever something in ``folders`` changes, at any depth."""
    observer = Observer()
    for folder in folders:
        if folder.is_dir():
            observer.schedule(_Set(event), str(folder), recursive=True)
    observer.start()
    try:
        yield
    finally:
        observer.stop()
        observer.join()


def wait_for(
    condition: Callable[[], T],
    *watch: Path,
    timeout: float = 30,
    what: str | Callable[[], str] = "",
    event: threading.Event | None = None,
) -> T:
    """Return the first true value of ``condition``.

    It is asked again whenever something in the folders ``watch`` changes, when
    ``event`` is set by somebody else, and a few times a second besides.

    Raises:
        TimedOut: it did not come true within ``timeout`` seconds; ``what`` says what
            was waited for.
    """
    changed = event or threading.Event()
    deadline = time.monotonic() + timeout
    if value := condition():
        return value
    with watched(changed, *watch):
        while True:
            changed.clear()
            if value := condition():
                return value
            left = deadline - time.monotonic()
            if left <= 0:
                text = what() if callable(what) else what
                raise TimedOut(f"not within {timeout:g} s: {text or condition}")
            changed.wait(min(left, _POLL_S))


def wait_for_file(path: Path, *, timeout: float = 30) -> str:
    """Wait until ``path`` exists and is not empty; return its text."""

    def text() -> str:
        return path.read_text() if path.is_file() else ""

    path.parent.mkdir(parents=True, exist_ok=True)
    return wait_for(text, path.parent, timeout=timeout, what=f"{path} has content")
