"""gitagent as an MCP server over stdio, for the agent in the same sandbox.

On the bare messages, not on the library's models of them: an agent waits for its
servers before its first request, and to import that library takes longer than all
else that happens until then.

Source: Model Context Protocol, 2025-11-25, tools.
"""

import json
import os
import re
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gitagent import __version__
from gitagent.worker.inside import forms
from gitagent.worker.inside.place import place
from gitagent.worker.inside.tools import call, withheld

Object = dict[str, Any]

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

# An escape of JSON; two halves of a pair are one.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\."
)

# Codes of JSON-RPC.
_NO_REQUEST = -32600
_NO_METHOD = -32601
_BAD_PARAMS = -32602
_BROKEN = -32603

INSTRUCTIONS = (
    "gitagent gave you this task. Call finish once when you end, and ask when only a "
    "person can decide how to go on."
)


def _tool(name: str, description: str, schema: Object, **hints: bool) -> Object:
    values = {"name": name, "description": description, "inputSchema": schema}
    return {**values, "annotations": hints} if hints else values


TOOLS = (
    _tool("ask", forms.ASKS, forms.ASK),
    _tool("finish", forms.FINISHES, forms.FINISH),
    _tool("task_status", forms.TELLS, forms.NOTHING, readOnlyHint=True),
    _tool("search_memory", forms.SEARCHES, forms.SEARCH, readOnlyHint=True),
    _tool("show_memory", forms.SHOWS, forms.SHOW, readOnlyHint=True),
    _tool("remember", forms.REMEMBERS, forms.REMEMBER),
)


class _Wrong(Exception):
    """What is the matter with a request: a code and a sentence."""


def serve() -> int:
    """Serve until standard input ends and every call is answered."""
    lock = threading.Lock()
    for line in sys.stdin.buffer:
        message = read(line)
        if message is None:
            continue
        if message.get("method") == "tools/call":
            # One call may wait for the daemon; others do not wait for it.
            threading.Thread(target=_serve, args=(message, lock)).start()
        else:
            _serve(message, lock)
    return 0


def _serve(message: Object, lock: threading.Lock) -> None:
    line = json.dumps(answer(message, os.environ)).encode() + b"\n"
    with lock, suppress(OSError):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def read(line: bytes) -> Object | None:
    """Return the request in a line, None if nobody waits for an answer to it.

    Half a surrogate pair becomes U+FFFD.
    """
    text = _ESCAPE.sub(_whole, line.decode(errors="replace"))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "result" in found or "error" in found:
        return None
    number = found.get("id")
    named = isinstance(number, int | str) and not isinstance(number, bool)
    return found if named else None


def _whole(match: re.Match[str]) -> str:
    return match[0] if match["half"] is None else r"\ufffd"


def answer(message: Object, environ: Mapping[str, str]) -> Object:
    """Return the answer to a request, whatever is the matter with it."""
    given = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        return {**given, "result": _result(message, environ)}
    except _Wrong as error:
        code, text = error.args
    except Exception as error:  # noqa: BLE001 - else the agent would wait for ever
        code, text = _BROKEN, f"Internal error: {error!r}"
    return {**given, "error": {"code": code, "message": text}}


def _result(message: Object, environ: Mapping[str, str]) -> Object:
    method, params = message.get("method"), message.get("params") or {}
    if not isinstance(method, str):
        raise _Wrong(_NO_REQUEST, "Invalid request: it has no method")
    if not isinstance(params, dict):
        raise _Wrong(_BAD_PARAMS, "Invalid params: they have to be an object")
    match method:
        case "initialize":
            return _initialized(params.get("protocolVersion"))
        case "ping":
            return {}
        case "tools/list":
            less = withheld(place(environ))
            return {"tools": [each for each in TOOLS if each["name"] not in less]}
        case "tools/call":
            return _called(params, environ)
        case _:
            raise _Wrong(_NO_METHOD, f"Method not found: {method}")


def _initialized(version: object) -> Object:
    return {
        "protocolVersion": version if version in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "gitagent", "version": __version__},
        "instructions": INSTRUCTIONS,
    }


def _called(params: Object, environ: Mapping[str, str]) -> Object:
    name, given = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise _Wrong(_BAD_PARAMS, "Invalid params: name has to be a text")
    if not isinstance(given, dict | None):
        raise _Wrong(_BAD_PARAMS, "Invalid params: arguments have to be an object")
    text, done = call(name, given or {}, place(environ), environ)
    return {"content": [{"type": "text", "text": text}], "isError": not done}
