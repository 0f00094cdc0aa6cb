"""One request over HTTP, and its answer as it comes, stopped at once when asked.

The blocking reads of httpcore go through a stream that waits for a stop as well: so a
request ends when its agent has gone, however long the provider is silent.

Source: the manual of httpcore (network backends, extensions).
"""

import re
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import httpcore
import httpx

from gitagent.core.failure import Failure
from gitagent.host import until
from gitagent.model.upstream import Answer, Lost, Sending

_CONNECT_S = 10.0
_DRAIN_S = 0.2  # for the end of an answer that is whole, to keep its connection
_CONNECTIONS = 1000
_KEPT = 32
_KEPT_S = 30.0
_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
)
_NUMBER = re.compile(r"\A\[Errno -?\d+\] ")  # of an error; its text says the same


class Wire:
    """The connections of one daemon, kept open between requests; for all threads."""

    def __init__(self) -> None:
        self._ssl: ssl.SSLContext | None = None  # 30 ms, for who needs it
        self._lock = threading.Lock()
        self._pools: dict[tuple[str, bool], httpcore.ConnectionPool] = {}
        self._now = _Now()

    def send(self, sending: Sending, stops: Sequence[until.Watched]) -> Answer | Lost:
        """Return the answer once its head is there."""
        head = [
            (b"host", _host(httpcore.URL(sending.address))),
            (b"content-length", str(len(sending.body)).encode()),
        ]
        sent = [(name.encode(), value.encode()) for name, value in sending.headers]
        patience = sending.patience_s
        times = {"connect": _CONNECT_S, "read": patience, "write": patience, "pool": 60}
        try:
            request = httpcore.Request(
                "POST",
                sending.address,
                headers=[*head, *sent],
                content=sending.body,
                extensions={"timeout": times},
            )
            with self._now.stopping(stops):
                response = self._pool(sending).handle_request(request)
        except _ERRORS as error:
            return _lost(sending, error, begun=False)
        except (httpcore.UnsupportedProtocol, ValueError, OSError):
            # Of a proxy that is none as well; its address can hold a password.
            reason = f"No request to the provider {sending.name} could be made."
            return Lost(Failure.UNREACHABLE, reason)
        return _Response(sending, response, self._now, stops)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            pools, self._pools = list(self._pools.values()), {}
        for each in pools:
            with suppress(RuntimeError):
                each.close()

    def _pool(self, sending: Sending) -> httpcore.ConnectionPool:
        secure = "https://" in (sending.address[:8], sending.proxy[:8])
        key = (sending.proxy, secure)
        with self._lock:
            found = self._pools.get(key)
            if found is None:
                found = self._pools[key] = self._make(*key)
            return found

    def _make(self, proxy: str, secure: bool) -> httpcore.ConnectionPool:  # noqa: FBT001
        if secure and self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        options: dict[str, Any] = {
            "ssl_context": self._ssl,
            "max_connections": _CONNECTIONS,
            "max_keepalive_connections": _KEPT,
            "keepalive_expiry": _KEPT_S,
            "network_backend": _Backend(self._now),
        }
        if not proxy:
            return httpcore.ConnectionPool(**options)
        there = httpx.Proxy(proxy)
        if there.url.scheme not in ("http", "https"):
            raise ValueError("a proxy of another kind")
        return httpcore.HTTPProxy(str(there.url), proxy_auth=there.raw_auth, **options)


class _Now(threading.local):
    """What the request of this thread is stopped by."""

    stops: Sequence[until.Watched] = ()
    limit: float | None = None

    @contextmanager
    def stopping(
        self, stops: Sequence[until.Watched], limit: float | None = None
    ) -> Iterator[None]:
        self.stops, self.limit = stops, limit
        try:
            yield
        finally:
            self.stops, self.limit = (), None


class _Response:
    """An answer that is coming."""

    def __init__(
        self,
        sending: Sending,
        response: httpcore.Response,
        now: _Now,
        stops: Sequence[until.Watched],
    ) -> None:
        self.status: int = response.status
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }
        self._sending = sending
        self._response = response
        self._stream = response.iter_stream()
        self._now = now
        self._stops = stops
        self._ended = False
        decoder = self.headers.get("content-encoding", "identity")
        self._encoded = decoder.strip().lower() not in ("", "identity")

    def read(self) -> bytes | Lost:
        """See `upstream.Answer`."""
        if self._encoded:
            name = self._sending.name
            reason = f"The provider {name} sent an answer in an encoding unasked for."
            return Lost(Failure.GARBAGE, reason, self.status)
        try:
            with self._now.stopping(self._stops):
                # An empty piece would read as the end.
                while (data := next(self._stream, None)) == b"":
                    pass
        except _ERRORS as error:
            self._ended = True
            return _lost(self._sending, error, begun=True)
        if data is None:
            self._ended = True
            return b""
        return data

    def close(self) -> None:
        """See `upstream.Answer`."""
        try:
            if not self._ended:
                self._ended = True
                with self._now.stopping(self._stops, _DRAIN_S):
                    next(self._stream, None)
        except _ERRORS:
            pass
        finally:
            with suppress(*_ERRORS, RuntimeError):
                self._response.close()


class _Backend(httpcore.NetworkBackend):
    """Makes connections whose reads can be stopped."""

    def __init__(self, now: _Now) -> None:
        self._inner = httpcore.SyncBackend()
        self._now = now

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        made = self._inner.connect_tcp(
            host, port, timeout, local_address, socket_options
        )
        return _Stream(made, self._now, 0)


class _Stream(httpcore.NetworkStream):
    """A connection; reading waits for the stops of the request as well."""

    def __init__(self, inner: httpcore.NetworkStream, now: _Now, layers: int) -> None:
        self._inner = inner
        self._now = now
        self._layers = layers  # of TLS

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._now.limit is not None:
            timeout = self._now.limit
        sock = self._inner.get_extra_info("socket")
        # TLS within TLS keeps what it has read where nobody can ask for it.
        if self._layers < 2 and not _pending(sock):
            watched = [until.readable(sock.fileno()), *self._now.stops]
            place = until.first(watched, timeout)
            if place < 0:
                raise httpcore.ReadTimeout
            if place > 0:
                raise httpcore.ReadError("stopped")
        return self._inner.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # What is left after each send(2) is not copied then.
        self._inner.write(memoryview(buffer), timeout)  # type: ignore[arg-type]

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        made = self._inner.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(made, self._now, self._layers + 1)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as its base
        return self._inner.get_extra_info(info)


def _pending(sock: Any) -> bool:  # noqa: ANN401 - a socket, of TLS or not
    return isinstance(sock, ssl.SSLSocket) and sock.pending() > 0


def _host(address: httpcore.URL) -> bytes:
    name = b"[%s]" % address.host if b":" in address.host else address.host
    usual = {b"http": 80, b"https": 443}.get(address.scheme)
    return name if address.port in (None, usual) else b"%s:%d" % (name, address.port)


def _lost(sending: Sending, error: Exception, *, begun: bool) -> Lost:
    name = sending.name
    if isinstance(error, httpcore.ReadTimeout | httpcore.WriteTimeout):
        seconds = f"{sending.patience_s:g}"
        return Lost(
            Failure.HUNG, f"The provider {name} said nothing for {seconds} seconds."
        )
    if begun:
        return Lost(Failure.CUT, f"The answer of the provider {name} broke off.")
    if isinstance(error, httpcore.RemoteProtocolError) and "sending" not in str(error):
        return Lost(Failure.GARBAGE, f"The provider {name} does not speak HTTP.")
    connecting = httpcore.ConnectError | httpcore.ConnectTimeout | httpcore.ProxyError
    if isinstance(error, connecting):
        why = _NUMBER.sub("", str(error)) or "no connection in time"
        return Lost(
            Failure.UNREACHABLE, f"The provider {name} cannot be reached: {why}."
        )
    return Lost(
        Failure.UNREACHABLE, f"The provider {name} ended the connection unanswered."
    )
