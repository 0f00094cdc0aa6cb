"""The MCP server, message by message; test_sandboxed.py has it in its place."""

import json

import pytest

from gitagent.worker.inside import mcp


def asked(where, method: object = "ping", **values: object) -> dict:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, **values}
    line = json.dumps(message).encode()
    environ = {
        "GITAGENT_RETURN_FILE": str(where.returned),
        "GITAGENT_PROMPT_FILE": str(where.given / "prompt.md"),
    }
    found = mcp.answer(mcp.read(line), environ)

    assert 7 == found["id"]
    return found


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ([], "2025-11-25"),
    ],
)
def test_a_version_that_is_known_is_spoken_and_else_the_newest(where, wanted, given):
    params = {"protocolVersion": wanted, "capabilities": {}}
    found = asked(where, "initialize", params=params)["result"]

    assert given == found["protocolVersion"]
    assert {"tools"} == set(found["capabilities"])
    assert "gitagent" == found["serverInfo"]["name"]
    assert found["instructions"]


def test_a_ping_needs_no_parameters(where):
    assert {} == asked(where)["result"]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"method": "resources/list"}, -32601),
        ({"method": 3}, -32600),
        ({"params": [1]}, -32602),
        ({"method": "tools/call"}, -32602),
        ({"method": "tools/call", "params": {"name": 4}}, -32602),
        ({"method": "tools/call", "params": {"name": "ask", "arguments": 3}}, -32602),
    ],
)
def test_a_request_that_cannot_be_met_is_told_why(where, values, code):
    found = asked(where, **values)["error"]

    assert code == found["code"]
    assert found["message"]


def test_what_breaks_within_is_answered_too(where, monkeypatch):
    def broken(*_):
        raise KeyError("x")

    monkeypatch.setattr(mcp, "call", broken)
    found = asked(where, "tools/call", params={"name": "ask"})["error"]

    assert -32603 == found["code"]
    assert "KeyError" in found["message"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"method": "notifications/initialized"}',
        b'{"id": null, "method": "ping"}',
        b'{"id": true, "method": "ping"}',
        b'{"id": 1, "result": {}}',
        b'{"id": 1, "error": {}}',
    ],
)
def test_what_nobody_waits_for_is_passed_over(line):
    assert mcp.read(line) is None


def test_half_a_character_becomes_the_one_that_stands_for_none():
    half = b'{"id": "\\ud83d", "method": "\\ud83d\\ude00\\\\ud83d"}'

    assert {"id": "\ufffd", "method": "\U0001f600\\ud83d"} == mcp.read(half)
