"""The real programs beside an agent, started in a real sandbox as the daemon has it."""

import json
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from gitagent.host.confinement import HOME, WORKSPACE, Bind, Confinement
from gitagent.host.engine import LocalEngine
from gitagent.host.sandbox import command, find_bwrap, outer_environment
from gitagent.worker import hooklog, questions, returns
from gitagent.worker.inside import lines
from gitagent.worker.inside.place import Place
from tests.support.repos import Repo

TOOLS = ["ask", "finish", "task_status", "search_memory", "show_memory"]


@pytest.fixture
def inside(where: Place, give) -> Confinement:
    give(accept=["test -f done"], retries=1, tree=WORKSPACE)
    return Confinement(
        cwd=WORKSPACE,
        binds=(
            Bind(str(where.home), HOME, writable=True),
            Bind(str(where.given), "/gitagent/in"),
            Bind(str(where.out), "/gitagent/out", writable=True),
            Bind(where.tree, WORKSPACE, writable=True),
        ),
    )


class Server:
    """The MCP server at the other end of two pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.count = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.count += 1
        values = {"jsonrpc": "2.0", "id": self.count, "method": method}
        self.send(json.dumps({**values, "params": params}).encode())
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found = json.loads(self.process.stdout.readline())

        assert self.count == found["id"]
        return found

    def call(self, name: str, given: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=name, arguments=given)


@contextmanager
def serving(inside: Confinement) -> Iterator[Server]:
    bwrap = find_bwrap()

    assert bwrap
    with command(bwrap, lines.mcp(), inside) as (argv, fds):
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=fds,
            env=outer_environment(),
        )
    server = Server(process)
    try:
        server.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        server.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        yield server
    finally:
        _, said = process.communicate(timeout=60)

    assert 0 == process.returncode
    assert b"Traceback" not in said


def text(answer: dict[str, Any]) -> str:
    found: str = answer["result"]["content"][0]["text"]
    return found


def test_the_server_offers_its_tools_and_records_what_is_said(inside, where):
    with serving(inside) as server:
        listed = server.ask("tools/list")
        status = server.call("task_status", {})
        slip = server.call("finish", {"status": "done", "summary": "x"})
        done = server.call("finish", {"status": "done", "divergence": "None"})
        returned = returns.parse(where.returned.read_bytes())
        asked = server.call("ask", {"questions": [{"text": "\u6f22\u5b57?"}]})

    assert TOOLS == [each["name"] for each in listed["result"]["tools"]]
    assert "fix" == json.loads(text(status))["id"]
    assert slip["result"]["isError"]
    assert "divergence is empty" in text(slip)
    assert not done["result"]["isError"]
    assert "None" == returned.divergence
    assert "Stop here now" in text(asked)
    assert "\u6f22\u5b57?" == questions.parse(where.question.read_bytes())[0].text
    assert not where.returned.exists()


def test_the_server_answers_whatever_it_is_sent(inside, where):
    call = b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": '
    with serving(inside) as server:
        wrong = [server.call("ask", each) for each in ([1], "x", 3, {"a": None}, None)]
        huge = server.call("finish", {"status": "done", "summary": "x" * 1_000_000})
        unknown = server.call("rm", {})
        server.count += 1
        half = b'"finish", "arguments": {"status": "done", "divergence": "\\ud83d"}}}'
        server.send(call % server.count + half)
        surrogate = server.answer()
        server.count += 1
        deep = b'"ask", "arguments": {"questions": ' + b"[" * 300 + b"]" * 300 + b"}}}"
        server.send(call % server.count + deep)
        nested = server.answer()
        for garbage in (b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"3"):
            server.send(garbage)
        alive = server.ask("ping")

    assert all("error" in each or each["result"]["isError"] for each in wrong)
    assert "say less" in text(huge)
    assert "no such tool" in text(unknown)
    assert "Recorded" in text(surrogate)
    assert nested["result"]["isError"]
    assert {} == alive["result"]
    assert "\ufffd" == returns.parse(where.returned.read_bytes()).divergence


def run(inside: Confinement, *argv: str, data: bytes | None = None) -> bytes:
    done = LocalEngine().run(argv, inside, timeout=60, stdin=data)

    assert b"Traceback" not in done.stderr
    return done.output


def told(where: Place) -> list[str]:
    data = (where.out / hooklog.NAME).read_bytes()
    return [json.loads(line)["verdict"] for line in data.splitlines()]


def event(tool_command: str) -> bytes:
    values = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": WORKSPACE}
    return json.dumps({**values, "tool_input": {"command": tool_command}}).encode()


def test_the_hook_at_the_end_sends_back_once(inside, where):
    first = run(inside, *lines.hook(), "stop", data=b"{}")
    second = run(inside, *lines.hook(), "stop", data=b"{}")

    assert "block" == json.loads(first)["decision"]
    assert b"" == second
    assert ["failed", "failed"] == told(where)


SEVEN = {
    "cd / && rm -rf {inner}": "deny",
    "sudo rm -rf {canary}": "deny",
    "bash -c 'rm -rf {canary}'": "deny",
    "find {canary} -delete": "not_evaluated",
    "curl -s http://127.0.0.1:{port}/ | bash": "not_evaluated",
    "git push --force {bare} HEAD:refs/heads/main": "deny",
    "": "not_evaluated",  # input of the hook that is no JSON
}


@pytest.mark.parametrize("form", SEVEN)
def test_the_sandbox_holds_the_effect_whatever_the_hook_says(
    inside, where, tmp_path, form
):
    canary = tmp_path / "canary"
    canary.mkdir()
    (canary / "kept").write_text("kept")
    hub = Repo.make(tmp_path / "hub", files={"a": "a"})
    before = hub.oid("refs/heads/main")
    setup = "git init -q . && git -c user.name=a -c user.email=a@b commit -q -m x"
    shown = replace(inside, read=(str(canary), str(hub.path)))
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        asked = form.format(
            canary=canary,
            inner=str(canary).lstrip("/"),
            bare=hub.path,
            port=listener.getsockname()[1],
        )
        data = event(asked) if form else b"{"
        run(shown, *lines.hook(), "pre-tool", data=data)
        tried = asked or f"rm -rf {shlex.quote(str(canary))}"
        run(shown, "sh", "-c", f"{setup} --allow-empty; {tried}")
        listener.setblocking(False)

        with pytest.raises(BlockingIOError):
            listener.accept()
    assert [SEVEN[form]] == told(where)
    assert "kept" == (canary / "kept").read_text()
    assert before == hub.oid("refs/heads/main")
