"""What answers tell: usage, ends, errors, and what is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.exchange import Api
from gitagent.model.answer import Counts, Event, Meter, Splitter


def sse(value, name=""):
    text = value if isinstance(value, str) else json.dumps(value)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def take(api, *values):
    meter = Meter(api)
    return meter, [meter.event(sse(each)) for each in values]


START = {
    "type": "message_start",
    "message": {
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 30,
            "output_tokens": 1,
        }
    },
}


def test_a_stream_of_messages_tells_its_usage_and_its_end():
    meter, events = take(
        Api.MESSAGES,
        {"type": "ping"},
        START,
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "message_delta", "usage": {"output_tokens": 40}},
        {"type": "message_stop"},
    )

    assert [Event.NEUTRAL, Event.PART, Event.PART, Event.PART, Event.LAST] == events
    assert meter.complete
    assert Counts(10, 40, 30, 20) == meter.counts(999)


def test_a_later_usage_entry_counts_for_what_it_names():
    meter, _ = take(
        Api.MESSAGES,
        START,
        {"type": "message_delta", "usage": {"output_tokens": 4, "input_tokens": 12}},
        {"type": "message_delta", "usage": {"output_tokens": 5, "input_tokens": None}},
        {"type": "message_stop"},
    )

    assert Counts(12, 5, 30, 20) == meter.counts(0)


def test_a_stream_of_a_chat_tells_its_usage_apart():
    meter, events = take(
        Api.CHAT,
        {"choices": [{"delta": {"content": "Hi"}}], "usage": None},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 50,
                "completion_tokens": 6,
                "prompt_tokens_details": {"cached_tokens": 20},
            },
        },
        "[DONE]",
    )

    assert [Event.PART, Event.PART, Event.USAGE, Event.LAST] == events
    assert Counts(30, 6, 20) == meter.counts(0)


def test_a_chat_may_end_without_its_mark_once_it_gave_a_reason():
    meter, _ = take(Api.CHAT, {"choices": [{"finish_reason": "stop"}]})
    cut, _ = take(Api.CHAT, {"choices": [{"finish_reason": None}]})
    meter.ended()
    cut.ended()

    assert (True, False) == (meter.complete, cut.complete)


@pytest.mark.parametrize("end", ["response.completed", "response.incomplete"])
def test_a_stream_of_responses_tells_its_usage_with_its_end(end):
    usage = {
        "input_tokens": 9,
        "output_tokens": 3,
        "input_tokens_details": {"cached_tokens": 4},
    }
    meter, events = take(
        Api.RESPONSES,
        {"type": "response.created", "response": {"usage": None}},
        {"type": "response.output_text.delta", "delta": "Hi"},
        {"type": end, "response": {"usage": usage}},
    )

    assert [Event.PART, Event.PART, Event.LAST] == events
    assert Counts(5, 3, 4) == meter.counts(0)


@pytest.mark.parametrize(
    ("api", "value"),
    [
        (Api.MESSAGES, {"type": "error", "error": {"type": "overloaded_error"}}),
        (Api.CHAT, {"error": {"message": "no"}}),
        (Api.RESPONSES, {"type": "error", "code": "x", "message": "no"}),
        (Api.RESPONSES, {"type": "response.failed", "response": {"error": {}}}),
    ],
)
def test_an_error_within_a_stream_is_one(api, value):
    meter, events = take(api, value)

    assert [Event.ERROR] == events
    assert value == json.loads(meter.error)


@pytest.mark.parametrize("api", [Api.MESSAGES, Api.CHAT, Api.RESPONSES])
@pytest.mark.parametrize(
    "raw",
    [
        b"<html>\n\n",
        b"data: <html>\n\n",
        b"data: [1]\n\n",
        b'data: {"type":"content_block_delta"}\n\n',
        b"data: [DONE]\n\n",
        b'{"type":"message"}\n\n',
    ],
)
def test_a_first_event_that_is_not_of_the_api_is_garbage(api, raw):
    assert Meter(api).event(raw) is Event.GARBAGE


def test_an_answer_that_was_cut_counts_what_was_said_at_least():
    meter, _ = take(
        Api.MESSAGES,
        START,
        {"type": "content_block_delta", "delta": {"text": "x" * 400}},
    )
    chat, _ = take(Api.CHAT, {"choices": [{"delta": {"content": "x" * 400}}]})

    assert Counts(10, 100, 30, 20) == meter.counts(999)
    assert Counts(999, 100) == chat.counts(999)


@pytest.mark.parametrize(
    ("api", "body", "counts"),
    [
        (
            Api.MESSAGES,
            {"type": "message", "usage": {"input_tokens": 1, "output_tokens": 2}},
            Counts(1, 2),
        ),
        (
            Api.CHAT,
            {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
            Counts(1, 2),
        ),
        (
            Api.RESPONSES,
            {"object": "response", "usage": {"input_tokens": 1, "output_tokens": 2}},
            Counts(1, 2),
        ),
        (Api.COUNT, {"input_tokens": 5}, Counts()),
        (
            Api.MESSAGES,
            {"type": "message", "usage": {"input_tokens": -5, "output_tokens": "9"}},
            Counts(),
        ),
    ],
)
def test_a_whole_body_tells_its_usage(api, body, counts):
    meter = Meter(api)

    assert meter.whole(json.dumps(body).encode())
    assert counts == meter.counts(999)


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b"\xff", b"[" * 10**5])
def test_a_body_that_is_not_of_the_api_is_none(api, body):
    assert not Meter(api).whole(body)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_cut_at_blank_lines_wherever_the_pieces_end(end):
    events = [
        f": hi{end}{end}",
        f"event: a{end}data: 1{end}{end}",
        f"data: 2{end}{end}",
    ]
    text = "".join(events).encode()

    for place in range(len(text) + 1):
        splitter = Splitter()
        found = [*splitter.feed(text[:place]), *splitter.feed(text[place:])]
        if splitter.rest:  # a carriage return at the very end may get a line feed
            found.append(splitter.rest)

        assert [each.encode() for each in events] == found


@given(st.lists(st.binary(max_size=40)), st.sampled_from(list(Api)[:1] + list(Api)[2:]))
def test_any_stream_of_bytes_is_read_without_loss_and_without_an_error(pieces, api):
    splitter, meter = Splitter(), Meter(api)
    events = [event for piece in pieces for event in splitter.feed(piece)]
    for each in events:
        meter.event(each)

    assert b"".join(pieces) == b"".join(events) + splitter.rest
