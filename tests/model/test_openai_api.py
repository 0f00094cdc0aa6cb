"""What servers of chat completions have of their own, and how they differ."""

import json
from contextlib import contextmanager

import pytest

from gitagent.core.conversation import Call
from gitagent.model.provider import Answered, Ask, Message, Stop, Tool, Wrong
from gitagent.model.runaway import PIECES
from tests.model.asking import SAID, line, own, scripted
from tests.model.raw import HEAD, answer, chunk, raw, say
from tests.support.provider import Fault, Say


def body_of(ask: Ask, model: str) -> dict:
    """Return a request's body; its module takes a second to import: not to collect."""
    from gitagent.model.openai_api import request  # noqa: PLC0415

    return request(ask, model)


TOOL = Tool("a", "A", {"type": "object"})


def event(**data):
    return f"data: {json.dumps(data)}\n\n".encode()


def delta(reason=None, **fields):
    return event(choices=[{"index": 0, "delta": fields, "finish_reason": reason}])


def stream(*events, done=True):
    body = b"".join(events) + (b"data: [DONE]\n\n" if done else b"")
    return say(HEAD, chunk(body), chunk(b""))


def piece(arguments="", **more):
    function = {"arguments": arguments}
    if "name" in more:
        function["name"] = more.pop("name")
    return {"function": function, **more}


@contextmanager
def answering(path, *acts):
    with raw(*acts) as server, line(path, server.url, "openai") as asking:
        yield asking, server


def test_calls_are_put_together_by_their_index(tmp_path):
    events = [
        delta(role="assistant", content=None, tool_calls=None),
        delta(tool_calls=[piece('{"x"', index=0, id="c-0", name="a")]),
        delta(tool_calls=[piece("", index=1, id="c-1", name="b")]),
        delta(tool_calls=[piece(": 1}", index=0), piece("{}", index=1)]),
        delta("tool_calls"),
        event(choices=[], usage={"prompt_tokens": 30, "completion_tokens": 4}),
    ]
    with answering(tmp_path, stream(*events)) as (asking, _):
        turn = asking.turn()

    assert (Call("c-0", "a", '{"x": 1}'), Call("c-1", "b", "{}")) == turn.calls
    assert (Stop.CALLS, 34) == (turn.stop, turn.counted)


def test_calls_without_index_or_id_and_with_the_name_each_time_are_taken(tmp_path):
    events = [
        delta(tool_calls=[piece('{"x": 1}', id="c-0", name="a")]),
        delta(tool_calls=[piece({"y": 2}, id="", name="b")]),
        delta("stop"),
    ]
    again = [
        delta(tool_calls=[piece("{", index=0, id="c-0", name="a")]),
        delta(tool_calls=[piece("}", index=0, id="c-0", name="a")]),
        delta("stop"),
    ]
    with answering(tmp_path, stream(*events), stream(*again)) as (asking, _):
        first = asking.turn()
        second = asking.turn(*SAID, own(first, "openai"), Message("user", "More"))

    assert [("a", '{"x": 1}'), ("b", '{"y": 2}')] == [
        (each.tool, each.given) for each in first.calls
    ]
    assert ("c-0", Stop.CALLS) == (first.calls[0].id, first.stop)
    assert [("a", "{}")] == [(each.tool, each.given) for each in second.calls]
    assert second.calls[0].id not in {"", *(each.id for each in first.calls)}


def test_what_a_server_wants_back_with_a_call_goes_back(tmp_path):
    signed = {"google": {"thought_signature": "c2ln"}}
    events = [
        delta(reasoning_content="Hm.", reasoning_details=[{"text": "H"}]),
        delta(reasoning_details=[{"text": "m"}], annotations=[]),
        delta(
            tool_calls=[piece("{}", index=0, id="c-0", name="a", extra_content=signed)]
        ),
        delta("tool_calls"),
    ]
    with answering(tmp_path, stream(*events)) as (asking, server):
        turn = asking.turn()
        asking.ask(
            *SAID,
            own(turn, "openai"),
            Message("user", results=(Answered("c-0", "ok"),)),
        )

    sent = json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])
    assert "" == turn.text
    assert {
        "role": "assistant",
        "content": None,
        "reasoning_details": [{"text": "H"}, {"text": "m"}],
        "tool_calls": [
            {
                "id": "c-0",
                "type": "function",
                "function": {"name": "a", "arguments": "{}"},
                "extra_content": signed,
            }
        ],
    } == sent["messages"][2]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", Stop.END),
        ("tool_calls", Stop.END),  # and there is no call
        ("length", Stop.LENGTH),
        ("content_filter", Stop.REFUSAL),
        ("something_new", Stop.END),
    ],
)
def test_the_reason_of_an_end_is_told(tmp_path, reason, expected):
    events = [delta(content="Hi"), delta(reason)]
    with answering(tmp_path, stream(*events)) as (asking, _):
        turn = asking.turn()

    assert (expected, "Hi") == (turn.stop, turn.text)


def test_a_refusal_is_told_in_its_words(tmp_path):
    events = [delta(refusal="I will "), delta(refusal="not."), delta("stop")]
    with answering(tmp_path, stream(*events)) as (asking, _):
        turn = asking.turn()

    assert (Stop.REFUSAL, "I will not.") == (turn.stop, turn.text)


def test_a_call_that_is_cut_at_the_limit_is_none(tmp_path):
    events = [
        delta(tool_calls=[piece("{}", index=0, id="c-0", name="a")]),
        delta(tool_calls=[piece('{"y"', index=1, id="c-1", name="a")]),
        delta("length"),
    ]
    with answering(tmp_path, stream(*events)) as (asking, _):
        turn = asking.turn()

    assert (Stop.LENGTH, ("c-0",)) == (turn.stop, tuple(c.id for c in turn.calls))
    assert "c-1" not in turn.raw.decode()


def test_a_name_that_could_not_go_back_is_made_to(tmp_path):
    made = [piece("{}", index=0, id="c-0", name="functions.read\x1b")]
    with answering(tmp_path, stream(delta("tool_calls", tool_calls=made))) as (
        asking,
        _,
    ):
        turn = asking.turn()

    (own,) = json.loads(turn.raw)["tool_calls"]
    assert "functions_read_" == turn.calls[0].tool == own["function"]["name"]


def test_an_answer_of_calls_without_end_is_cut_off(tmp_path):
    made = (piece("{}", index=n, id=f"c{n}", name="a") for n in range(PIECES + 50))
    events = [delta(tool_calls=[each]) for each in made]
    with answering(tmp_path, stream(*events, delta("tool_calls"))) as (asking, _):
        turn = asking.turn()

    assert (Stop.RUNAWAY, PIECES) == (turn.stop, len(turn.calls))


ODD = {
    "an error": event(error={"message": "Overloaded", "type": "server_error"}),
    "no delta": event(choices=[{"delta": 7}]),
    "no choice": event(choices=[7]),
    "an odd index": delta(tool_calls=[{"index": [], "function": {}}]),
    "an endless index": delta(tool_calls=[{"index": float("inf")}]),
    "an odd call": delta(tool_calls=[7]),
    "odd usage": event(choices=[], usage=7),
}


@pytest.mark.parametrize("what", ODD)
def test_an_event_that_is_none_ends_an_answer_with_a_sentence(tmp_path, what):
    with answering(tmp_path, stream(delta(content="So far"), ODD[what])) as (asking, _):
        found = asking.none()

    assert (Wrong.OTHER, "So far") == (found.wrong, found.partial)
    assert found.sentence.endswith((".", "Overloaded"))


def test_an_end_without_a_reason_is_none(tmp_path):
    with answering(tmp_path, stream(delta(content="So far"))) as (asking, _):
        found = asking.none()

    assert (Wrong.CUT, "So far") == (found.wrong, found.partial)


def test_a_server_that_knows_the_older_name_of_the_limit_is_asked_by_that(tmp_path):
    error = {"message": "Unknown field: max_completion_tokens", "type": "invalid"}
    refused = answer(json.dumps({"error": error}).encode(), "400 Bad Request")
    good = stream(delta(content="Hi"), delta("stop"))
    with answering(tmp_path, refused, good) as (asking, server):
        first = asking.turn(most=77)
        asking.turn(most=77)

    bodies = [json.loads(each.partition(b"\r\n\r\n")[2]) for each in server.requests]
    assert "Hi" == first.text
    assert [(77, None), (None, 77), (None, 77)] == [
        (each.get("max_completion_tokens"), each.get("max_tokens")) for each in bodies
    ]


def test_a_request_is_of_the_form_that_servers_know():
    said = (
        Message("user", "One"),
        Message("assistant", " ", calls=(Call("c1", "a", ""), Call("c2", "a", "{ }"))),
        Message("user", "Two", (Answered("c1", "x"), Answered("c2", "", failed=True))),
        Message("assistant", ""),
    )

    assert {
        "model": "m",
        "max_completion_tokens": 9,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "a",
                    "description": "A",
                    "parameters": {"type": "object"},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": "One"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "a", "arguments": "{}"},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "a", "arguments": "{ }"},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
            {"role": "user", "content": "Two"},
        ],
    } == body_of(Ask("S", said, (TOOL,), most=9), "m")


@pytest.mark.parametrize(
    "kept",
    [
        Message("assistant", "Hi", api="anthropic", raw=b'{"content": "Other"}'),
        Message("assistant", "Hi", api="openai", raw=b"no JSON"),
        Message("assistant", "Hi", api="openai", raw=b"[]"),
        Message("assistant", "Hi", api="openai", raw=b'{"tool_calls": [{"id": "x"}]}'),
        Message("assistant", "Hi", api="openai", raw=b'{"tool_calls": 7}'),
    ],
)
def test_a_message_that_is_not_that_of_the_turn_is_made_anew(kept):
    body = body_of(Ask("", (kept,)), "m")

    assert [{"role": "assistant", "content": "Hi"}] == body["messages"]


def test_a_funded_account_is_not_taken_for_a_budget(tmp_path):
    with scripted(tmp_path, "openai", Fault("funds", times=9), Say("Hi")) as (
        asking,
        _,
    ):
        found = asking.none()

    assert Wrong.OTHER == found.wrong
