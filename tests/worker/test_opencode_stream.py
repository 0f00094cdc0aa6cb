"""What opencode says, in lines that opencode 1.18.33 wrote, and in lines of nobody."""

import json

import pytest

from gitagent.worker.backends.opencode_stream import OpencodeStream
from gitagent.worker.backends.stream import Entry

SESSION = "ses_dd1e4f3c5ffenactPykvhjcDas"
_HEAD = f'"timestamp":1796069857613,"sessionID":"{SESSION}"'
_IDS = f'"messageID":"msg_22e1b11ac001SgjF6XL2IYWcJQ","sessionID":"{SESSION}"'

START = (
    f'{{"type":"step_start",{_HEAD},"part":{{"id":"prt_22e1b18f10012cjPIzgQnPpRAP",'
    f'{_IDS},"type":"step-start"}}}}'
)
TOOL = (
    f'{{"type":"tool_use",{_HEAD},"part":{{"type":"tool","tool":"bash",'
    '"callID":"toolu_0","state":{"status":"completed","input":{"command":'
    '"echo hi > made.txt; ls","description":"make"},"output":"a\\nmade.txt\\n",'
    '"metadata":{"output":"a\\nmade.txt\\n","exit":0,"truncated":false},"title":'
    '"echo hi > made.txt; ls","time":{"start":1796069857575,"end":1796069857945}},'
    f'"id":"prt_22e1b18fd0018etPcdu8xhtVT5",{_IDS}}}}}'
)
TEXT = (
    f'{{"type":"text",{_HEAD},"part":{{"id":"prt_22e1b1b920017xPoIK3HL3lzss",{_IDS},'
    '"type":"text","text":"All done.","time":{"start":1796069858195,'
    '"end":1796069858201}}}'
)
ERROR = (
    f'{{"type":"error",{_HEAD},"error":{{"name":"APIError","data":{{"message":'
    '"no such thing","statusCode":400,"isRetryable":false,"responseBody":"{}"}}}'
)


def finish(reason: str) -> str:
    return (
        f'{{"type":"step_finish",{_HEAD},"part":{{"id":"prt_22e1b1ab4001AJL7zRJXhyaj",'
        f'"reason":"{reason}",{_IDS},"type":"step-finish","tokens":{{"total":17,'
        '"input":10,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}}'
    )


def fed(*lines: str | bytes) -> tuple[OpencodeStream, list[Entry]]:
    stream = OpencodeStream()
    found: list[Entry] = []
    for line in lines:
        found += stream.feed(line if isinstance(line, bytes) else line.encode())
    return stream, found


def test_a_run_becomes_calls_results_and_words():
    stream, found = fed(START, TOOL, finish("tool-calls"), START, TEXT, finish("stop"))
    asked = '{"command": "echo hi > made.txt; ls", "description": "make"}'
    final = stream.final()

    assert [
        Entry("call", asked, "bash", "toolu_0"),
        Entry("result", "a\nmade.txt\n", "bash", "toolu_0"),
        Entry("say", "All done."),
    ] == found
    assert ("All done.", SESSION, "", 2) == (
        final.answer,
        final.session,
        final.error,
        final.turns,
    )


def test_a_run_that_was_killed_has_a_session_and_no_answer():
    stream, _ = fed(START, TEXT, finish("tool-calls"))
    final = stream.final()

    assert SESSION == final.session
    assert "" == final.answer
    assert "opencode ended before the model had said its last words." == final.error


def test_words_before_the_last_step_are_no_answer():
    empty = TEXT.replace("All done.", "")
    stream, found = fed(START, TEXT, finish("tool-calls"), START, empty, finish("stop"))

    assert ("", "") == (stream.final().answer, stream.final().error)
    assert [Entry("say", "All done.")] == found


def test_an_error_is_the_reason_and_hides_the_words():
    stream, found = fed(START, TEXT, ERROR)

    assert "opencode: no such thing" == stream.final().error
    assert "" == stream.final().answer
    assert Entry("error", "opencode: no such thing") == found[-1]


def test_a_step_that_ends_well_after_an_error_counts():
    stream, _ = fed(START, ERROR, START, TEXT, finish("stop"))

    assert ("All done.", "") == (stream.final().answer, stream.final().error)


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("length", "The model's answer was cut off at its limit of tokens."),
        ("content-filter", "The model's provider held its answer back."),
        ("error", "The model's answer ended in an error."),
        ("unknown", ""),
    ],
)
def test_how_the_last_step_ended_counts(reason, error):
    stream, _ = fed(START, TEXT, finish(reason))

    assert error == stream.final().error
    assert bool(error) is (stream.final().answer == "")


def test_a_tool_that_failed_says_why():
    failed = TOOL.replace('"completed"', '"error","error":"File not found"')
    _, found = fed(failed)

    assert Entry("result", "error: File not found", "bash", "toolu_0") == found[-1]


def test_thoughts_are_thoughts():
    _, found = fed(TEXT.replace('"type":"text"', '"type":"reasoning"'))

    assert [Entry("think", "All done.")] == found


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\x1b[91m\x1b[1mError: \x1b[0mSession not found",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"null",
        b'{"type": ["text"]}',
        b'{"type": "text"}',
        b'{"type": "text", "part": []}',
        b'{"type": "text", "part": {"text": {"a": 1}}}',
        b'{"type": "tool_use", "part": {"state": 3, "tool": null}}',
        b'{"type": "error", "error": "yes"}',
        b'{"type": "error", "error": {"data": {"message": ["\\u001b[2J"]}}}',
        b'{"type": "step_finish", "part": {"reason": {}}, "sessionID": 7}',
        b'{"type": "step_start", "sessionID": "--help"}',
        b'{"type": "step_start", "sessionID": "ses_a\\nb"}',
        b'{"type": "news", "sessionID": "../../etc"}',
        b'{"type": "text", "part": {"text": "\\ud800"}}',
        b"[" * 100_000,
        b'{"type": "tool_use", "part": {"state": {"input": '
        + b"[" * 900
        + b"]" * 900
        + b"}}}",
        b'{"a": ' + b"9" * 10_000 + b"}",
    ],
)
def test_garbage_harms_nothing_and_names_no_session(line):
    stream, found = fed(line)
    final = stream.final()

    assert "" == final.session
    assert all(json.loads(each.line()) for each in found)
    (final.error + final.answer).encode()
    assert "\x1b" not in final.error
