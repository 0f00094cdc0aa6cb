"""One connection to one MCP server, led by a task of its own.

The library ends whole groups of tasks when a connection breaks; here that is one
connection, and what was known of it stays.
"""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self, TextIO

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

Object = dict[str, Any]

_PASSED = (  # of our environment to a server; beyond these it has what its table says
    "GITAGENT_RUN",  # by which what is left is found and ended
    *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "USER"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_USE_ENV_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
_READY_S = 30.0  # for a server to start and say which tools it has
_LEAVE_S = 8.0  # for the library to end a server that does not end itself
_PAGES = 20
_TOOLS = 500
_SAID = 1 << 20  # characters of what they say; all servers answer in one message
_COMPLAINT = 1000  # characters of what a server wrote to standard error


class Away(Exception):
    """Why a server cannot be had."""


@dataclass(slots=True)
class Reply:
    """What HTTP says of the answer to one request."""

    status: int = 0


# Of the call that is being made: the library sends each request in its own context.
REPLY: ContextVar[Reply | None] = ContextVar("reply", default=None)


class Complaint:
    """The end of what a server writes to standard error."""

    def __init__(self) -> None:
        source, sink = os.pipe()
        self._text = b""
        self.sink: TextIO = os.fdopen(sink, "w")
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def _read(self, source: int) -> None:
        with os.fdopen(source, "rb", buffering=0) as pipe:
            while data := pipe.read(65536):
                self._text = (self._text + data)[-_COMPLAINT:]

    def __str__(self) -> str:
        return " ".join(self._text.decode(errors="replace").split())


class Ears:
    """A stream of a transport that tells when it ends.

    Else a server's death between two calls would be seen only by the call that it
    loses.
    """

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:  # noqa: ANN401
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the library's
        return getattr(self._stream, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - the library's
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended.set()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> bool | None:
        self._ended.set()
        left: bool | None = await self._stream.__aexit__(*error)
        return left


class Line:
    """One connection, led by a task of its own: what breaks in it ends it alone."""

    def __init__(self, spec: Object) -> None:
        self.calls = 0
        self.prints: dict[str, str] = {}
        self.tools: list[Object] = []
        self.why: BaseException | None = None
        self.http = bool(spec["url"])
        self._spec = spec
        self._complaint = Complaint()
        self._ended = asyncio.Event()
        self._leave = asyncio.Event()
        self._ready = asyncio.Event()
        self.task = asyncio.create_task(self._lead())

    @property
    def alive(self) -> bool:
        """Whether a call can be made."""
        return not (self._ended.is_set() or self._leave.is_set() or self.task.done())

    @property
    def client(self) -> Client:
        """What calls are made with."""
        return self._client

    async def ready(self) -> None:
        """Wait until its tools are known. Raises Away."""
        waiting = asyncio.create_task(self._ready.wait())
        await asyncio.wait(
            {waiting, self.task},
            timeout=_READY_S,
            return_when=asyncio.FIRST_COMPLETED,
        )
        waiting.cancel()
        if not self._ready.is_set():
            done = self.task.done()
            await self.close()
            why = words(self.why) if done else f"no answer within {_READY_S:g} s"
            said = str(self._complaint)
            raise Away(f"{why}; it says: {said}" if said else why)

    def leave(self) -> None:
        """Take no more calls, and end with the last one."""
        self._leave.set()

    def give_up(self) -> None:
        """Cut it off where it has not begun."""
        self.leave()
        if not self._ready.is_set():
            self.task.cancel()

    async def close(self) -> None:
        """End it."""
        self.give_up()
        await asyncio.wait({self.task}, timeout=_LEAVE_S)
        if not self.task.done():
            self.task.cancel()

    async def _lead(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                transport = _watched(await self._transport(stack), self._ended)
                self._client = await stack.enter_async_context(Client(transport))
                self.tools = await _tools(self._client)
                self.prints = {each["name"]: each["print"] for each in self.tools}
                self._ready.set()
                await self._leave.wait()
        except BaseException as error:  # noqa: BLE001 - the library's, in groups too
            self.why = error
        finally:
            self._ended.set()
            with suppress(OSError):
                self._complaint.sink.close()

    async def _transport(self, stack: AsyncExitStack) -> Any:  # noqa: ANN401
        url = self._spec["url"]
        if url:
            # Never around it, be it to this very sandbox: what is listed is reached.
            proxy = os.environ.get("https_proxy") or None
            client = httpx2.AsyncClient(
                proxy=proxy,
                timeout=httpx2.Timeout(_READY_S, read=self._spec["timeout"]),
                # The proxy serves one request a connection, and closes it late.
                limits=httpx2.Limits(max_keepalive_connections=0),
                event_hooks={"response": [_note]},
            )
            await stack.enter_async_context(client)
            return streamable_http_client(url, http_client=client)
        program, *arguments = self._spec["command"]
        env = {name: os.environ[name] for name in _PASSED if name in os.environ}
        return stdio_client(
            StdioServerParameters(
                command=program,
                args=arguments,
                env=env | self._spec["env"],
                encoding_error_handler="replace",
            ),
            errlog=self._complaint.sink,
        )


async def _tools(client: Client) -> list[Object]:
    """Return all tools of a server, each with a print of what it says of it."""
    found: list[Object] = []
    size = 0
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.session.list_tools(
            params=types.PaginatedRequestParams(cursor=cursor)
        )
        for each in page.tools:
            said = {
                "name": each.name,
                "description": each.description or "",
                "schema": each.input_schema,
            }
            text = json.dumps(said, sort_keys=True)
            size += len(text)
            if size > _SAID:
                return found[:_TOOLS]
            found.append({**said, "print": sha256(text.encode()).hexdigest()})
        cursor = page.next_cursor
        if cursor is None or len(found) > _TOOLS:
            break
    return found[:_TOOLS]


@asynccontextmanager
async def _watched(transport: Any, ended: asyncio.Event) -> AsyncIterator[Any]:  # noqa: ANN401
    async with transport as (source, sink):
        yield Ears(source, ended), sink


async def _note(response: httpx2.Response) -> None:
    if (reply := REPLY.get()) is not None and response.request.method == "POST":
        reply.status = response.status_code


def leaves(error: BaseException) -> list[BaseException]:
    """Return what groups of exceptions are made of."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in leaves(each)]
    return [error]


def words(error: BaseException | None) -> str:
    """Return why something ended."""
    if error is None:
        return "it ended"
    leaf = leaves(error)[0]
    return f"{leaf}" or type(leaf).__name__
