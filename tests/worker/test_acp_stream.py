"""What our client says of an agent, told of opencode 1.18.33, and lines of nobody."""

import json
from typing import Any

import pytest

from gitagent.worker.backends.acp_stream import AcpStream
from gitagent.worker.backends.stream import TEXT, Entry

AGENT = {"type": "agent", "name": "OpenCode", "version": "1.18.33"}
SESSION = {"type": "session", "id": "ses_dd1dca300ffed2svjL40UpjxQl", "resumed": False}
BASH = {"toolCallId": "toolu_1", "title": "bash", "kind": "execute"}
ASKED = {"command": "echo hi > made.txt; ls", "description": "make", "cwd": "/w"}
CALL = [
    {
        "sessionUpdate": "tool_call",
        **BASH,
        "status": "pending",
        "locations": [{"path": "/w"}],
        "rawInput": {"cwd": "/w"},
    },
    *2
    * [
        {
            "sessionUpdate": "tool_call_update",
            **BASH,
            "title": "echo hi > made.txt; ls",
            "status": "in_progress",
            "rawInput": ASKED,
        }
    ],
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "toolu_1",
        "status": "completed",
        "title": "echo hi > made.txt; ls",
        "content": [{"type": "content", "content": {"type": "text", "text": "a\n"}}],
        "rawOutput": {"output": "a\n", "metadata": {"exit": 0}},
    },
]


def stop(reason: str) -> dict[str, Any]:
    return {"type": "stop", "reason": reason}


def chunk(text: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"sessionUpdate": kind, "messageId": "msg_22e2366ab", "content": content}


def fed(*lines: dict[str, Any] | bytes) -> tuple[AcpStream, list[Entry]]:
    """Feed lines; what has no type is an update."""
    stream = AcpStream()
    found: list[Entry] = []
    for each in lines:
        if isinstance(each, bytes):
            found += stream.feed(each)
            continue
        values = each if "type" in each else {"type": "update", "update": each}
        found += stream.feed(json.dumps(values).encode())
    return stream, found


def test_a_turn_becomes_a_call_a_result_and_words():
    stream, found = fed(
        AGENT, SESSION, *CALL, chunk("All "), chunk("done."), stop("end_turn")
    )
    final = stream.final()

    assert [
        Entry("call", json.dumps(ASKED), "bash", "toolu_1"),
        Entry("result", "a\n", "bash", "toolu_1"),
        Entry("say", "All done."),
    ] == found
    assert ("All done.", SESSION["id"], "", "OpenCode 1.18.33") == (
        final.answer,
        final.session,
        final.error,
        final.program,
    )


def test_words_before_the_last_call_are_no_answer():
    stream, found = fed(chunk("I begin."), *CALL, stop("end_turn"))

    assert ("", "") == (stream.final().answer, stream.final().error)
    assert Entry("say", "I begin.") == found[0]


def test_thoughts_and_words_are_told_apart():
    thought = chunk("Hm.", "agent_thought_chunk")
    stream, found = fed(chunk("One."), thought, chunk("Two."), stop("end_turn"))

    assert [
        Entry("say", "One."),
        Entry("think", "Hm."),
        Entry("say", "Two."),
    ] == found
    assert "Two." == stream.final().answer


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("end_turn", ""),
        ("max_tokens", "The model's answer was cut off at its limit of tokens."),
        ("max_turn_requests", "The agent made as many requests as it may in one turn."),
        ("refusal", "The model refused to go on."),
        ("cancelled", "The agent was told to stop."),
        ("tired\n", "The agent stopped: tired"),
    ],
)
def test_why_it_stopped_is_the_reason(reason, error):
    stream, _ = fed(chunk("Well."), stop(reason))

    assert error == stream.final().error
    assert bool(error) is (stream.final().answer == "")


def test_a_turn_that_was_killed_has_a_session_and_no_answer():
    stream, _ = fed(SESSION, chunk("I am "))
    final = stream.final()

    assert (SESSION["id"], "") == (final.session, final.answer)
    assert "The agent ended in the middle of its turn." == final.error


def test_a_tool_that_failed_or_changed_a_file_says_so():
    diff = {"type": "diff", "path": "/w/a", "oldText": "1", "newText": "2"}
    known = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "edit"}
    _, changed = fed({**known, "status": "completed", "content": [diff]})
    _, failed = fed({**known, "status": "failed", "rawOutput": {"error": "no"}})

    assert Entry("result", "changed /w/a", "edit", "t") == changed[-1]
    assert Entry("result", 'error: {"error": "no"}', "edit", "t") == failed[-1]


def test_no_agent_fills_the_memory():
    stream, found = fed(*(chunk("x" * 1000) for _ in range(3 * TEXT // 1000)))
    calls = ({"sessionUpdate": "tool_call", "toolCallId": str(n)} for n in range(1000))
    for each in calls:
        stream.feed(json.dumps({"type": "update", "update": each}).encode())

    assert 2 == len(found)
    assert len(stream._calls) <= 256
    assert len(stream._last) <= TEXT + 100


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"Traceback (most recent call last):",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b'{"type": ["update"]}',
        b'{"type": "update"}',
        b'{"type": "update", "update": []}',
        b'{"type": "update", "update": {"sessionUpdate": ["plan"]}}',
        b'{"type": "update", "update": {"sessionUpdate": "plan", "entries": 3}}',
        b'{"type": "update", "update": {"sessionUpdate": "agent_message_chunk"}}',
        b'{"type": "update", "update": {"sessionUpdate": "tool_call"}}',
        b'{"type": "update", "update": {"sessionUpdate": "tool_call", "status": {}}}',
        b'{"type": "update", "update": {"sessionUpdate": "tool_call", "title": [3]}}',
        b'{"type": "update", "update": {"sessionUpdate": "tool_call", "content": [3]}}',
        b'{"type": "agent", "name": 3, "version": ["\\u001b[2J"]}',
        b'{"type": "agent", "name": "\\u001b[2J\\n"}',
        b'{"type": "session", "id": "a\\nb"}',
        b'{"type": "session", "id": ["a"]}',
        b'{"type": "session", "id": "' + b"a" * 500 + b'"}',
        b'{"type": "error", "text": {"a": 1}}',
        b'{"type": "error", "text": "\\u001b[2J\\ud800"}',
        b'{"type": "stop", "reason": ["end_turn"]}',
        b'{"type": "update", "update": {"sessionUpdate": "tool_call", "toolCallId": "t"'
        b', "status": "completed", "rawInput": ' + b"[" * 900 + b"]" * 900 + b"}}",
        b"[" * 100_000,
    ],
)
def test_garbage_harms_nothing_and_names_no_session(line):
    stream, found = fed(line)
    final = stream.final()

    assert "" == final.session
    assert "" == final.answer
    assert final.error
    assert all(json.loads(each.line()) for each in found)
    (final.error + final.program).encode()
    assert "\x1b" not in final.error + final.program
