"""A small MCP server over stdio, in plain lines: ``mcp_raw.py COUNTS [WORD]``.

It notes each call in the file COUNTS before it does anything else. Its start costs
nothing, unlike that of the package's own server, so it can die often.
"""

import json
import os
import signal
import sys
from pathlib import Path

counts = Path(sys.argv[1])
word = sys.argv[2] if len(sys.argv) > 2 else ""

KEY = {"type": "object", "properties": {"key": {"type": "string"}}}
ANY = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = {
    "echo": ANY,
    "fail": ANY,
    "refuse": ANY,
    "die": KEY,  # after it was carried out
    "die_first": KEY,  # before
    "die_again": ANY,
    "hang": ANY,
    "parts": ANY,
    "environment": ANY,
    "was_done": KEY,
}


def note(line):
    with counts.open("a") as file:
        file.write(line + "\n")


def call(name, given):
    if name == "was_done":
        done = f"done {given['key']}" in counts.read_text().split("\n")
        return {"content": [], "structuredContent": {"done": done}}
    note(f"called {name}")
    if name == "die":
        note(f"done {given['key']}")
    if name.startswith("die"):
        os._exit(3)
    if name == "hang":
        signal.pause()
    if name == "parts":
        return {
            "content": [
                {"type": "text", "text": "one"},
                {"type": "image", "mimeType": "image/png", "data": "AAAA" * 100},
                {"type": "resource_link", "uri": "file:///x", "name": "x"},
                {
                    "type": "resource",
                    "resource": {"uri": "file:///y", "text": "abc", "mimeType": "a/b"},
                },
            ]
        }
    if name == "environment":
        return text(json.dumps([dict(os.environ), str(Path.cwd())]))
    if name == "fail":
        return {**text("it is closed"), "isError": True}
    return text(f"{given.get('text')}!")


def text(what):
    return {"content": [{"type": "text", "text": what}]}


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        }
    if method == "tools/list":
        if word == "changes":
            note("begun")
        again = word == "changes" and counts.read_text().count("begun") > 1
        about = "other words" if again else "words"
        about *= 30_000 if word == "talks" else 1
        return {
            "tools": [
                {"name": name, "description": about, "inputSchema": schema}
                for name, schema in TOOLS.items()
            ]
        }
    if method == "tools/call" and params["name"] != "refuse":
        given = params.get("arguments") or {}
        if key := (params.get("_meta") or {}).get("gitagent/key"):
            note(f"key {key}")
        return call(params["name"], given)
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = answer(message)
    if result is None:
        reply["error"] = {"code": -32601, "message": "there is no such thing"}
    else:
        reply["result"] = result
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
