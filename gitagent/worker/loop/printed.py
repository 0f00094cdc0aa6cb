"""What commands print, kept until it is in the record, should this process be killed.

The result of a call has all of it. One that was cut off has no result: then this is
what is known, in a file of the cache by the key of the call.
"""

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from gitagent.core.conversation import CallState
from gitagent.host.place import cache_root, make_private
from gitagent.worker.loop.bodies import Bodies, Output, Way

TOOLS = ("shell", "code")
MOST = 1 << 20  # bytes of one call

_CUT_OFF = (
    "[interrupted] gitagent ended while this call was carried out, and the above is"
    " what it had printed. It may have been carried out in part or as a whole. Look"
    " before you call it again."
)


def folder(common_dir: Path, conversation: str) -> Path:
    """Return where the files of a conversation are; there need be none."""
    return cache_root(common_dir) / "printed" / conversation


class Printed:
    """Bodies of the tools that run commands, carried out by others."""

    def __init__(self, hands: Bodies, where: Path) -> None:
        self._hands = hands
        self._where = where
        self._lock = threading.Lock()
        self._over: list[Path] = []  # of calls that have ended

    def execute(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        """Carry out a call, as `Bodies.execute`."""
        self.clear()  # the calls before this one have their results by now
        path = self._where / way.key
        with _File(path) as file:
            way = replace(way, printed=_both(file.write, way.printed))
            output = self._hands.execute(tool, given, way)
        with self._lock:
            self._over.append(path)
        return output

    def probe(self, tool: str, given: Mapping[str, Any], way: Way) -> Output | None:  # noqa: ARG002
        """Return what a call had printed that was cut off; None: nothing is known."""
        path = self._where / way.key
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with self._lock:
            self._over.append(path)
        between = b"" if data.endswith(b"\n") else b"\n"
        return Output(data + between + _CUT_OFF.encode(), CallState.INTERRUPTED)

    def clear(self) -> None:
        """Remove the files of calls that have a result."""
        with self._lock:
            over, self._over = self._over, []
        for each in over:
            with suppress(OSError):
                each.unlink(missing_ok=True)
        if over:
            with suppress(OSError):
                self._where.rmdir()


class _File:
    """A file that is there once something is written; it never fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._room = MOST

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def write(self, data: bytes) -> None:
        # A full disk costs what was printed, and no call.
        with suppress(OSError):
            if self._fd < 0 and self._room:
                make_private(self._path.parent)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._fd = os.open(self._path, flags, 0o600)
            if self._room:
                self._room -= os.write(self._fd, data[: self._room])


def _both(
    one: Callable[[bytes], None], other: Callable[[bytes], None] | None
) -> Callable[[bytes], None]:
    if other is None:
        return one

    def write(data: bytes) -> None:
        one(data)
        other(data)

    return write
