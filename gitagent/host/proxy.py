"""The outer end of a sandbox's way out: an HTTP proxy that knows a list of hosts.

It listens on a Unix socket, takes CONNECT and requests for whole http addresses, looks
names up itself, and lets through what the list names. It belongs to one run: when it
is stopped, every connection through it is cut. A thread serves each connection, and
what it waits for has a time limit.

Source: RFC 9110, RFC 9112, unix(7).
"""

import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self

from gitagent.core.network import AllowList
from gitagent.host import forward
from gitagent.host.clock import monotonic, sleep
from gitagent.host.request import BadRequestError, Body, Request, answer, parse
from gitagent.host.socket import PASSING, address, peer_uid

_PAUSE_S = 0.1  # when the machine has no descriptors left
_JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one run may use of the proxy; times in seconds."""

    connections: int = 128  # at once
    turn: float = 2.0  # for one more to end, before a further one is turned away
    head: int = 32 * 1024  # bytes of a request's head
    head_time: float = 10.0  # for all of it to arrive
    connect_time: float = 20.0  # for a server to answer, at each of its addresses
    idle: float = 600.0  # without a byte in either direction; a model can think so long


@dataclass(frozen=True, slots=True)
class Event:
    """A connection that was made, or why it was not."""

    allowed: bool
    text: str  # "host:port", or a sentence without its full stop


class Proxy:
    """Serves ``path`` from start to stop; ``told`` is called from its threads."""

    def __init__(
        self,
        path: Path,
        hosts: AllowList,
        told: Callable[[Event], None],
        bounds: Bounds | None = None,
    ) -> None:
        self._path = path
        self._hosts = hosts
        self._told = told
        self._bounds = bounds or Bounds()
        self._free = threading.BoundedSemaphore(self._bounds.connections)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._stopped = False
        self._server = socket.socket(socket.AF_UNIX)
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Make the socket and begin to serve. Raises OSError."""
        with address(self._path) as there:
            self._server.bind(there)
        self._path.chmod(0o600)
        self._server.listen(self._bounds.connections)
        self._thread.start()

    def stop(self) -> None:
        """Cut every connection and take no more; a name being looked up is left alone.

        ``told`` is not called any more afterwards.
        """
        with self._lock:
            self._stopped = True
            for each in self._open:
                _shut(each)
        _shut(self._server)
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        self._server.close()
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
                most = self._bounds.connections
                self._refuse(client, f"more than {most} connections at once")
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _refuse(self, client: socket.socket, why: str) -> None:
        self._say(allowed=False, text=why)
        client.settimeout(0)
        with client, suppress(OSError):
            client.sendall(answer(503, "Too many connections", why))

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                if self._keep(client) and peer_uid(client) == os.geteuid():
                    self._talk(client)
        except OSError:
            # One of the two ends went away.
            pass
        finally:
            self._forget(client)
            self._free.release()

    def _talk(self, client: socket.socket) -> None:
        try:
            head, rest = self._head(client)
            request = parse(head)
            body = None if request.tunnel else Body(request.length)
            rest = body.take(rest) if body else rest
        except BadRequestError as error:
            self._say(allowed=False, text=f"a request that is none: {error}")
            client.sendall(answer(400, "Bad Request", str(error)))
            return
        except TimeoutError:
            client.sendall(answer(408, "Request Timeout", "no request came in time"))
            return
        server = self._reach(client, request)
        if server is None:
            return
        try:
            with server:
                self._relay(client, server, request, body, rest)
        finally:
            self._forget(server)

    def _head(self, client: socket.socket) -> tuple[bytes, bytes]:
        """Return the head of a request, and what of the rest came with it."""
        deadline = monotonic() + self._bounds.head_time
        data = bytearray()
        while b"\r\n\r\n" not in data:
            if len(data) > self._bounds.head:
                raise BadRequestError("the head of the request is too long")
            left = deadline - monotonic()
            if left <= 0:
                raise TimeoutError
            client.settimeout(left)
            more = client.recv(self._bounds.head)
            if not more:
                raise ConnectionError
            data += more
        head, end, rest = data.partition(b"\r\n\r\n")
        if len(head) > self._bounds.head:
            raise BadRequestError("the head of the request is too long")
        return bytes(head + end), bytes(rest)

    def _reach(self, client: socket.socket, request: Request) -> socket.socket | None:
        """Return a connection to the server; None: the client was told why not."""
        host, port, hosts = request.host, request.port, self._hosts
        if not hosts.names(host, port):
            self._deny(client, hosts.denial(host, port))
            return None
        code, why = 502, ""
        try:
            for family, found in _resolve(host, port):
                ip = ip_address(found)
                if not hosts.reaches(host, port, ip):
                    code, why = 403, hosts.private(host, port, ip)
                    continue
                server = socket.socket(family, socket.SOCK_STREAM)
                if not self._keep(server):
                    server.close()
                    return None
                try:
                    server.settimeout(self._bounds.connect_time)
                    server.connect((found, port))
                    if not _is_own(server) or hosts.lists(host, port, ip):
                        self._say(allowed=True, text=hosts.show(host, port))
                        return server
                    code, why = 403, hosts.private(host, port, ip)
                except OSError as error:
                    code = 504 if isinstance(error, TimeoutError) else 502
                    why = f"{hosts.show(host, port)} cannot be reached: {_why(error)}"
                self._forget(server)
                server.close()
        except OSError as error:
            why = f"{hosts.show(host, port)} cannot be looked up: {_why(error)}"
        if code == 403:
            self._deny(client, why)
        else:
            self._say(allowed=False, text=why)
            client.sendall(answer(code, "Bad Gateway", why))
        return None

    def _deny(self, client: socket.socket, why: str) -> None:
        self._say(allowed=False, text=why)
        reason = f"Not in {self._hosts.setting}".replace("`", "")
        client.sendall(answer(403, reason, why))

    def _relay(
        self,
        client: socket.socket,
        server: socket.socket,
        request: Request,
        body: Body | None,
        rest: bytes,
    ) -> None:
        if body is None:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        there = _Counted(client, server, body) if body else forward.Flow(client, server)
        there.waiting = request.head + rest
        for each in (client, server):
            each.settimeout(0)
        link = forward.Link(there, forward.Flow(server, client))
        poll = select.poll()
        while (moved := link.move()) >= 0 and not self._stopped:
            if moved:
                continue
            wanted = link.wanted()
            for fd, events in wanted.items():
                poll.register(fd, events)
            if not poll.poll(int(self._bounds.idle * 1000)):
                return
            for fd in wanted:
                poll.unregister(fd)

    def _say(self, *, allowed: bool, text: str) -> None:
        with self._lock:
            if not self._stopped:
                self._told(Event(allowed, text))

    def _keep(self, which: socket.socket) -> bool:
        """Note a socket so that `stop` ends it; False if that has happened."""
        with self._lock:
            if not self._stopped:
                self._open.add(which)
            return not self._stopped

    def _forget(self, which: socket.socket) -> None:
        with self._lock:
            self._open.discard(which)


class _Counted(forward.Flow):
    """The body of one request; whatever follows it is left where it is."""

    def __init__(self, source: socket.socket, sink: socket.socket, body: Body) -> None:
        super().__init__(source, sink)
        self._body = body
        self.ended = body.over

    def take(self, data: bytes) -> bytes:
        try:
            return self._body.take(data)
        except BadRequestError as error:
            raise OSError(str(error)) from None
        finally:
            self.ended = self._body.over

    def end(self) -> None:
        # A server may take the end of the stream for the end of the client.
        pass


def _resolve(host: str, port: int) -> Iterator[tuple[int, str]]:
    """Yield the family and the text of each address that a name has."""
    # As bytes, which are passed on as they are.
    for family, _, _, _, where in socket.getaddrinfo(
        host.encode("ascii"), port, type=socket.SOCK_STREAM
    ):
        yield family, str(where[0]).partition("%")[0]


def _is_own(server: socket.socket) -> bool:
    """Whether the other end is this machine: then both ends have one address."""
    return bool(server.getsockname()[0] == server.getpeername()[0])


def _shut(which: socket.socket) -> None:
    with suppress(OSError):
        which.shutdown(socket.SHUT_RDWR)


def _why(error: OSError) -> str:
    return error.strerror or str(error)
