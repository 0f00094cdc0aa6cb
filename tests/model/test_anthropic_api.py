"""What the Messages API has of its own: blocks, thoughts, and its cache."""

import json
from contextlib import contextmanager

import pytest

from gitagent.core.conversation import Call
from gitagent.model.provider import Answered, Ask, Message, Stop, Tool, Wrong
from gitagent.model.runaway import PIECES
from tests.model.asking import SAID, line, own
from tests.model.raw import HEAD, chunk, raw, say


def body_of(ask: Ask, model: str) -> dict:
    """Return a request's body; its module takes a second to import: not to collect."""
    from gitagent.model.anthropic_api import request  # noqa: PLC0415

    return request(ask, model)


CACHED = {"type": "ephemeral"}
TOOLS = (Tool("a", "A", {"type": "object"}), Tool("b", "B", {"type": "object"}))


def event(**data):
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def block(index, kind, *deltas, end=True, **more):
    yield event(
        type="content_block_start", index=index, content_block={"type": kind, **more}
    )
    for delta in deltas:
        yield event(type="content_block_delta", index=index, delta=delta)
    if end:
        yield event(type="content_block_stop", index=index)


def answer(*blocks, reason="end_turn", usage=None):
    start = {"id": "msg_1", "role": "assistant", "usage": {"input_tokens": 7}}
    body = [
        event(type="message_start", message=start),
        *(each for made in blocks for each in made),
        event(
            type="message_delta",
            delta={"stop_reason": reason},
            usage=usage or {"output_tokens": 5},
        ),
        event(type="message_stop"),
    ]
    return say(HEAD, chunk(b"".join(body)), chunk(b""))


@contextmanager
def answering(path, *acts):
    with raw(*acts) as server, line(path, server.url, "anthropic") as asking:
        yield asking, server


def text(index, *pieces):
    deltas = ({"type": "text_delta", "text": each} for each in pieces)
    return block(index, "text", *deltas, text="")


def call(index, given="{}", *, end=True, ident="toolu_9"):
    delta = {"type": "input_json_delta", "partial_json": given}
    return block(index, "tool_use", delta, end=end, id=ident, name="a", input={})


def test_thoughts_and_blocks_of_a_new_kind_go_back_as_they_came(tmp_path):
    thinking = [
        {"type": "thinking_delta", "thinking": "Hm, "},
        {"type": "thinking_delta", "thinking": "yes."},
        {"type": "signature_delta", "signature": "c2ln"},
    ]
    new = {"type": "new_delta", "words": "seen", "marks": [2]}
    source = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    said = [{"type": "text_delta", "text": "Well."}, source]
    first = answer(
        block(0, "thinking", *thinking, thinking="", signature=""),
        block(1, "redacted_thinking", data="b3Bh"),
        block(2, "new_kind", new, words="un", why={"deep": [1, None]}),
        block(3, "text", *said, text=""),
        reason="end_turn",
    )
    with answering(tmp_path, first, answer(text(0, "Hi"))) as (asking, server):
        turn = asking.turn()
        asking.turn(*SAID, own(turn, "anthropic"), Message("user", "Go on"))

    sent = json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])
    assert [
        {"type": "thinking", "thinking": "Hm, yes.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3Bh"},
        {
            "type": "new_kind",
            "words": "unseen",
            "why": {"deep": [1, None]},
            "marks": [2],
        },
        {"type": "text", "text": "Well.", "citations": [{"cited_text": "x"}]},
    ] == sent["messages"][1]["content"]
    assert "Well." == turn.text


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", Stop.END),
        ("tool_use", Stop.END),  # and there is no call
        ("max_tokens", Stop.LENGTH),
        ("model_context_window_exceeded", Stop.LENGTH),
        ("refusal", Stop.REFUSAL),
        ("something_new", Stop.END),
        (None, Stop.END),
    ],
)
def test_the_reason_of_an_end_is_told(tmp_path, reason, expected):
    with answering(tmp_path, answer(text(0, "Hi"), reason=reason)) as (asking, _):
        turn = asking.turn()

    assert (expected, "Hi") == (turn.stop, turn.text)


def test_a_call_that_is_cut_at_the_limit_is_none(tmp_path):
    cut = answer(
        call(0, '{"x": 1}'), call(1, '{"y"', ident="toolu_8"), reason="max_tokens"
    )
    with answering(tmp_path, cut) as (asking, _):
        turn = asking.turn()

    assert Stop.LENGTH == turn.stop
    assert (Call("toolu_9", "a", '{"x": 1}'),) == turn.calls
    assert "toolu_8" not in turn.raw.decode()


def test_all_tokens_of_the_context_count(tmp_path):
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 4000,
        "server_tool_use": None,
    }
    with answering(tmp_path, answer(text(0, "Hi"), usage=usage)) as (asking, _):
        turn = asking.turn()

    assert 4321 == turn.counted


def test_an_id_that_is_missing_or_comes_twice_is_made_up(tmp_path):
    odd = answer(call(0), call(1), call(2, ident=""), call(3, ident="a b"))
    with answering(tmp_path, odd) as (asking, _):
        turn = asking.turn()

    blocks = json.loads(turn.raw)["content"]
    assert 4 == len({each.id for each in turn.calls})
    assert "toolu_9" == turn.calls[0].id
    assert [each["id"] for each in blocks] == [each.id for each in turn.calls]


def test_a_name_that_could_not_go_back_is_made_to(tmp_path):
    names = ("functions.read", " b ", "\x1b[2J\n", "x" * 100)
    odd = answer(
        *(block(n, "tool_use", id=f"t{n}", name=each) for n, each in enumerate(names))
    )
    with answering(tmp_path, odd) as (asking, _):
        turn = asking.turn()

    expected = ["functions_read", "b", "__2J", "x" * 64]
    assert expected == [each.tool for each in turn.calls]
    assert expected == [each["name"] for each in json.loads(turn.raw)["content"]]


def test_an_answer_of_calls_without_end_is_cut_off(tmp_path):
    ends = (block(n, "tool_use", id=f"t{n}", name="a") for n in range(PIECES + 50))
    with answering(tmp_path, answer(*ends)) as (asking, _):
        turn = asking.turn()

    assert (Stop.RUNAWAY, PIECES) == (turn.stop, len(turn.calls))


def test_arguments_that_come_at_once_are_taken(tmp_path):
    whole = block(0, "tool_use", id="toolu_9", name="a", input={"x": 1})
    with answering(tmp_path, answer(whole)) as (asking, _):
        turn = asking.turn()

    assert ('{"x": 1}',) == tuple(each.given for each in turn.calls)


ODD = {
    "an error": event(
        type="error", error={"type": "overloaded_error", "message": "Overloaded"}
    ),
    "no block": event(
        type="content_block_delta", index=5, delta={"type": "text_delta"}
    ),
    "no index": event(type="content_block_start", content_block={"type": "text"}),
    "a call without a name": b"".join(block(1, "tool_use", id="x")),
    "an odd index": event(type="content_block_stop", index=[]),
    "an endless index": event(type="content_block_stop", index=float("inf")),
    "no object": b'event: message_delta\ndata: {"type":"message_delta","delta":7}\n\n',
    "a deep one": b"event: ping2\ndata: " + b"[" * 100_000 + b"\n\n",
}


@pytest.mark.parametrize("what", ODD)
def test_an_event_that_is_none_ends_an_answer_with_a_sentence(tmp_path, what):
    start = event(type="message_start", message={"usage": {"input_tokens": 7}})
    body = start + b"".join(text(0, "So far")) + ODD[what]
    act = say(HEAD, chunk(body), chunk(b""))
    with answering(tmp_path, act) as (asking, _):
        found = asking.none()

    assert (Wrong.OTHER, "So far") == (found.wrong, found.partial)
    assert found.sentence.endswith((".", "Overloaded"))


def test_a_context_that_proves_too_long_in_the_middle_is_told_apart(tmp_path):
    error = {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}
    start = event(type="message_start", message={"usage": {"input_tokens": 7}})
    act = say(HEAD, chunk(start + event(type="error", error=error)), chunk(b""))
    with answering(tmp_path, act) as (asking, _):
        found = asking.none()

    assert Wrong.OVERFLOW == found.wrong


def test_the_cache_is_told_where_to_end_at_most_four_times():
    said = [
        Message("user", "One"),
        Message("assistant", "Two", calls=(Call("c1", "a", "{}"),)),
        Message("user", "", (Answered("c1", "Three"), Answered("c2", ""))),
        Message("assistant", "Four"),
        Message("user", "Five", (Answered("c3", "Six"),)),
    ]
    body = body_of(Ask("System", tuple(said), TOOLS, most=10), "m")

    marked = [
        piece
        for pieces in (
            body["system"],
            body["tools"],
            *(message["content"] for message in body["messages"]),
        )
        for piece in pieces
        if piece.get("cache_control") == CACHED
    ]
    assert 4 == json.dumps(body).count("cache_control")
    assert ["System", "b", "c2", "Five"] == [
        piece.get("name") or piece.get("tool_use_id") or piece["text"]
        for piece in marked
    ]
    assert (10, "m", True) == (body["max_tokens"], body["model"], body["stream"])


def test_what_is_not_there_is_not_marked():
    body = body_of(Ask(" ", (Message("user", "One"), Message("user", " "))), "m")

    assert {"system", "tools"} & set(body) == set()
    assert 1 == len(body["messages"]) == json.dumps(body).count("cache_control")


@pytest.mark.parametrize(
    "kept",
    [
        Message("assistant", "Hi", api="openai", raw=b'{"content": "Other"}'),
        Message("assistant", "Hi", api="anthropic", raw=b"no JSON"),
        Message("assistant", "Hi", api="anthropic", raw=b"[]"),
        Message("assistant", "Hi", api="anthropic", raw=b'{"content": [7]}'),
        Message(
            "assistant",
            "Hi",
            api="anthropic",
            raw=b'{"content": [{"type": "tool_use", "id": "unknown"}]}',
        ),
    ],
)
def test_blocks_that_are_not_those_of_the_turn_are_made_anew(kept):
    body = body_of(Ask("", (Message("user", "One"), kept)), "m")

    assert [{"type": "text", "text": "Hi"}] == body["messages"][1]["content"]
