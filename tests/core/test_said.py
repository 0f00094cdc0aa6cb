"""What a model said is found in the answers of each API, streamed or whole."""

import json

import pytest

from gitagent.core.said import said


def stream(*events):
    return b"".join(
        b"event: x\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events
    )


MESSAGES = stream(
    {"type": "message_start", "message": {"id": "msg_1", "content": []}},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "I "},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "look."},
    },
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "Bash"},
    },
)
CHAT = stream(
    {"choices": [{"index": 0, "delta": {"content": "I "}}]},
    {"choices": [{"index": 0, "delta": {"content": "look."}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1"}]}}]},
)
ITEMS = [
    {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "call_id": "c1", "name": "exec_command"},
]
RESPONSES = stream(*({"type": "response.output_item.done", "item": i} for i in ITEMS))
COMPLETED = stream({"type": "response.completed", "response": {"output": ITEMS}})
WHOLE = [
    {
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1"},
        ]
    },
    {
        "choices": [
            {"message": {"content": "I look.", "tool_calls": [{"id": "c1"}]}},
        ]
    },
    {"output": ITEMS},
]


@pytest.mark.parametrize(
    "answer",
    [MESSAGES, CHAT, RESPONSES, COMPLETED, *(json.dumps(x).encode() for x in WHOLE)],
)
def test_texts_and_calls_of_an_answer_are_known(answer):
    assert {"I look.", "c1"} == said(answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff\x00",
        b"data: {",
        b"data: [1]\ndata: [DONE]\n",
        b'data: {"choices": [{"delta": 3}, 4], "content": {"a": 1}}\n',
        b'{"output": [{"content": "x"}], "response": {"output": 7}, "delta": []}',
        b"[" * 100_000,
    ],
)
def test_garbage_says_nothing(answer):
    assert frozenset() == said(answer)
