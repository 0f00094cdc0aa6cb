"""MCP servers and pages through a real sandbox: only what is listed is reached."""

import http.server
import json
import shutil
import sys
import threading
import uuid
from pathlib import Path

import pytest

from gitagent.core.conversation import CallState, Origin
from gitagent.core.settings import Mcp
from gitagent.host.cancel import Cancel
from gitagent.host.confinement import Bind, Confinement
from gitagent.worker.loop.bodies import Way
from gitagent.worker.loop.fetching import Fetching
from gitagent.worker.loop.hands import Hands
from gitagent.worker.loop.servers import Servers

RAW = Path(__file__).parents[1] / "support" / "mcp_raw.py"


class Handler(http.server.BaseHTTPRequestHandler):
    """A page, and an MCP server that answers with one JSON object a request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/mcp":  # it tells nothing by itself
            self.send_response(405)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._send(b"<h1>Hello</h1>", "text/html")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        reply |= self._answer(message["method"], message.get("params") or {})
        self._send(json.dumps(reply).encode(), "application/json")

    def _answer(self, method, params):
        if method == "initialize":
            return {
                "result": {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "small", "version": "1"},
                }
            }
        if method == "tools/list":
            tool = {"name": "ring", "inputSchema": {"type": "object"}}
            return {"result": {"tools": [tool]}}
        if method == "tools/call":
            self.server.rung.append(params["name"])
            content = [{"type": "text", "text": "rung"}]
            return {"result": {"content": content}}
        return {"error": {"code": -32601, "message": "no"}}

    def _send(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.daemon_threads = True
        made.rung = []
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_servers_and_pages_are_reached_from_the_sandbox_as_far_as_they_are_listed(
    server, tmp_path
):
    shutil.copy(RAW, tmp_path / "server.py")
    (tmp_path / "counts").touch()
    here = f"127.0.0.1:{server.server_port}"
    inside = Confinement(
        cwd="/workspace",
        binds=(Bind(str(tmp_path), "/workspace", writable=True),),
        network=(here,),
    )
    python = (sys.executable, "-I", "/workspace/server.py", "/workspace/counts")
    specs = {"raw": Mcp(command=python), "net": Mcp(url=f"http://{here}/mcp")}
    told = []
    way = Way(60, Cancel(), "k")
    with Hands(inside, f"t{uuid.uuid4().hex[:8]}", told=told.append) as hands:
        hands.start()
        servers = Servers(specs, hands, told=told.append)
        servers.start((here,), Cancel())

        def call(tool):
            output = servers.execute(tool, {"text": "a"}, way)
            return output.state, output.whole

        assert [] == [each for each in told if "away" in each]
        assert (CallState.DONE, b"a!\n") == call("mcp__raw__echo")
        assert (CallState.DONE, b"rung\n") == call("mcp__net__ring")
        assert ["ring"] == server.rung
        assert CallState.UNCERTAIN is call("mcp__raw__die_again")[0]
        assert [] == [each for each in told if "away" in each]
        assert (CallState.DONE, b"a!\n") == call("mcp__raw__echo")

        fetching = Fetching(hands)
        page = fetching.execute("web_fetch", {"url": f"http://{here}/"}, way)
        other = fetching.execute("web_fetch", {"url": "http://127.0.0.1:1/"}, way)
    assert (CallState.DONE, Origin.WEB) == (page.state, page.origin)
    assert b"# Hello" in page.whole
    assert b"<h1>Hello</h1>" == page.snapshot
    assert CallState.FAILED is other.state
    assert b"127.0.0.1:1 is not in" in other.whole
    assert 1 == (tmp_path / "counts").read_text().count("called die_again")
