"""A Unix socket whose connections are served by a thread each, within bounds.

It belongs to one run: when it is stopped, every connection is cut, and the threads
that serve them are waited for.
"""

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitagent.host import until
from gitagent.host.clock import monotonic, sleep
from gitagent.host.socket import PASSING, address, peer_uid

_PAUSE_S = 0.1  # when the machine has no descriptors left
_SIZE = 65536


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one run may use; times in seconds."""

    connections: int = 64  # at once
    turn: float = 2.0  # for one more to end, before a further one is turned away
    write: float = 60.0  # for a peer to take anything at all of what it is sent
    end: float = 10.0  # for all threads to end after a stop


class Peer:
    """One connection, used by its own thread; methods raise OSError."""

    def __init__(self, connection: socket.socket, write_s: float) -> None:
        self._socket = connection
        self._write_s = write_s

    @property
    def leaving(self) -> until.Watched:
        """Its closing, to wait for."""
        return until.gone(self._socket.fileno())

    def gone(self) -> bool:
        """Whether the other end is closed."""
        return until.first([self.leaving], 0) == 0

    def receive(self, timeout_s: float) -> bytes:
        """Return what comes next, empty at the end; raises TimeoutError too."""
        self._socket.settimeout(max(timeout_s, 0.001))
        return self._socket.recv(_SIZE)

    def send(self, data: bytes) -> None:
        """Send all of it; raises TimeoutError too."""
        self._socket.settimeout(self._write_s)
        left = memoryview(data)
        while left:
            left = left[self._socket.send(left) :]

    def shut(self) -> None:
        """Cut it; for any thread. Who waits for it is woken."""
        _shut(self._socket)


class Server:
    """Serves ``path`` from start to stop; ``serve`` is called in a connection's thread.

    ``full`` is what a connection too many gets before it is closed.
    """

    def __init__(
        self, path: Path, serve: Callable[[Peer], None], bounds: Bounds, full: bytes
    ) -> None:
        self._path = path
        self._serve = serve
        self._bounds = bounds
        self._full = full
        self._free = threading.BoundedSemaphore(bounds.connections)
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._stopped = False
        self._server = socket.socket(socket.AF_UNIX)
        self._thread = threading.Thread(
            target=self._accept, name="serving", daemon=True
        )

    def start(self) -> None:
        """Make the socket and begin to serve. Raises OSError."""
        try:
            with address(self._path) as there:
                self._server.bind(there)
            self._path.chmod(0o600)
            self._server.listen(self._bounds.connections)
        except OSError:
            self._server.close()
            raise
        self._thread.start()

    def stop(self) -> None:
        """Cut every connection, take no more, and wait for the threads, within bounds.

        More than once is harmless.
        """
        with self._lock:
            self._stopped = True
            threads = list(self._open.values())
            for each in self._open:
                _shut(each)
        _shut(self._server)
        deadline = monotonic() + self._bounds.end
        for thread in (self._thread, *threads):
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, deadline - monotonic()))
        self._server.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while not self._stopped:
            try:
                client, _ = self._server.accept()
            except OSError as error:
                if error.errno not in PASSING:
                    return
                sleep(_PAUSE_S)
                continue
            if not self._free.acquire(timeout=self._bounds.turn):
                client.settimeout(0)
                with client, suppress(OSError):
                    client.sendall(self._full)
                continue
            thread = threading.Thread(target=self._run, args=(client,), daemon=True)
            if not self._begin(client, thread):
                client.close()
                self._free.release()

    def _begin(self, client: socket.socket, thread: threading.Thread) -> bool:
        with self._lock:
            if self._stopped:
                return False
            self._open[client] = thread
            # A stop joins what it finds here, so it has to be started.
            thread.start()
            return True

    def _run(self, client: socket.socket) -> None:
        try:
            if peer_uid(client) == os.geteuid():
                self._serve(Peer(client, self._bounds.write))
        except OSError:
            # It went away, or was too slow.
            pass
        finally:
            with self._lock:
                self._open.pop(client, None)
                # Within the lock: a stop must not shut a number that is used anew.
                client.close()
            self._free.release()


def _shut(which: socket.socket) -> None:
    with suppress(OSError):
        which.shutdown(socket.SHUT_RDWR)
