"""The client of an agent's MCP servers: a program in the sandbox, beside the hands.

It reads one JSON object a line and answers each with one. A call of a tool is sent to
its server once and never again: when its answer is lost, it is told as uncertain, and
the next call gets a new connection.

Nothing of a server is believed here beyond what its protocol says; what of it is
offered to a model is judged outside, in `worker.loop.foreign`.

Source: Model Context Protocol, 2025-11-25 and 2026-07-28.
"""

import asyncio
import json
import logging
import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError

from gitagent.worker.inside.mcp_line import (
    REPLY,
    Away,
    Line,
    Object,
    Reply,
    leaves,
    words,
)

_STARTS = 10  # connections to one server; one that needs more is of no use
_SPARE_S = 2.0  # for the library to see what we have seen
_WHY_S = 0.5  # for it to end a connection that could not be made
# Characters of an answer. As JSON, where one has up to six bytes, it is still less than
# what of a call comes out of the sandbox.
_TEXT = 2 << 20
_CLIENT_ERRORS = range(400, 500)

# Errors that the library makes up itself; a server can send them too, and is then
# taken for one whose answer is lost.
_LOST = {types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, types.PARSE_ERROR}
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)


class Server:
    """One configured server, and the connection to it."""

    def __init__(self) -> None:
        self._line: Line | None = None
        self._lock = asyncio.Lock()
        self._starts = 0
        self._old: set[Line] = set()

    async def line(self, spec: Object) -> Line:
        """Return a connection that lives. Raises Away."""
        async with self._lock:
            if self._line is not None and self._line.alive:
                return self._line
            self._retire(self._line)
            self._line = None
            # A server that still works on a lost call could carry it out beside the
            # one that is asked whether it was.
            idle = [each.close() for each in self._old if not each.calls]
            await asyncio.gather(*idle)
            if self._starts >= _STARTS:
                raise Away(f"it was begun {_STARTS} times, and is left alone now")
            self._starts += 1
            line = Line(spec)
            self._old.add(line)  # until it is the one in use, also if this is stopped
            try:
                await line.ready()
            except asyncio.CancelledError:
                line.give_up()
                raise
            self._old.discard(line)
            self._line = line
            return line

    async def call(self, spec: Object, order: Object) -> Object:
        """Make one call, once; whatever comes of it is a state and a text."""
        try:
            line = await self.line(spec)
        except Away as error:
            return _failed(f"The call was not made: the server is away ({error}).")
        tool = order["tool"]
        if line.prints.get(tool) != order["print"]:
            return _failed(
                "The call was not made: the server does not offer this tool any more "
                "as it was offered to you."
            )
        line.calls += 1
        known = False
        try:
            answer = await _once(line, order)
            known = answer["state"] != "uncertain"
            return answer
        finally:
            if not known:
                self.lose(line)
            line.calls -= 1
            if not line.calls and line is not self._line:
                line.leave()

    def lose(self, line: Line) -> None:
        """Give the next call another connection."""
        if self._line is line:
            self._line = None
            self._retire(line)

    async def close(self) -> None:
        """End it all."""
        lines = {*self._old, *([self._line] if self._line else [])}
        await asyncio.gather(*(each.close() for each in lines))

    def _retire(self, line: Line | None) -> None:
        self._old = {each for each in self._old if not each.task.done()}
        if line is not None:
            self._old.add(line)
            if not line.calls:
                line.leave()


async def _once(line: Line, order: Object) -> Object:
    reply = Reply()
    REPLY.set(reply)
    order["sent"] = True
    meta = {"gitagent/key": order["key"]}
    params = types.CallToolRequestParams(
        name=order["tool"],
        arguments=order["arguments"],
        _meta=cast("types.RequestParamsMeta", meta) if order["key"] else None,
    )
    seconds = order["seconds"]
    request = asyncio.create_task(
        line.client.session.send_request(
            types.CallToolRequest(params=params),
            types.CallToolResult,
            request_read_timeout_seconds=seconds,
        )
    )
    try:
        await asyncio.wait(
            {request, line.task},
            timeout=seconds + _SPARE_S,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if not request.done():
            await asyncio.wait({request}, timeout=_SPARE_S)
        if not request.done():
            return _uncertain(f"no answer within {seconds:g} s")
        return _answer(request.result())
    except MCPError as error:
        return await _error(line, error, reply)
    except ValueError as error:
        return _uncertain(f"its answer is none: {words(error)}")
    except Exception as error:  # noqa: BLE001 - the transport's, of any library
        return await _broken(line, error)
    finally:
        request.cancel()


async def _error(line: Line, error: MCPError, reply: Reply) -> Object:
    said = f"The server answers with error {error.code}: {error.message}"
    if reply.status in _CLIENT_ERRORS:
        return _failed(f"HTTP status {reply.status}. {said}")
    if reply.status >= 500:
        return _uncertain(f"it answered with HTTP status {reply.status}")
    if error.code not in _LOST and (reply.status in {0, 200}):
        return _failed(said)
    if error.code == types.REQUEST_TIMEOUT:
        return _uncertain("no answer came in time")
    return await _broken(line, error)


async def _broken(line: Line, error: Exception) -> Object:
    if line.http:
        await asyncio.wait({line.task}, timeout=_WHY_S)
    causes = leaves(line.why) if line.why else []
    if causes and all(isinstance(each, _UNSENT) for each in causes):
        return _failed(f"The call was not made: {words(causes[0])}.")
    return _uncertain(f"the connection was lost: {words(error)}")


def _answer(result: types.CallToolResult) -> Object:
    parts = [_part(each) for each in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False, indent=1)]
    text = "\n".join(parts)
    if len(text) > _TEXT:
        text = f"{text[:_TEXT]}\n[{len(text) - _TEXT} more characters are left out]"
    structured = result.structured_content
    done = structured.get("done") if isinstance(structured, dict) else None
    return {
        "state": "failed" if result.is_error else "done",
        "text": text,
        # Of it only what a probe says is used.
        "structured": {"done": done} if isinstance(done, bool) else None,
    }


def _part(block: Any) -> str:  # noqa: ANN401 - one of several blocks
    """Return a part of an answer: its text, or of what kind and size it is."""
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            size = len(block.data) * 3 // 4
            return f"[{block.type} of {block.mime_type}, {size} bytes]"
        case types.EmbeddedResource():
            held = block.resource
            if isinstance(held, types.TextResourceContents):
                size = len(held.text.encode(errors="replace"))
            else:
                size = len(held.blob) * 3 // 4
            kind = held.mime_type or "no named kind"
            return f"[resource {held.uri} of {kind}, {size} bytes]"
        case types.ResourceLink():
            return f"[link to the resource {block.uri}]"
        case _:
            return "[a part of another kind]"


def _failed(text: str) -> Object:
    return {"state": "failed", "text": text}


def _uncertain(why: str) -> Object:
    return {"state": "uncertain", "text": why}


@dataclass(slots=True)
class Host:
    """Takes orders from standard input until it ends."""

    servers: dict[str, Server] = field(default_factory=dict)
    tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    async def serve(self) -> None:
        """Serve."""
        loop = asyncio.get_running_loop()
        orders: asyncio.Queue[Object | None] = asyncio.Queue()

        def read() -> None:
            for line in sys.stdin.buffer:
                loop.call_soon_threadsafe(orders.put_nowait, json.loads(line))
            loop.call_soon_threadsafe(orders.put_nowait, None)

        threading.Thread(target=read, daemon=True).start()
        while (order := await orders.get()) is not None:
            self._take(order)
        tasks = [*self.tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(each.close() for each in self.servers.values()))

    def _take(self, order: Object) -> None:
        number = order["id"]
        if order["do"] == "stop":
            if (task := self.tasks.get(number)) is not None:
                task.cancel()
            return
        task = asyncio.create_task(self._do(order))
        self.tasks[number] = task
        task.add_done_callback(lambda _: self.tasks.pop(number, None))

    async def _do(self, order: Object) -> None:
        try:
            if order["do"] == "list":
                names = order["servers"]
                found = await asyncio.gather(
                    *(self._list(name, spec) for name, spec in names.items())
                )
                _say(order, {"servers": dict(zip(names, found, strict=True))})
                return
            _say(order, await self._call(order))
        except asyncio.CancelledError:
            if "sent" in order:
                _say(order, _uncertain("it was stopped before its answer came"))
            else:
                _say(order, _failed("The call was not made: it was stopped before."))

    async def _list(self, name: str, spec: Object) -> Object:
        try:
            return {"tools": (await self._server(name).line(spec)).tools}
        except Away as error:
            return {"error": str(error)}

    async def _call(self, order: Object) -> Object:
        server = self._server(order["server"])
        return await server.call(order["spec"], order)

    def _server(self, name: str) -> Server:
        return self.servers.setdefault(name, Server())


def _say(order: Object, answer: Object) -> None:
    line = json.dumps({"id": order["id"], **answer})
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


def serve() -> int:
    """Serve until standard input ends."""
    logging.disable()  # the library's, with tracebacks, about what a server sends
    asyncio.run(_serve())
    return 0


async def _serve() -> None:
    try:
        await Host().serve()
    finally:
        # The library waits for servers that were cut off while they started for ever.
        os._exit(0)
