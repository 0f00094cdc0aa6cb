"""The hop from a process of ours to its gateway: HTTP on a Unix socket, cut at once.

The clients of the vendors block while they read, and before an answer begins there is
nothing of theirs to close. So the socket itself is shut down when a stop is asked for.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from gitagent.host import until
from gitagent.host.cancel import Cancel
from gitagent.host.socket import address, cut

# The gateway has patience of its own, and waits for the budget too: this is for one
# that hangs.
_PATIENCE_S = 3600.0
_CONNECT_S = 10.0
_MADE = "connection.connect_unix_socket.complete"  # an event of httpcore's `trace`

URL = "http://gateway"


class Hop:
    """Connections to one socket; for one request at a time."""

    def __init__(self, socket: str) -> None:
        self._lock = threading.Lock()
        self._cancel: Cancel | None = None
        self._sock: Any = None
        self._kept = ExitStack()
        there = self._kept.enter_context(address(Path(socket)))
        self.client = self._kept.enter_context(
            httpx2.Client(
                transport=_Traced(there, self._trace),
                timeout=httpx2.Timeout(_PATIENCE_S, connect=_CONNECT_S),
                trust_env=False,
            )
        )

    def close(self) -> None:
        """Close all; more than once is harmless."""
        self._kept.close()

    @contextmanager
    def cutting(self, cancel: Cancel) -> Iterator[None]:
        """Break the connection of the request made within as soon as it is set."""
        done = Cancel()
        self._cancel = cancel
        watcher = threading.Thread(
            target=self._watch, args=(cancel, done), name="cut", daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            self._cancel = self._sock = None

    def _watch(self, cancel: Cancel, done: Cancel) -> None:
        if until.first([until.set_(cancel), until.set_(done)], None) == 0:
            self._cut()

    def _trace(self, name: str, info: dict[str, Any]) -> None:
        if name != _MADE:
            return
        with self._lock:
            self._sock = info["return_value"].get_extra_info("socket")
        # A stop that came before there was a socket has found none.
        if self._cancel is not None and self._cancel.is_set():
            self._cut()

    def _cut(self) -> None:
        with self._lock:
            if self._sock is not None:
                cut(self._sock)


class _Traced(httpx2.HTTPTransport):
    """Tells of each connection that is made."""

    def __init__(self, path: str, trace: Any) -> None:  # noqa: ANN401 - as httpx has it
        # A connection that is kept would be used again untold.
        limits = httpx2.Limits(max_keepalive_connections=0)
        super().__init__(verify=False, trust_env=False, uds=path, limits=limits)
        self._trace = trace

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """See its base."""
        request.extensions = {**request.extensions, "trace": self._trace}
        return super().handle_request(request)
