"""What codex says, in lines that codex 0.171.0 wrote, and in lines of nobody."""

import json

import pytest

from gitagent.worker.backends.codex_stream import CodexStream
from gitagent.worker.backends.stream import Entry

SESSION = "01a22e25-78c5-7e90-8014-e6cef372d856"

THREAD = f'{{"type":"thread.started","thread_id":"{SESSION}"}}'
WARNING = (
    '{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model '
    "metadata for `m1` not found. Defaulting to fallback metadata; this can degrade "
    'performance and cause issues."}}'
)
TURN = '{"type":"turn.started"}'
SHELL = (
    '{"type":"item.started","item":{"id":"item_1","type":"command_execution",'
    '"command":"/bin/bash -lc \'false; exit 3\'","aggregated_output":"",'
    '"exit_code":null,"status":"in_progress"}}'
)
SHELL_DONE = (
    '{"type":"item.completed","item":{"id":"item_1","type":"command_execution",'
    '"command":"/bin/bash -lc \'false; exit 3\'","aggregated_output":"no\\n",'
    '"exit_code":3,"status":"failed"}}'
)
PATCH = (
    '{"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":['
    '{"path":"/w/calc.py","kind":"update"},{"path":"/w/n.txt","kind":"add"}],'
    '"status":"completed"}}'
)
ASKED = (
    '{"type":"item.completed","item":{"id":"item_3","type":"mcp_tool_call","server":'
    '"gitagent","tool":"ask","arguments":{"questions":[{"text":"which?"}]},"result":'
    '{"content":[{"type":"text","text":"Asked. End now."}],"structured_content":null},'
    '"error":null,"status":"completed"}}'
)
WORDS = (
    '{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":'
    '"Fixed it."}}'
)
DONE = (
    '{"type":"turn.completed","usage":{"input_tokens":20,"cached_input_tokens":0,'
    '"cache_write_input_tokens":0,"output_tokens":10,"reasoning_output_tokens":0}}'
)
AGAIN = (
    '{"type":"error","message":"Reconnecting... 1/2 (stream disconnected before '
    'completion: stream closed before response.completed)"}'
)
QUOTA = '{"type":"error","message":"Quota exceeded. Check your plan and billing."}'
FAILED = (
    '{"type":"turn.failed","error":{"message":"Quota exceeded. Check your plan and '
    'billing."}}'
)


def fed(*lines: str | bytes) -> tuple[CodexStream, list[Entry]]:
    stream = CodexStream()
    found: list[Entry] = []
    for line in lines:
        found += stream.feed(line if isinstance(line, bytes) else line.encode())
    return stream, found


def test_a_run_becomes_calls_results_and_words():
    stream, found = fed(THREAD, TURN, SHELL, SHELL_DONE, PATCH, ASKED, WORDS, DONE)
    final = stream.final()

    assert [
        Entry("call", "/bin/bash -lc 'false; exit 3'", "shell", "item_1"),
        Entry("result", "exit code 3\nno\n", "shell", "item_1"),
        Entry("call", "update /w/calc.py\nadd /w/n.txt", "apply_patch", "item_2"),
        Entry("result", "completed", "apply_patch", "item_2"),
        Entry("call", '{"questions": [{"text": "which?"}]}', "gitagent.ask", "item_3"),
        Entry("result", "Asked. End now.", "gitagent.ask", "item_3"),
        Entry("say", "Fixed it."),
    ] == found
    assert ("Fixed it.", SESSION, "", 1) == (
        final.answer,
        final.session,
        final.error,
        final.turns,
    )


def test_a_run_that_was_killed_has_a_session_and_no_answer():
    final = fed(THREAD, TURN, WORDS, SHELL)[0].final()

    assert SESSION == final.session
    assert "" == final.answer
    assert "codex ended before its turn was over." == final.error


def test_words_before_the_last_call_are_no_answer():
    final = fed(THREAD, TURN, WORDS, SHELL, SHELL_DONE, DONE)[0].final()

    assert ("", "") == (final.answer, final.error)


def test_warnings_and_errors_that_it_goes_on_from_fail_nothing():
    stream, found = fed(THREAD, WARNING, TURN, AGAIN, WORDS, DONE)

    assert ["note", "note", "say"] == [each.kind for each in found]
    assert "" == stream.final().error


def test_a_failed_turn_is_told_with_its_reason_and_has_no_answer():
    stream, found = fed(THREAD, TURN, WORDS, QUOTA, FAILED)
    said = "codex: Quota exceeded. Check your plan and billing."

    assert Entry("error", said) == found[-1]
    assert (said, "") == (stream.final().error, stream.final().answer)


def test_the_newest_error_says_why_it_ended_in_the_middle():
    assert "codex: Quota exceeded" in fed(THREAD, TURN, QUOTA)[0].final().error


def item(**fields: object) -> str:
    return json.dumps({"type": "item.completed", "item": {"id": "i", **fields}})


def test_thoughts_plans_and_what_is_new_are_told():
    todo = [{"text": "look", "completed": True}, {"text": "mend", "completed": False}]
    _, found = fed(
        item(type="reasoning", text="Hm."),
        item(type="todo_list", items=todo),
        item(type="web_search", query="calc"),
        item(type="brand_new", some=1),
        item(type="mcp_tool_call", server="s", tool="t", error={"message": "gone"}),
    )

    assert [
        Entry("think", "Hm."),
        Entry("note", "[x] look\n[ ] mend"),
        Entry("call", "calc", "web_search", "i"),
        Entry("result", "", "web_search", "i"),
        Entry("note", '{"id": "i", "type": "brand_new", "some": 1}'),
        Entry("call", "null", "s.t", "i"),
        Entry("result", "error: gone", "s.t", "i"),
    ] == found


@pytest.mark.parametrize("session", ["--last", "../x", "", None, 7, "a" * 36])
def test_a_session_that_is_no_name_of_one_is_not_taken(session):
    line = json.dumps({"type": "thread.started", "thread_id": session})

    assert "" == fed(line)[0].final().session


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[1]",
        b"[" * 100_000,
        b'{"type": 7}',
        b'{"type": "item.completed"}',
        b'{"type": "item.completed", "item": [1]}',
        b'{"type": "item.started", "item": {"type": {}}}',
        b'{"type": "item.completed", "item": {"type": "file_change", "changes": [1]}}',
        b'{"type": "item.completed", "item": {"type": "mcp_tool_call", "result": 1}}',
        b'{"type": "item.completed", "item": {"type": "todo_list", "items": {}}}',
        b'{"type": "turn.failed", "error": "x"}',
        b'{"type": "error", "message": {}}',
        b'{"type": "thread.started"}',
    ],
)
def test_garbage_is_survived_and_is_no_answer(line):
    stream, found = fed(line)

    assert all(each.kind in {"note", "error", "call", "result"} for each in found)
    assert "" == stream.final().answer
    assert stream.final().error
