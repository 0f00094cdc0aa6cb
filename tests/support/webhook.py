"""A webhook on loopback: what was posted to it, in order."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.waiting import wait_for


class Webhook:
    """A server that takes every event; with ``hold`` set it answers none."""

    def __init__(self, *, code: int = 204, hold: bool = False) -> None:
        self.received: list[dict[str, Any]] = []
        self.came = threading.Event()
        self.free = threading.Event()
        if not hold:
            self.free.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(code))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    @property
    def ids(self) -> list[str]:
        """The ids of what came, in order."""
        return [each["id"] for each in self.received]

    def wait(self, *ids: str, timeout: float = 60) -> list[dict[str, Any]]:
        """Wait until these have come; return all that has."""
        wait_for(
            lambda: set(ids) <= set(self.ids),
            timeout=timeout,
            what=lambda: f"{ids} come; there are {self.ids}",
            event=self.came,
        )
        return list(self.received)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.free.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self, code: int) -> type[BaseHTTPRequestHandler]:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                hook.received.append(json.loads(self.rfile.read(size)))
                hook.came.set()
                hook.free.wait(60)
                self.send_response(code)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler
