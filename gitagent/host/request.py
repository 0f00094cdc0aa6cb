"""One request to the proxy: where it wants to go, and where its body ends.

A request that two readers could read differently is refused, so that no second one
hides in the body of the first. Source: RFC 9110 (7.6, 9.3.6), RFC 9112 (3.2, 6, 7.1).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitagent.core.network import split

LINE = 4096  # bytes of the size line of a chunk, or of a trailer
HTTP_PORT = 80  # of an http:// address that names none

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105
_REQUEST = re.compile(rf"({_TOKEN}) ([!-~]+) HTTP/1\.([01])\Z")
_FIELD = re.compile(rf"({_TOKEN}):[ \t]*([\t -~\x80-\xff]*?)[ \t]*\Z")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t -~\x80-\xff]*)?\r\n\Z")
# They are between two neighbours only.
_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "upgrade"),
        *("proxy-authenticate", "proxy-authorization"),
    }
)
_FRAMING = frozenset({"content-length", "transfer-encoding", "host"})


class BadRequestError(Exception):
    """A request that is not served: why, in one line."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request whose head has arrived."""

    host: str  # as `split` returns it
    port: int
    tunnel: bool  # CONNECT: bytes go to and fro
    head: bytes = b""  # what the server is sent first; of a tunnel nothing
    length: int | None = 0  # bytes of the body; None: it comes in chunks


def parse(head: bytes) -> Request:
    """Read a request's head, up to and with its empty line.

    Raises:
        BadRequestError: It cannot be served.
    """
    lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    if any(set(line) & {"\r", "\n", "\0"} for line in lines):
        raise BadRequestError("a line does not end as HTTP says")
    start = _REQUEST.match(lines[0])
    if start is None:
        raise BadRequestError("the first line is no request of HTTP/1")
    method, target, minor = start.groups()
    fields = [_field(line) for line in lines[1:]]
    if method == "CONNECT":
        there = split(target)
        if there is None:
            raise BadRequestError("CONNECT takes host:port")
        return Request(*there, tunnel=True)
    host, port, path = _address(target)
    length = _length(fields, chunks=minor == "1")
    named = _name(host, port)
    rest = _kept(fields)
    text = "\r\n".join(
        [
            f"{method} {path} HTTP/1.1",
            f"Host: {named}",
            *(f"{name}: {value}" for name, value in rest),
            "Connection: close",
        ]
    )
    sent = (text + "\r\n\r\n").encode("latin-1")
    return Request(host, port, tunnel=False, head=sent, length=length)


def answer(code: int, reason: str, line: str) -> bytes:
    """Return a whole response whose body is one line."""
    body = f"gitagent: {line}\n".encode(errors="replace")
    head = (
        f"HTTP/1.1 {code} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii", "replace") + body


class Body:
    """Tells where a body ends while it passes."""

    def __init__(self, length: int | None) -> None:
        self._left = length or 0  # bytes of the body, or of the chunk, its CRLF with it
        self._chunked = length is None
        self._line = bytearray()
        self._last = False  # what follows are trailers
        self.over = length == 0

    def take(self, data: bytes) -> bytes:
        """Return what of the data belongs to the body; the rest is nobody's.

        Raises:
            BadRequestError: The chunks are none.
        """
        done = 0
        while done < len(data) and not self.over:
            if self._left:
                step = min(self._left, len(data) - done)
                self._left -= step
                done += step
                self.over = not self._left and not self._chunked
            else:
                done += self._take_line(data[done:])
        return data[:done]

    def _take_line(self, data: bytes) -> int:
        end = data.find(b"\n") + 1
        step = end or len(data)
        self._line += data[:step]
        if len(self._line) > LINE:
            raise BadRequestError("a line between chunks is too long")
        if end:
            line = bytes(self._line)
            self._line.clear()
            self._end_line(line)
        return step

    def _end_line(self, line: bytes) -> None:
        if self._last:
            self.over = line == b"\r\n"
            return
        found = _CHUNK.match(line)
        if found is None:
            raise BadRequestError("a chunk does not begin with its size")
        size = int(found[1], 16)
        self._last = size == 0
        # The CRLF after a chunk is counted with it; what is there instead does no harm,
        # since a server that reads strictly refuses it and another one agrees on where.
        self._left = size + 2 if size else 0


def _field(line: str) -> tuple[str, str]:
    found = _FIELD.match(line)
    if found is None:
        raise BadRequestError("a header field cannot be read")
    return found[1], found[2]


def _address(target: str) -> tuple[str, int, str]:
    scheme, mark, rest = target.partition("://")
    if not mark:
        raise BadRequestError("this is a proxy; ask it for a whole address")
    if scheme.lower() != "http":
        raise BadRequestError("only http is asked for so; use CONNECT")
    found = re.match(r"([^/?#]*)([^#]*)\Z", rest)
    if found is None:
        raise BadRequestError("the address cannot be read")
    authority, path = found.groups()
    if not re.search(r":\d+\Z", authority):
        authority = f"{authority.removesuffix(':')}:{HTTP_PORT}"
    there = split(authority)
    if there is None:
        raise BadRequestError("the address names no host that can be looked up")
    return (*there, path if path.startswith("/") else f"/{path}")


def _name(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port == HTTP_PORT else f"{shown}:{port}"


def _length(fields: Sequence[tuple[str, str]], *, chunks: bool) -> int | None:
    values: Mapping[str, list[str]] = {name: [] for name in _FRAMING}
    for name, value in fields:
        if name.lower() in values:
            values[name.lower()].append(value)
    lengths, codings = values["content-length"], values["transfer-encoding"]
    if len(lengths) + len(codings) > 1 or len(values["host"]) > 1:
        raise BadRequestError("the length of the body, or the host, is given twice")
    if codings:
        if codings[0].lower() != "chunked" or not chunks:
            raise BadRequestError("the body is neither counted nor chunked")
        return None
    if not lengths:
        return 0
    if not re.fullmatch(r"[0-9]{1,15}", lengths[0]):
        raise BadRequestError("the length of the body is no number")
    return int(lengths[0])


def _kept(fields: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    named = {
        token.strip().lower()
        for name, value in fields
        if name.lower() == "connection"
        for token in value.split(",")
    }
    if named & _FRAMING:
        raise BadRequestError("Connection names a field that every server needs")
    dropped = _HOP | named | {"host"}
    return [(name, value) for name, value in fields if name.lower() not in dropped]
