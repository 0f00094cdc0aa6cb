"""What Claude Code says, in lines that its 2.1.197 wrote, and in lines of nobody.

Of the recorded lines the lists of tools and the like are shortened, nothing else.
"""

import json

import pytest

from gitagent.worker.backends.claude_stream import ClaudeStream
from gitagent.worker.backends.stream import Entry

SESSION = "32ea4c2d-f98a-471f-8747-8bb7464ac910"
_ENDS = f'"session_id":"{SESSION}","uuid":"189a518f-9abd-4566-bf7f-6850ba8e2ee2"'
_USAGE = '"usage":{"input_tokens":6396,"output_tokens":1,"cache_read_input_tokens":0}'

INIT = (
    f'{{"type":"system","subtype":"init","cwd":"/workspace","session_id":"{SESSION}",'
    '"tools":["Bash","Edit","Write","mcp__gitagent__ask"],"mcp_servers":[{"name":'
    '"gitagent","status":"connected"}],"model":"claude-sonnet-4-5","permissionMode":'
    '"bypassPermissions","apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":'
    '"2.1.197","output_style":"default","fast_mode_state":"off"}'
)
CALL = (
    '{"type":"assistant","message":{"id":"msg_00000001","type":"message","role":'
    '"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":'
    '"toolu_1_1","name":"Bash","input":{"command":"echo out"}}],"stop_reason":null,'
    f'"stop_sequence":null,{_USAGE},"context_management":null}},"parent_tool_use_id":'
    f'null,{_ENDS},"request_id":"req_00000001"}}'
)
RESULT = (
    '{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1_1",'
    '"type":"tool_result","content":"out","is_error":false}]},"parent_tool_use_id":'
    f'null,{_ENDS},"timestamp":"2026-11-30T20:23:13.830Z","tool_use_result":{{"stdout":'
    '"out","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}'
)
DENIED = (
    '{"type":"user","message":{"role":"user","content":[{"type":"tool_result",'
    '"content":"not here","is_error":true,"tool_use_id":"toolu_1_1"}]},'
    f'"parent_tool_use_id":null,{_ENDS},"tool_use_result":"Error: not here"}}'
)
ASKED = (
    '{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_4_0",'
    '"type":"tool_result","content":[{"type":"text","text":"it was noted"}]}]},'
    f'"parent_tool_use_id":null,{_ENDS}}}'
)
FEEDBACK = (
    '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Stop '
    'hook feedback:\\ncheck failed: 2 of 3 tests\\n"}]},"parent_tool_use_id":null,'
    f'{_ENDS},"isSynthetic":true}}'
)
RETRY = (
    '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,'
    f'"retry_delay_ms":1000,"error_status":429,"error":"rate_limit",{_ENDS}}}'
)
NOTIFICATION = (
    '{"type":"system","subtype":"notification","key":"stop-hook-error","text":"Stop '
    f'hook error occurred","priority":"immediate",{_ENDS}}}'
)
API_ERROR = (
    '{"type":"assistant","message":{"id":"5a16","model":"<synthetic>","role":'
    '"assistant","stop_reason":"stop_sequence","type":"message","content":[{"type":'
    '"text","text":"API Error: Request rejected (429)"}]},"parent_tool_use_id":null,'
    f'{_ENDS},"error":"rate_limit"}}'
)
GOOD = (
    '{"type":"result","subtype":"success","is_error":false,"api_error_status":null,'
    '"duration_ms":665,"num_turns":6,"result":"Really done.","stop_reason":"end_turn",'
    f'"total_cost_usd":0.198415,{_USAGE},"permission_denials":[],"terminal_reason":'
    f'"completed",{_ENDS}}}'
)
EMPTY = GOOD.replace("Really done.", "")
REJECTED = (
    '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,'
    '"duration_ms":2592,"num_turns":1,"result":"API Error: Request rejected (429) · '
    f'rate_limited","stop_reason":"stop_sequence",{_ENDS}}}'
)
TURNS = (
    '{"type":"result","subtype":"error_max_turns","duration_ms":523,"is_error":true,'
    f'"num_turns":2,"stop_reason":"tool_use","terminal_reason":"max_turns",{_ENDS}}}'
)
LOST = (
    '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,'
    f'"stop_reason":null,{_ENDS},"errors":["No conversation found: x"]}}'
)


def says(text: str, *, kind: str = "text", parent: str = "null") -> str:
    key = "text" if kind == "text" else "thinking"
    return (
        '{"type":"assistant","message":{"id":"msg_1","type":"message","role":'
        f'"assistant","content":[{{"type":"{kind}","{key}":{json.dumps(text)}}}]}},'
        f'"parent_tool_use_id":{parent},{_ENDS}}}'
    )


def read(*lines: str | bytes) -> tuple[ClaudeStream, list[Entry]]:
    stream = ClaudeStream()
    told = []
    for line in lines:
        told += stream.feed(line if isinstance(line, bytes) else line.encode())
    return stream, told


def test_a_run_is_told_in_order_and_has_an_answer():
    stream, told = read(
        INIT, says("hm", kind="thinking"), says("look"), CALL, RESULT, ASKED, GOOD
    )
    final = stream.final()

    assert [
        Entry("note", "Claude Code 2.1.197 with claude-sonnet-4-5"),
        Entry("think", "hm"),
        Entry("say", "look"),
        Entry("call", '{"command": "echo out"}', "Bash", "toolu_1_1"),
        Entry("result", "out", "Bash", "toolu_1_1"),
        Entry("result", "it was noted", "", "toolu_4_0"),
    ] == told
    assert ("Really done.", "", 6) == (final.answer, final.error, final.turns)
    assert (SESSION, "2.1.197") == (final.session, final.program)


def test_a_denied_tool_is_told_as_an_error_of_it():
    _, told = read(CALL, DENIED)

    assert Entry("result", "error: not here", "Bash", "toolu_1_1") == told[-1]


def test_what_hooks_and_the_program_say_are_notes():
    _, told = read(FEEDBACK, RETRY, NOTIFICATION)

    assert ["note", "note"] == [each.kind for each in told]
    assert "2 of 3 tests" in told[0].text
    assert "rate_limit" in told[1].text


def test_a_helper_of_the_agent_does_not_speak_for_it():
    _, told = read(says("found it", parent='"toolu_9"'))

    assert [Entry("note", "found it")] == told


def test_a_server_that_is_not_there_is_told():
    _, told = read(INIT.replace('"connected"', '"failed"'))

    assert "error" == told[-1].kind
    assert "gitagent is failed" in told[-1].text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (REJECTED, "Request rejected (429)"),
        (TURNS, "limit of turns"),
        (LOST, "No conversation found"),
        (EMPTY, "without an answer"),
        (GOOD.replace("end_turn", "max_tokens"), "cut off"),
        (GOOD.replace("end_turn", "refusal"), "refused"),
        (GOOD.replace('"subtype":"success",', ""), "Really done."),
        (GOOD.replace('"is_error":false,', ""), "Really done."),
        (GOOD.replace("success", "error_of_tomorrow"), "Really done."),
    ],
)
def test_what_is_no_good_end_is_an_error_and_no_answer(line, words):
    stream, told = read(INIT, says("look"), line)
    final = stream.final()

    assert words in final.error
    assert "" == final.answer
    assert Entry("error", final.error) == told[-1]


def test_an_error_of_the_api_is_no_word_of_the_model():
    _, told = read(API_ERROR)

    assert [Entry("error", "API Error: Request rejected (429)")] == told


def test_a_run_that_ends_in_the_middle_has_no_answer_but_its_session():
    stream, _ = read(INIT, says("Let me think about that."))
    final = stream.final()

    assert "ended before" in final.error
    assert ("", SESSION) == (final.answer, final.session)
    assert "ended before" in ClaudeStream().final().error


def test_the_last_result_counts():
    stream, _ = read(TURNS, GOOD)

    assert ("Really done.", "") == (stream.final().answer, stream.final().error)


@pytest.mark.parametrize(
    "session",
    ["--resume", "../../etc", "32EA4C2D-f98a-471f-8747-8bb7464ac910", 7, None],
)
def test_a_session_that_is_no_name_of_one_is_left_out(session):
    stream, _ = read(json.dumps({"type": "system", "session_id": session}))

    assert "" == stream.final().session


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\xff\xfe not text",
        b"Warning: no stdin data received",
        b"[" * 100_000,
        b'{"type": "stream_event"}',
        b'{"type": ["system"]}',
        b'{"type": "system"}',
        b'{"type": "system", "subtype": {"init": 1}}',
        b'{"type": "system", "subtype": "init", "mcp_servers": [1, {"status": {}}]}',
        b'{"type": "system", "subtype": "init", "mcp_servers": {"a": 1}, "model": 3}',
        b'{"type": "assistant"}',
        b'{"type": "assistant", "message": "x"}',
        b'{"type": "assistant", "message": {"content": "x"}}',
        b'{"type": "assistant", "message": {"content": [1, null, {"type": []}]}}',
        b'{"type": "assistant", "message": {"content": [{"type": "tool_use"}]}}',
        b'{"type": "assistant", "message": {"content": [{"type": "text", "text": 1}]}}',
        b'{"type": "user", "message": {"content": [{"type": "tool_result"}]}}',
        b'{"type": "user", "message": {"content": [{"type": "tool_result", "a": 1}]}}',
        b'{"type": "user", "message": {"content": [{"tool_use_id": {}, "type": []}]}}',
        b'{"type": "user", "message": {"content": "words"}}',
        b'{"type": "result"}',
        b'{"type": "result", "subtype": [], "result": {}, "num_turns": "many"}',
        b'{"type": "result", "subtype": "x", "errors": [{}], "stop_reason": []}',
        b'{"type": "result", "subtype": "x", "errors": {"a": 1}}',
    ],
)
def test_no_line_breaks_it(line):
    stream, told = read(line)
    for entry in told:
        entry.line()

    assert stream.final().error
    assert "" == stream.final().answer


def test_many_calls_without_results_are_not_remembered_for_ever():
    stream, _ = read(*(CALL.replace("toolu_1_1", f"t{n}") for n in range(1000)))

    assert len(stream._tools) <= 256
