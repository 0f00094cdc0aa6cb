"""The tool ``web_fetch``: one page, as text.

The gate has judged the address, and the sandbox's proxy holds every request to the
list of hosts. A redirect is followed on the host that was asked for; one that leads to
another is told, so that it is asked for and judged by itself.

What is answered is three parts in a row: the text for the model, the very bytes that
came, and a line of JSON that says how long each is.

Source: RFC 9110.
"""

import http.client
import json
import os
import re
import ssl
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import SplitResult, urljoin, urlsplit

from gitagent.host import until
from gitagent.host.cancel import Cancel
from gitagent.host.process import run
from gitagent.worker.inside import extract
from gitagent.worker.inside.doing import (
    DONE,
    FAILED,
    INTERRUPTED,
    Doing,
    Given,
    Said,
    Slip,
    text,
)

BYTES = 2 << 20  # of a page
SECONDS = 30.0
QUOTES = 20  # texts that one call can look for
QUOTE = 2000  # characters of each

_REDIRECTS = 5
_REDIRECT = frozenset({301, 302, 303, 307, 308})
_TEXTS = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|toml|x-yaml|x-sh)"
    r"|application/(?:javascript|ecmascript|x-www-form-urlencoded)|image/svg\+xml"
)
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}charset=["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE
)
_EXTRACT_S = 10.0
_TEXT = 8 << 20  # bytes of a text that was made of a page
_TWO_WAYS = 2  # SHUT_RDWR
_LOOKED = 4096  # bytes that tell a text from something else


@dataclass(frozen=True, slots=True)
class Page:
    """What a server sent."""

    url: str
    status: int
    kind: str  # media type, without parameters
    charset: str
    data: bytes  # decoded, where it was packed
    cut: bool = False  # there was more


class Elsewhere(Exception):
    """A sentence: where a page is instead."""


def fetch(given: Given, doing: Doing) -> Said:
    """Fetch an address; with ``find`` tell of each text whether the page has it."""
    url = text(given, "url")
    wanted = _wanted(given)
    seconds = min(SECONDS, doing.seconds)
    try:
        page = load(url, os.environ, seconds, doing.cancel)
    except Elsewhere as error:
        return _parts(str(error)), FAILED
    except (OSError, http.client.HTTPException, ValueError) as error:
        stopped = doing.cancel.is_set()
        why = "it was stopped" if stopped else _why(error)
        said = f"{url} cannot be fetched: {why}."
        return _parts(said), INTERRUPTED if stopped else FAILED
    shown, how = read(page, doing.cancel)
    body = quotes(shown, wanted) if wanted else shown.rstrip("\n")
    said = "\n".join(filter(None, (_head(page), body, f"[{how}]")))
    return _parts(said, page.data), DONE if page.status < 400 else FAILED


def load(url: str, environ: Mapping[str, str], seconds: float, cancel: Cancel) -> Page:
    """Return the page at an address.

    Raises:
        Slip: it is no address of the web.
        Elsewhere: it leads to another host.
        OSError, HTTPException, ValueError: it cannot be had.
    """
    first = _split(url)
    for _ in range(_REDIRECTS):
        with _Line(_split(url), environ, seconds, cancel) as line:
            found = line.page(url)
        if isinstance(found, Page):
            return found
        target = urljoin(url, found)
        try:
            there = _split(target)
        except Slip:
            raise Elsewhere(f"{url} leads to what is no address of the web.") from None
        if there.hostname != first.hostname or _port(there) not in {_port(first), 443}:
            raise Elsewhere(
                f"{url} leads to the host {there.netloc}, which was not asked for. If "
                f"you need that page, fetch {target}"
            )
        url = target
    raise Elsewhere(f"{url} leads from one page to the next without end.")


def read(page: Page, cancel: Cancel) -> tuple[str, str]:
    """Return a page as text, and in words how it was made."""
    size = f"{len(page.data)} bytes of {page.kind or 'no named kind'}"
    if page.cut:
        size = f"the first {size}; the rest was not read"
    binary = b"\0" in page.data[:_LOOKED]
    if binary or (page.kind and not _TEXTS.fullmatch(page.kind)):
        return "", f"not shown, since it is no text: {size}"
    try:
        words = page.data.decode(page.charset or "utf-8", "replace")
    except LookupError:
        words = page.data.decode("utf-8", "replace")
    if page.kind not in _HTML:
        return words, f"as it came: {size}"
    done = run(
        [sys.executable, "-I", str(Path(extract.__file__).resolve())],
        cwd=None,
        env=os.environ,
        stdin=words.encode(errors="replace"),
        timeout=_EXTRACT_S,
        keep=_TEXT,
        cancel=cancel,
    )
    if done.code != 0:
        return "", f"not shown, since no text could be made of it: {size}"
    version, _, made = done.output.decode("utf-8", "replace").partition("\n")
    return made.strip("\n"), f"extracted by {version} from {size}"


def quotes(shown: str, wanted: Sequence[str]) -> str:
    """Return for each text where the page has it, whatever the white space in it."""
    lines = []
    for each in wanted:
        found = re.search(r"\s+".join(map(re.escape, each.split())), shown)
        place = f"at characters {found.start()}-{found.end()}" if found else "not there"
        lines.append(f"{place}: {json.dumps(each, ensure_ascii=False)}")
    return "\n".join(lines)


class _Line:
    """A request, which is cut at its deadline or when it is to stop."""

    def __init__(
        self,
        where: SplitResult,
        environ: Mapping[str, str],
        seconds: float,
        cancel: Cancel,
    ) -> None:
        self.cut = False  # its end is ours, not the server's
        self._over = Cancel()
        self._where = where
        host, port = where.hostname or "", _port(where)
        secure = where.scheme == "https"
        # Always through the proxy, be it to this very sandbox: what is listed is
        # reached, and nothing beside it.
        proxy = urlsplit(environ.get("https_proxy" if secure else "http_proxy", ""))
        self._whole = bool(proxy.hostname) and not secure
        self._line = _connection(
            proxy.hostname or host, proxy.port or port, seconds, secure=secure
        )
        if proxy.hostname and secure:
            self._line.set_tunnel(host, port)
        self._watch = threading.Thread(
            target=self._cut, args=(seconds, cancel), daemon=True
        )

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._watch.join()
        self._line.close()

    def page(self, url: str) -> Page | str:
        """Return the page, or where it is instead."""
        try:
            answer = self._answer()
            where = answer.getheader("Location")
            if answer.status in _REDIRECT and where:
                return where
            return _page(url, answer)
        finally:
            if self.cut:
                raise TimeoutError

    def _answer(self) -> http.client.HTTPResponse:
        path = self._where._replace(fragment="")
        if not self._whole:
            path = path._replace(scheme="", netloc="")
        target = path.geturl() or "/"
        if target.startswith("?"):
            target = f"/{target}"
        headers = {
            "Accept": "text/html, text/*;q=0.9, */*;q=0.5",
            "Accept-Encoding": "identity",
            "Connection": "close",
            "Host": self._where.netloc,
            "User-Agent": "gitagent",
        }
        self._line.request("GET", target, headers=headers)
        return self._line.getresponse()

    def _cut(self, seconds: float, cancel: Cancel) -> None:
        ends = [until.set_(self._over), until.set_(cancel)]
        if until.first(ends, seconds) != 0 and self._line.sock is not None:
            self.cut = True
            with suppress(OSError):
                self._line.sock.shutdown(_TWO_WAYS)


def _connection(
    host: str, port: int, seconds: float, *, secure: bool
) -> http.client.HTTPConnection:
    if not secure:
        return http.client.HTTPConnection(host, port, timeout=seconds)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(host, port, timeout=seconds, context=context)


def _page(url: str, answer: http.client.HTTPResponse) -> Page:
    data = bytearray()
    while len(data) <= BYTES and (more := answer.read1(65536)):
        data += more
    if len(data) <= BYTES and answer.length:
        raise ConnectionError("the connection was lost in the middle")
    packed = (answer.getheader("Content-Encoding") or "identity").strip().lower()
    if packed in {"gzip", "x-gzip", "deflate"}:
        data = bytearray(_unpacked(bytes(data)))
    elif packed != "identity":
        raise ValueError(f"it is packed as {packed}, which was not asked for")
    kind = answer.headers.get_content_type() if answer.getheader("Content-Type") else ""
    charset = answer.headers.get_content_charset()
    if charset is None and kind in _HTML:
        found = _CHARSET.search(data[:_LOOKED])
        charset = found[1].decode() if found else None
    kept = bytes(data[:BYTES])
    return Page(url, answer.status, kind, charset or "", kept, len(data) > BYTES)


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(47).decompress(data, BYTES + 1)
    except zlib.error:
        raise ValueError("it is packed, and cannot be unpacked") from None


def _split(url: str) -> SplitResult:
    """Return the parts of an address of the web. Raises Slip."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname)
        good = good and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        good = False
        parts = urlsplit("")
    if not good or not url.isascii() or not url.isprintable() or " " in url:
        raise Slip("`url` has to be an address such as https://docs.example.org/page.")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _wanted(given: Given) -> list[str]:
    wanted = given.get("find") or []
    good = isinstance(wanted, list) and len(wanted) <= QUOTES
    for each in wanted if good else []:
        good = good and isinstance(each, str) and 0 < len(each.strip()) <= QUOTE
    if not good:
        raise Slip(f"`find` has to be a list of {QUOTES} texts at most.")
    return wanted


def _head(page: Page) -> str:
    reason = http.client.responses.get(page.status, "")
    return f"[{page.url}: {page.status} {reason}]".replace(" ]", "]")


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _parts(said: str, data: bytes = b"") -> bytes:
    words = said.encode(errors="replace") + b"\n"
    last = {"text": len(words), "snapshot": len(data)}
    return words + data + b"\n" + json.dumps(last).encode()
