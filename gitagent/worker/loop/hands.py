"""Carries out calls in a sandbox, which is begun anew when it goes down."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from gitagent.core.conversation import CallState, Origin
from gitagent.host.confinement import Confinement
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.inner import Inner, origin_of

ANEW = 3  # how often a sandbox is begun once more

_GONE = "What ran in the background is gone; files are as they were."


class Hands:
    """The bodies of the tools that work in the sandbox; a context manager.

    A sandbox is there from `start`, or from the first call, until the end; it is ended
    with all that runs in it, also when this process is killed. ``told`` gets lines for
    people, from other threads.
    """

    def __init__(
        self, confinement: Confinement, owner: str, *, told: Callable[[str], None]
    ) -> None:
        self._confinement = confinement
        self._owner = owner
        self._told = told
        self._lock = threading.Lock()
        self._inner: Inner | None = None
        self._begun = 0
        self._closed = False
        self._note = ""  # for the next call

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Begin with the sandbox, without waiting for it."""
        self._current()

    def close(self) -> None:
        """End the sandbox, and calls still made; more than once is harmless."""
        with self._lock:
            self._closed = True
            inner = self._inner
        if inner is not None:
            inner.end()

    def execute(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        """Carry out one call, as `Bodies.execute`."""
        if way.cancel.is_set():
            return Output(b"[stopped before it began]\n", CallState.INTERRUPTED)
        inner, note = self._current()
        if inner is None:
            return Output(f"[not carried out: {note}]\n".encode(), CallState.FAILED)
        done = inner.call(tool, given, way)
        origin = origin_of(tool)
        state = done.state
        if state is CallState.INTERRUPTED and origin is Origin.MCP:
            state = CallState.UNCERTAIN
        before = f"[{note}]\n".encode() if note else b""
        return replace(done, whole=before + done.whole, state=state, origin=origin)

    def _current(self) -> tuple[Inner | None, str]:
        """Return the sandbox and what the model is to know of it, or why it is None."""
        with self._lock:
            if self._closed:
                return None, "the sandbox is ended."
            inner = self._inner
            if inner is not None and not inner.over:
                return inner, ""
            note = ""
            if inner is not None:
                inner.end()
                note = f"the sandbox was begun anew. {inner.why} {_GONE}"
                self._told(f"the sandbox ended: {inner.why}")
            if self._begun > ANEW:
                why = inner.why if inner is not None else ""
                return None, f"the sandbox went down {self._begun} times. {why}"
            self._begun += 1
            inner = Inner(self._confinement, self._owner, self._told)
            try:
                inner.start()
            except OSError as error:
                return None, f"no sandbox can be begun: {error.strerror}."
            self._inner = inner
            return inner, note
