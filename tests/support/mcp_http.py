"""A small MCP server of the package ``mcp`` over HTTP: ``mcp_http.py COUNTS``.

It prints its port, and notes each call in the file COUNTS before it does anything
else. When it dies, another one takes its place: what is imported is there already.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from pathlib import Path

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server

counts = Path(sys.argv[1])
ANY = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [
    types.Tool(name=name, description="words", input_schema=ANY)
    for name in ("echo", "die", "hang")
]


def note(line):
    with counts.open("a") as file:
        file.write(line)


async def listing(_context, _params):
    return types.ListToolsResult(tools=TOOLS)


async def call(_context, params):
    note(f"called {params.name}\n")
    if params.name == "die":
        os._exit(3)
    if params.name == "hang":
        await asyncio.Event().wait()
    text = (params.arguments or {}).get("text")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=f"{text}!")]
    )


server = Server("small", version="1", on_list_tools=listing, on_call_tool=call)


where = socket.create_server(("127.0.0.1", 0))
sys.stdout.write(f"{where.getsockname()[1]}\n")
sys.stdout.flush()
while child := os.fork():
    os.waitpid(child, 0)
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
config = uvicorn.Config(server.streamable_http_app(), log_level="critical")
uvicorn.Server(config).run(sockets=[where])
