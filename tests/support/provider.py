"""A model provider on loopback whose answers are scripted.

It speaks the Anthropic Messages API and the OpenAI chat completions and responses
APIs, streaming and not, over real HTTP. Which script answers is decided by the text of
the request: ``script: NAME`` anywhere in it, else the ``# Task NAME:`` of gitagent's
prompt, else NAME as a word. Each request that offers tools takes the next step of its
script, whatever became of the one before, so what failed and is sent again gets on. A
request without tools (a title, a summary) gets a short text and takes none, but where
``bare`` is set: then the program is one that offers no tools at all.

    with Provider() as provider:
        provider.script("fix-it", [Shell("make test"), Say("It is mended.")])
"""

import contextlib
import json
import re
import secrets
import select
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support import provider_wire as wire
from tests.support.provider_steps import (
    Ask,
    Asked,
    Call,
    Edit,
    Fault,
    Finish,
    Gate,
    Mcp,
    NoTool,
    Part,
    Say,
    Script,
    Shell,
    Step,
    Think,
    Write,
    calls,
)

__all__ = [
    "Ask",
    "Asked",
    "Call",
    "Edit",
    "Fault",
    "Finish",
    "Gate",
    "Mcp",
    "Provider",
    "Say",
    "Seen",
    "Shell",
    "Think",
    "Write",
]

TITLE = "A short title"  # answer to a request that takes no step

_POLL_S = 0.05  # between two looks at whether a client that waits is still there

# status, type at Anthropic, type at OpenAI, code at OpenAI, message
_FAULTS = {
    "rate_limited": (429, "rate_limit_error", "requests", "rate_limit_exceeded", ""),
    "overloaded": (529, "overloaded_error", "server_error", "", "Overloaded"),
    "timeout": (408, "timeout_error", "timeout", "", "Request timeout"),
    "server": (500, "api_error", "server_error", "", "Internal server error"),
    "auth": (
        401,
        "authentication_error",
        "invalid_request_error",
        "invalid_api_key",
        "invalid x-api-key",
    ),
    "overflow": (
        400,
        "invalid_request_error",
        "invalid_request_error",
        "context_length_exceeded",
        "prompt is too long: 250000 tokens > 200000 maximum context length",
    ),
    "funds": (
        402,
        "billing_error",
        "insufficient_quota",
        "insufficient_quota",
        "Your credit balance is too low",
    ),
    "invalid": (400, "invalid_request_error", "invalid_request_error", "", "no"),
    "no_model": (
        404,
        "not_found_error",
        "invalid_request_error",
        "model_not_found",
        "model",
    ),
}


@dataclass(frozen=True)
class Seen:
    """A request that came."""

    number: int  # from 1
    method: str
    path: str  # without its query
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class _Gone(Exception):
    """The client went away, or the server closes."""


class _Kept:
    """A script and how far it has come."""

    def __init__(self, name: str, script: Script, *, bare: bool) -> None:
        self.name, self.bare = name, bare
        self._script = script
        self._lock = threading.Lock()
        self._turn = 0
        self._place = 0
        self._faulted = 0

    def next(self, asked: Asked) -> Step:
        """Take the next step."""
        with self._lock:
            turn, self._turn = self._turn, self._turn + 1
            if callable(self._script):
                return self._script(replace(asked, turn=turn))
            return self._listed(self._script)

    def _listed(self, steps: Sequence[Step]) -> Step:
        if self._place >= len(steps):
            last = steps[-1] if steps else Say("")
            if isinstance(last, Say):
                return last  # its program did not take it for the end
            raise NoTool(f"the script {self.name} has no step left")
        step = steps[self._place]
        self._faulted += 1
        if not isinstance(step, Fault) or self._faulted >= step.times:
            self._place += 1
            self._faulted = 0
        return step


class Provider:
    """The server; a context manager.

    At its end it raises AssertionError with what a script could not do, unless
    ``strict`` is off: that is the cause of what went wrong elsewhere.
    """

    def __init__(
        self,
        *,
        key: str = "",
        models: Sequence[str] = (),
        default: Script | None = None,
        strict: bool = True,
    ) -> None:
        self.key = key or f"sk-test-{secrets.token_hex(16)}"
        self.models = tuple(models)  # what it has; empty: whatever is asked for
        self._default = None if default is None else _Kept("", default, bare=False)
        self._strict = strict
        self._kept: dict[str, _Kept] = {}
        self._seen: list[Seen] = []
        self._troubles: list[str] = []
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._serve, name="provider")

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=_POLL_S)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        with self._changed:
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._server.server_close()  # joins the threads of requests
        if kind is None and self._strict and self._troubles:
            raise AssertionError("; ".join(self._troubles))

    @property
    def url(self) -> str:
        """Its address, without /v1."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> tuple[Seen, ...]:
        """All that came so far, refused ones too."""
        with self._changed:
            return tuple(self._seen)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What scripts could not do."""
        with self._changed:
            return tuple(self._troubles)

    def script(self, name: str, script: Script, *, bare: bool = False) -> None:
        """Answer conversations of that name; it begins anew if there was one."""
        with self._changed:
            self._kept[name] = _Kept(name, script, bare=bare)

    def wait_requests(
        self, count: int, path: str = "", *, timeout: float = 60
    ) -> tuple[Seen, ...]:
        """Wait until so many requests whose path ends so have come; return those."""

        def fitting() -> tuple[Seen, ...]:
            return tuple(each for each in self._seen if each.path.endswith(path))

        with self._changed:
            if not self._changed.wait_for(lambda: len(fitting()) >= count, timeout):
                raise AssertionError(
                    f"{len(fitting())} of {count} requests {path} came"
                )
            return fitting()

    def _note(self, seen: Seen) -> Seen:
        with self._changed:
            numbered = replace(seen, number=len(self._seen) + 1)
            self._seen.append(numbered)
            self._changed.notify_all()
            return numbered

    def _trouble(self, text: str) -> None:
        with self._changed:
            self._troubles.append(text)
            self._changed.notify_all()

    def _pick(self, text: str) -> _Kept | None:
        with self._changed:
            names = sorted(self._kept, key=len, reverse=True)
            for form in (
                r"script: {}(?![\w-])",
                "# Task {}:",
                r"(?<![\w-]){}(?![\w-])",
            ):
                for name in names:
                    if re.search(form.format(re.escape(name)), text):
                        return self._kept[name]
            return self._default


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128
    provider: Provider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client may go away at any time."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.provider = self.server.provider
        with self.provider._changed:
            self.provider._open.add(self.connection)
        if self.provider._closing.is_set():
            raise _Gone

    def finish(self) -> None:
        with self.provider._changed:
            self.provider._open.discard(self.connection)
        super().finish()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        seen = self._taken()
        if not self._may(
            seen, "messages" if "anthropic-version" in seen.headers else ""
        ):
            return
        if not seen.path.endswith("/models"):
            self._json(404, wire.error("", "not_found_error", "no such path", ""))
            return
        models = [
            {"id": each, "type": "model", "object": "model", "display_name": each}
            for each in self.provider.models
        ]
        self._json(200, {"object": "list", "data": models, "has_more": False})

    def do_POST(self) -> None:
        seen = self._taken()
        path = seen.path.removeprefix("/v1").strip("/")
        counting = path == "messages/count_tokens"
        api = "messages" if counting else wire.PATHS.get(path, "")
        if not self._may(seen, api):
            return
        if not api:
            self._json(404, wire.error("", "not_found_error", "no such path", ""))
            return
        try:
            asked = wire.read(api, seen.json)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._fault(api, Fault("invalid", message=f"not a request: {error!r}"))
            return
        if self.provider.models and asked.model not in self.provider.models:
            self._fault(api, Fault("no_model", message=f"model: {asked.model}"))
        elif counting:
            self._json(200, {"input_tokens": wire.tokens(seen.body)})
        else:
            with contextlib.suppress(_Gone, OSError):
                self._answer(seen, asked)

    def _taken(self) -> Seen:
        length = int(self.headers.get("content-length") or 0)
        chunked = "chunked" in (self.headers.get("transfer-encoding") or "")
        body = self._chunks() if chunked else self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        return self.provider._note(Seen(0, self.command, path, headers, body))

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _may(self, seen: Seen, api: str) -> bool:
        given = {
            seen.headers.get("x-api-key", ""),
            seen.headers.get("authorization", "").removeprefix("Bearer "),
        }
        if self.provider.key in given:
            return True
        self._fault(api, Fault("auth"))
        return False

    def _answer(self, seen: Seen, asked: Asked) -> None:
        kept = self.provider._pick(asked.text)
        if not asked.tools and not (kept and kept.bare):
            self._say(seen, asked, [Say(TITLE)])
            return
        if kept is None:
            self._broken(asked.api, f"no script for {asked.newest[:200]!r}")
            return
        try:
            step = kept.next(asked)
            while isinstance(step, Gate):
                self._stand(step)
                step = kept.next(asked)
            if isinstance(step, Fault):
                self._fault(asked.api, step, (seen, asked))
                return
            parts: Sequence[Part] = step if isinstance(step, Sequence) else [step]
            answer = [calls(part, asked.tools) for part in parts]
        except NoTool as error:
            self._broken(asked.api, f"script {kept.name}: {error}")
            return
        self._say(seen, asked, answer)

    def _broken(self, api: str, text: str) -> None:
        self.provider._trouble(text)
        self._fault(api, Fault("invalid", message=text))

    def _stand(self, gate: Gate) -> None:
        gate.reached.set()
        while not gate.release.wait(_POLL_S):
            self._here()
        self._here()

    def _here(self) -> None:
        """Raise _Gone if nobody waits for the answer any more."""
        if self.provider._closing.is_set():
            raise _Gone
        if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(
            1, socket.MSG_PEEK
        ):
            raise _Gone

    def _say(self, seen: Seen, asked: Asked, answer: wire.Answer) -> None:
        taken = wire.tokens(seen.body)
        if not asked.stream:
            self._json(200, wire.whole(asked, answer, seen.number, taken))
            return
        self._begin(200, {"content-type": "text/event-stream; charset=utf-8"})
        held = [each for each in answer if isinstance(each, Say) and each.hold]
        for event in wire.events(asked, answer, seen.number, taken):
            data = _sse(event)
            self._chunk(data)
            if held and held[0].hold and _first_piece(held[0]) in data:
                self._stand(held.pop(0).hold)
        self._chunk(b"")

    def _fault(
        self, api: str, fault: Fault, about: tuple[Seen, Asked] | None = None
    ) -> None:
        match fault.kind:
            case "unreachable":
                self.close_connection = True
            case "hung" | "cut" if about is not None:
                self._stuck(*about, fault)
            case "garbage" if about is not None and about[1].stream and fault.begun:
                self._stuck(*about, fault)
            case "garbage":
                self._bytes(200, "text/html", b"<html>\xff\x00 not an answer {[</html>")
            case _:
                status, ours, theirs, code, text = _FAULTS[fault.kind]
                kind = ours if api == "messages" else theirs
                body = wire.error(api, kind, fault.message or text or fault.kind, code)
                headers = dict(fault.headers)
                if fault.kind == "rate_limited":
                    headers.setdefault("retry-after", "1")
                self._json(fault.status or status, body, headers)

    def _stuck(self, seen: Seen, asked: Asked, fault: Fault) -> None:
        """Begin an answer that never ends, ends in its middle, or goes on as none."""
        self.close_connection = True
        answer = [Say("These are words of an answer that has no end. " * 4)]
        hung = fault.kind == "hung"
        if asked.stream and (fault.begun or not hung):
            self._begin(200, {"content-type": "text/event-stream; charset=utf-8"})
            said = wire.events(asked, answer, seen.number, wire.tokens(seen.body))
            for event in _first(said, fault.after):
                self._chunk(_sse(event))
            if fault.kind == "garbage":
                self._chunk(b"data: <html>\n\n")
        elif not hung:
            body = json.dumps(wire.whole(asked, answer, seen.number, 1)).encode()
            self._head(200, {"content-length": str(len(body))})
            self.wfile.write(body[: len(body) // 2])
        while hung:
            self._here()
            self.provider._closing.wait(_POLL_S)

    def _json(
        self, status: int, value: Any, headers: Mapping[str, str] | None = None
    ) -> None:
        data = json.dumps(value).encode()
        self._bytes(status, "application/json", data, headers)

    def _bytes(
        self,
        status: int,
        kind: str,
        data: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        length = {"content-type": kind, "content-length": str(len(data))}
        self._head(status, {**length, **(headers or {})})
        self.wfile.write(data)

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._head(status, {**headers, "transfer-encoding": "chunked"})

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        number = f"req_{len(self.provider._seen):08}"
        for name, value in {
            "request-id": number,
            "x-request-id": number,
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def _sse(event: wire.Event) -> bytes:
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()


def _first_piece(said: Say) -> bytes:
    return json.dumps(said.text[: said.piece]).encode()


def _first(events: Iterator[wire.Event], count: int) -> Iterator[wire.Event]:
    for _ in range(count):
        yield next(events)
