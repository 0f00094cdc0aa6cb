"""The messages of a chat: there and back, bounded, and nothing else is taken."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core import chat
from gitagent.core.chat import (
    Answered,
    Bye,
    Decide,
    Delta,
    Doing,
    Greeting,
    Hello,
    MalformedError,
    Plan,
    Refused,
    Rewind,
    Say,
    Sent,
    Side,
    SideEnd,
    State,
    Stop,
    Told,
    Trouble,
    Undone,
    When,
)
from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin

ENTRY = Entry(
    kind=Kind.SAY,
    number=3,
    at="2026-11-30T12:00:00Z",
    origin=Origin.MODEL,
    text="Grüße, 世界\n",
    calls=(Call("c1", "grep", '{"pattern": "x"}'),),
    may=("start_task",),
    seconds=1.5,
    state=CallState.DONE,
)
REQUESTS = [
    Hello(7, 1),
    Say("Grüße\nzwei", "r1", When.STEER),
    Stop(),
    Plan(on=True),
    Side(),
    SideEnd(inject=False),
    Rewind(4, sure=True),
    Decide(9, yes=True),
    Bye(),
]
FRAMES = [
    Greeting("main", 12, State.WORKING, "plan", 2, 5),
    Told(ENTRY),
    Delta("wor"),
    Doing(State.ASKING),
    Sent("r1", 4),
    Refused("r1", "a turn runs"),
    Answered("r1", 5, "yes"),
    Undone(4, ("task fix was started",)),
    Trouble("no such entry"),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_what_a_client_says_comes_back_as_it_was(request_):
    line = chat.encode_request(request_)

    assert request_ == chat.decode_request(line)
    assert 1 == line.count(b"\n")


@pytest.mark.parametrize("frame", FRAMES, ids=lambda each: type(each).__name__)
def test_what_a_server_says_comes_back_as_it_was(frame):
    line = chat.encode_frame(frame)

    assert frame == chat.decode_frame(line)
    assert 1 == line.count(b"\n")


def test_the_messages_look_as_agreed():
    def frame(each):
        return json.loads(chat.encode_frame(each))

    assert {"op": "say", "text": "a", "request": "r", "when": "followup"} == json.loads(
        chat.encode_request(Say("a", "r"))
    )
    assert {"delta": "wor"} == frame(Delta("wor"))
    assert {"state": "idle"} == frame(Doing(State.IDLE))
    assert {"sent": {"request": "r", "number": 4}} == frame(Sent("r", 4))
    assert {"error": "no"} == frame(Trouble("no"))
    assert "say" == frame(Told(ENTRY))["entry"]["kind"]


def test_what_a_client_leaves_out_has_its_default():
    assert Hello(0, 0) == chat.decode_request(b'{"op": "hello"}\n')
    assert Rewind(3, sure=False) == chat.decode_request(b'{"op": "rewind", "to": 3}')


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"\xff\n", "line of JSON"),
        (b"[" * 100_000, "line of JSON"),
        (b"[]", "an object"),
        (b"{}", "op is none"),
        (b'{"op": ["say"]}', "op is none"),
        (b'{"op": "sya"}', "op is none"),
        (b'{"op": "say", "text": "a"}', "not whole"),
        (b'{"op": "say", "text": 1, "request": "r"}', "text has the wrong type"),
        (b'{"op": "say", "text": " \\n", "request": "r"}', "no words"),
        (b'{"op": "say", "text": "a", "request": ""}', "a request has"),
        (b'{"op": "say", "text": "\\ud800", "request": "r"}', "half a character"),
        (b'{"op": "say", "text": "a", "request": "r", "when": "x"}', "when is none"),
        (b'{"op": "stop", "hard": true}', "there is no 'hard'"),
        (b'{"op": "rewind", "to": -1}', "out of range"),
        (b'{"op": "rewind", "to": true}', "to has the wrong type"),
        (b'{"op": "plan", "on": 1}', "on has the wrong type"),
        (b" " * (chat.LINE + 1), "at most"),
    ],
)
def test_any_other_line_of_a_client_is_refused_with_the_reason(line, why):
    with pytest.raises(MalformedError, match=why):
        chat.decode_request(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{}", "one key"),
        (b'{"delta": "a", "state": "idle"}', "one key"),
        (b'{"dleta": "a"}', "a frame is none"),
        (b'{"delta": 1}', "text has the wrong type"),
        (b'{"state": "busy"}', "state is none"),
        (b'{"sent": []}', "sent is no object"),
        (b'{"entry": []}', "entry has the wrong type"),
        (b'{"entry": {"kind": "say", "calls": [1]}}', "calls has the wrong type"),
        (b'{"entry": {"kind": "say", "seconds": "1"}}', "seconds has the wrong type"),
        (b'{"effects": {"to": 1, "effects": "x"}}', "effects has the wrong type"),
    ],
)
def test_any_other_line_of_a_server_is_refused_with_the_reason(line, why):
    with pytest.raises(MalformedError, match=why):
        chat.decode_frame(line)


def test_an_entry_of_a_newer_release_is_read_without_what_is_not_known():
    entry = {"kind": "say", "text": "a", "mood": "good"}

    assert Told(Entry(Kind.SAY, text="a")) == chat.decode_frame(
        json.dumps({"entry": entry}).encode()
    )


def test_words_that_are_too_many_are_refused_before_they_are_sent():
    with pytest.raises(MalformedError, match="at most"):
        chat.encode_request(Say("a" * (chat.TEXT + 1), "r"))


@pytest.mark.parametrize("character", ["a", "\x00", "世", "\U0001f600", "\ud800"])
def test_a_frame_is_never_longer_than_a_line_may_be(character):
    text = character * (chat.LINE // 4)
    calls = tuple(Call(str(n), "write", text) for n in range(3))
    told = Told(replace(ENTRY, text=text, calls=calls, what=text))
    frames = [
        told,
        Delta(text * 4),
        Answered("r", 1, text * 4),
        Undone(1, (text[:9000],) * 200),
        Refused("r", text),
        Trouble(text),
    ]
    lines = [chat.encode_frame(each) for each in frames]

    assert [] == [len(line) for line in lines if len(line) > chat.LINE]
    assert [type(each) for each in frames] == [
        type(chat.decode_frame(line)) for line in lines
    ]
    assert "[cut" in chat.decode_frame(lines[0]).entry.text


@given(st.text(), st.text(min_size=1, max_size=20))
def test_whatever_is_typed_is_sent_whole_or_refused(text, request_):
    try:
        line = chat.encode_request(Say(text, request_))
    except MalformedError:
        return

    assert Say(text, request_) == chat.decode_request(line)
