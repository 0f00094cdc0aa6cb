"""gitagent as an MCP server over stdio, for the agent in the same sandbox.

The low-level server of the package ``mcp``: the other one makes schemas from
annotations at the start, while the agent waits. Most of that start is the import.

Source: Model Context Protocol, 2025-11-25, tools.
"""

import asyncio
import io
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from gitagent import __version__
from gitagent.worker.inside import forms
from gitagent.worker.inside.place import place
from gitagent.worker.inside.tools import call, withheld

# An escape of JSON; two halves of a pair are one.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\."
)

INSTRUCTIONS = (
    "gitagent gave you this task. Call finish once when you end, and ask when only a "
    "person can decide how to go on."
)

TOOLS = (
    types.Tool(
        name="ask",
        description=forms.ASKS,
        input_schema=forms.ASK,
    ),
    types.Tool(
        name="finish",
        description=forms.FINISHES,
        input_schema=forms.FINISH,
    ),
    types.Tool(
        name="task_status",
        description=forms.TELLS,
        input_schema=forms.NOTHING,
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    types.Tool(
        name="search_memory",
        description=forms.SEARCHES,
        input_schema=forms.SEARCH,
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    types.Tool(
        name="show_memory",
        description=forms.SHOWS,
        input_schema=forms.SHOW,
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    types.Tool(
        name="remember",
        description=forms.REMEMBERS,
        input_schema=forms.REMEMBER,
    ),
)


def serve() -> int:
    """Serve until standard input ends."""
    asyncio.run(_serve())
    return 0


async def _serve() -> None:
    server = Server(
        "gitagent",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=_list,
        on_call_tool=_call,
    )
    lines = cast("anyio.AsyncFile[str]", _Lines())
    async with stdio_server(stdin=lines) as (source, sink):
        await server.run(source, sink, server.create_initialization_options())


class _Lines:
    """Standard input, in lines that the server answers.

    One that it cannot read it passes over in silence, and the agent would wait.
    """

    def __init__(self) -> None:
        text = io.TextIOWrapper(sys.stdin.buffer, "utf-8", errors="replace")
        self._file = anyio.wrap_file(text)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._file:
            yield answerable(line)


def answerable(line: str) -> str:
    """Return a message as the server can read it, if it can be made so.

    Half a surrogate pair becomes U+FFFD. A request that is not one for another reason
    loses its parameters: then its sender is told that they are missing.
    """
    line = _ESCAPE.sub(_whole, line)
    try:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _without_parameters(line)
    return line


def _whole(match: re.Match[str]) -> str:
    return match[0] if match["half"] is None else r"\ufffd"


def _without_parameters(line: str) -> str:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(values, dict) or not isinstance(values.get("id"), int | str):
        return line
    kept = {key: values.get(key) for key in ("jsonrpc", "id", "method")}
    return json.dumps({**kept, "params": {}}) + "\n"


async def _list(
    context: ServerRequestContext[Any],  # noqa: ARG001
    params: types.PaginatedRequestParams | None,  # noqa: ARG001
) -> types.ListToolsResult:
    less = withheld(place(os.environ))
    return types.ListToolsResult(
        tools=[each for each in TOOLS if each.name not in less]
    )


async def _call(
    context: ServerRequestContext[Any],  # noqa: ARG001
    params: types.CallToolRequestParams,
) -> types.CallToolResult:
    text, done = await asyncio.to_thread(
        call, params.name, params.arguments or {}, place(os.environ), os.environ
    )
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=not done
    )
