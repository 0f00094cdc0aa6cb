"""The process of the built-in agent, started before its workspace is there.

Its imports take seconds, and the workspace tenths of one: so they go on side by side.
It waits for its order, and ends when the daemon's end of its input does.
"""

import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitagent.core.grants import GATED
from gitagent.core.models import route
from gitagent.host import engine, failpoint, kin, place, process
from gitagent.host.process import Cancel, Exit
from gitagent.worker.loop import start
from gitagent.worker.order import Order

_GRACE_S = 60.0  # it has a clock of its own, and after that something is wrong
# A command that is deaf takes it two seconds to end, and then it writes down how.
_STOP_S = 8.0
_EVER_S = 14 * 86400.0  # about the longest that poll(2) can wait


class Ahead:
    """A process that waits for its order; to be closed by who started it."""

    def __init__(self, api: str, owner: str, cancel: Cancel) -> None:
        self._read, self._write = os.pipe2(os.O_CLOEXEC)
        self._api = api
        self._owner = owner
        self._cancel = cancel
        self._heard: Callable[[bytes], None] = lambda _: None
        self._pid = 0
        self._name = secrets.token_hex(16)
        self._begun = threading.Event()
        self._done: list[Exit] = []
        # The process dies with this thread, so that it is there as long as it may be.
        self._thread = threading.Thread(target=self._run, name="agent")
        self._thread.start()

    def go(
        self,
        order: bytes,
        *,
        seconds: float,
        on_start: Callable[[int], None],
        on_output: Callable[[bytes], None],
    ) -> Exit:
        """Give it its order, a line, and return how it ended."""
        self._begun.wait()
        self._heard = on_output
        if self._pid:
            on_start(self._pid)
        with suppress(OSError):  # it has ended already, and the exit says how
            _write(self._write, order + b"\n")
        self._thread.join(seconds + _GRACE_S)
        if self._thread.is_alive():
            self._end_input()
            self._thread.join()
        return self._done[0]

    def close(self) -> None:
        """Let it end, whether or not it was given an order."""
        self._end_input()
        self._thread.join()

    def _end_input(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    def _run(self) -> None:
        try:
            self._done.append(
                process.run(
                    [*_command(), str(os.getpid()), self._api],
                    cwd="/",
                    env=_environment(self._owner) | {engine.LED: self._name},
                    stdin=self._read,
                    timeout=_EVER_S,
                    keep=0,
                    on_output=self._hear,
                    cancel=self._cancel,
                    on_start=self._started,
                    grace=_STOP_S,
                )
            )
        finally:
            # Its sandbox dies with it, and a moment later.
            kin.kill_marked(engine.LED, self._name)
            self._begun.set()
            os.close(self._read)

    def _hear(self, data: bytes) -> None:
        self._heard(data)

    def _started(self, pid: int) -> None:
        self._pid = pid
        self._begun.set()


@contextmanager
def ahead(order: Order, cancel: Cancel) -> Iterator[Ahead | None]:
    """Start the process of the built-in agent; None: the order's agent is another."""
    if order.agent.backend != GATED or order.models is None:
        yield None
        return
    found = route(order.agent, order.settings.model)
    if isinstance(found, str):
        yield None
        return
    made = Ahead(found.api, order.models.owner, cancel)
    try:
        yield made
    finally:
        made.close()


def _command() -> tuple[str, ...]:
    return (sys.executable, "-I", str(Path(start.__file__).resolve()))


def _environment(owner: str) -> dict[str, str]:
    found = place.environment() | {engine.OWNER: owner, "LANG": "C.UTF-8"}
    if failing := os.environ.get(failpoint.VARIABLE):
        found[failpoint.VARIABLE] = failing
    return found


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
