"""Requests cut into pieces: always the very bytes again, and who put them there."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitagent.core.exchange import Api
from gitagent.core.manifest import MOST, shares, split
from gitagent.core.producers import attribute

words = st.text(st.characters(exclude_categories=()), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3)
    ),
    max_leaves=6,
)
typed = st.sampled_from(
    ["text", "tool_use", "tool_result", "thinking", "message", "function_call", "x y"]
)
blocks = st.fixed_dictionaries(
    {"type": typed | values}, optional={"text": words, "id": words, "content": values}
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "system"]) | values,
        "content": words | st.lists(blocks | values, max_size=3) | values,
        "type": typed,
        "tool_calls": st.lists(blocks, max_size=2) | values,
        "tool_call_id": words,
        "reasoning_content": words,
    },
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "model": words,
        "system": words | st.lists(blocks, max_size=2) | values,
        "tools": st.lists(blocks, max_size=2) | values,
        "messages": st.lists(messages | values, max_size=3) | values,
        "input": words | st.lists(messages | values, max_size=3),
        "instructions": words | values,
        "extra": values,
    },
)
forms = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}])


def joined(spans, body):
    return b"".join(body[span.start : span.end] for span in spans)


def pieces(value, api=Api.MESSAGES, **options):
    body = json.dumps(value).encode()
    spans = attribute(split(body, api), body, **options)
    assert body == joined(spans, body)
    return [
        (span.path, span.kind, span.producer, body[span.start : span.end].decode())
        for span in spans
        if span.kind
    ]


@given(bodies, st.sampled_from(Api), forms, st.booleans(), st.lists(words, max_size=2))
def test_the_pieces_of_a_request_are_its_bytes(value, api, form, ascii_only, parts):
    text = json.dumps(value, ensure_ascii=ascii_only, **form)
    body = text.encode(errors="replace")
    spans = split(body, api)
    finer = attribute(spans, body, parts=[("we", part) for part in parts])

    assert body == joined(spans, body) == joined(finer, body)
    assert all(span.start < span.end for span in finer)


@given(st.binary(max_size=60), st.sampled_from(Api))
@example(b"", Api.CHAT)
@example(b'{"messages": [', Api.CHAT)
@example(b'\xef\xbb\xbf{"messages": []}', Api.CHAT)
@example(b'{"messages": [{"content": "\xff"}]}', Api.CHAT)
@example(b'{"messages": []} {}', Api.CHAT)
@example(b"{1: 2}", Api.CHAT)
def test_what_is_no_request_is_its_bytes_too(body, api):
    spans = split(body, api)

    assert body == joined(spans, body)
    assert all(span.start < span.end for span in spans)


def test_json_that_is_too_deep_is_one_piece():
    body = b'{"messages":' + b"[" * 100_000

    assert [(0, len(body))] == [(s.start, s.end) for s in split(body, Api.MESSAGES)]


def test_a_messages_request_is_cut_into_its_blocks():
    found = pieces(
        {
            "model": "m",
            "system": [{"type": "text", "text": "Be brief."}],
            "tools": [{"name": "Bash"}, {"name": "mcp__gitagent__ask"}],
            "messages": [
                {"role": "user", "content": "Hej på dig"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "toolu_1", "name": "Bash"},
                    ],
                },
                {
                    "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_1"},
                        {"type": "text", "text": "Go on."},
                    ],
                    "role": "user",
                },
            ],
        },
        program="claude",
        said={"toolu_1": "request 1", "I look.": "request 1"},
    )

    assert [
        ("/system/0", "system", "the program claude"),
        ("/tools", "tools", "the program claude: 1 tool; gitagent's MCP server: ask"),
        ("/messages/0/content", "text", "the program claude"),
        ("/messages/1/content/0", "thinking", "the model"),
        ("/messages/1/content/1", "text", "the model, request 1"),
        ("/messages/1/content/2", "tool_use", "the model, request 1"),
        ("/messages/2/content/0", "tool_result", "tool Bash, call toolu_1"),
        ("/messages/2/content/1", "text", "the program claude"),
    ] == [each[:3] for each in found]


def test_a_chat_request_is_cut_into_its_messages():
    found = pieces(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "function": {"name": "ls"}}],
                },
                {"role": "tool", "content": "a b", "tool_call_id": "c1"},
            ],
            "tools": [{"type": "function", "function": {"name": "gitagent_finish"}}],
        },
        Api.CHAT,
    )

    assert [
        ("/messages/0/content", "system", "the agent's program"),
        ("/messages/1/tool_calls/0", "tool_use", "the model"),
        ("/messages/2/content", "tool_result", "tool ls, call c1"),
        ("/tools", "tools", "gitagent's MCP server: finish"),
    ] == [each[:3] for each in found]


def test_a_responses_request_is_cut_into_its_items():
    found = pieces(
        {
            "instructions": "Be brief.",
            "input": [
                {
                    "type": "message",
                    "role": "developer",
                    "content": [{"type": "input_text", "text": "Rules"}],
                },
                {"role": "user", "content": "Do it."},
                {"type": "reasoning", "content": [{"type": "x"}], "id": "rs_1"},
                {"type": "function_call", "call_id": "c1", "name": "exec_command"},
                {"type": "function_call_output", "call_id": "c1", "output": "ok"},
            ],
        },
        Api.RESPONSES,
    )

    assert [
        ("/instructions", "system", "the agent's program"),
        ("/input/0/content/0", "system", "the agent's program"),
        ("/input/1/content", "text", "the agent's program"),
        ("/input/2", "thinking", "the model"),
        ("/input/3", "tool_use", "the model"),
        ("/input/4", "tool_result", "tool exec_command, call c1"),
    ] == [each[:3] for each in found]


@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_we_gave_is_told_from_what_the_program_put_around_it(ascii_only):
    task = 'Räkna "om" 😀\nsnabbt \\ igen'
    text = f"note: é\n{task}\n\n## Where\nhere/there\nbye"
    block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    value = {"messages": [{"role": "user", "content": [block]}]}
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    parts = [("the task", task), ("gitagent", "## Where\nhere/there"), ("no", "xyz")]
    spans = attribute(split(body, Api.MESSAGES), body, parts=parts)
    quoted = json.dumps(task, ensure_ascii=ascii_only)[1:-1]

    assert body == joined(spans, body)
    assert [
        ("the agent's program", "text"),
        ("the task", f"{quoted}\\n\\n"),
        ("gitagent", "## Where\\nhere/there"),
        ("the agent's program", "text"),
    ] == [
        (span.producer, "text")
        if span.producer == "the agent's program"
        else (span.producer, body[span.start : span.end].decode())
        for span in spans
        if span.kind
    ]


def test_names_that_a_model_made_up_stay_short():
    call = {"type": "tool_use", "id": "c" * 999, "name": "n" * 999}
    result = {"type": "tool_result", "tool_use_id": "c" * 999}
    said = [{"role": "assistant", "content": [call]}]
    found = pieces({"messages": [*said, {"role": "user", "content": [result]}]})

    assert f"tool {'n' * 80}, call {'c' * 80}" == found[-1][2]


@given(st.lists(st.integers(0, 1000), max_size=8), st.integers(0, 10**6))
def test_the_shares_of_the_tokens_add_up(sizes, total):
    found = shares(sizes, total)

    assert len(sizes) == len(found)
    assert sum(found) == (total if sum(sizes) else 0)


def test_a_request_of_countless_pieces_is_one():
    body = json.dumps({"messages": [{"content": ["x"] * (MOST + 1)}]}).encode()

    assert [body] == [body[each.start : each.end] for each in split(body, Api.CHAT)]


def test_texts_of_ours_are_found_in_whatever_order_they_come_and_the_longest_first():
    words = "Do it.\n\nDo it. And well.\n\nYou were interrupted."
    raw = {"role": "user", "content": [{"type": "text", "text": words}]}
    body = json.dumps({"messages": [raw]}).encode()
    parts = [
        ("resumed", "You were interrupted."),
        ("short", "Do it."),
        ("long", "Do it. And well."),
    ]
    spans = attribute(split(body, Api.MESSAGES), body, program="x", parts=parts)
    cut = [
        (each.producer, body[each.start : each.end].decode().replace("\\n", ""))
        for each in spans
        if each.producer in {"resumed", "short", "long"}
    ]

    assert [
        ("short", "Do it."),
        ("long", "Do it. And well."),
        ("resumed", "You were interrupted."),
    ] == cut
    assert body == b"".join(body[each.start : each.end] for each in spans)
