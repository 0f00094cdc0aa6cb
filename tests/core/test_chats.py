"""What the record of a chat says of turns, of words that wait, and of proposals."""

import pytest

from gitagent.core import chats
from gitagent.core.chat import Answered
from gitagent.core.chats import Name, Proposal
from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin, in_force


def record(*entries):
    return [
        Entry(**{**each, "number": number})
        for number, each in enumerate(entries, start=1)
    ]


def words(text, **more):
    more = {"request": text, "origin": Origin.PERSON, **more}
    return {"kind": Kind.INPUT, "text": text, **more}


def placed(number):
    return {"kind": Kind.INPUT, "places": number}


def said(text, *calls):
    return {"kind": Kind.SAY, "text": text, "calls": calls}


def end(ended="done", text=""):
    return {"kind": Kind.END, "ended": ended, "text": text}


BEGIN = {"kind": Kind.BEGIN}
BACK = {"kind": Kind.REWIND, "last": 1}


@pytest.mark.parametrize(
    ("name", "conversation"),
    [(Name("a"), "_a"), (Name("a.b"), "_a.b"), (Name("a", 3), "_a.side3")],
)
def test_a_name_is_found_again(name, conversation):
    assert conversation == name.conversation
    assert name == chats.named(conversation)


def test_a_task_is_no_chat_and_no_chat_is_called_as_a_side_chat_is():
    assert chats.named("fix-login") is None
    assert chats.id_problem("a") is None
    assert chats.id_problem("a.side2")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([BEGIN], False),
        ([BEGIN, words("a")], True),
        ([BEGIN, words("a"), said("Well.")], True),
        ([BEGIN, words("a"), said("Well."), end()], False),
        ([BEGIN, words("a"), BACK], False),
        ([BEGIN, words("a", waits=True)], False),
        ([BEGIN, words("a", waits=True), placed(2)], True),
        ([BEGIN, words("a"), end(), words("b", origin=Origin.GITAGENT)], False),
        ([BEGIN, words("a"), BEGIN], True),
    ],
)
def test_a_turn_begins_with_words_of_a_person_and_is_over_at_its_end(entries, expected):
    assert expected is chats.under_way(record(*entries))


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([BEGIN, words("a"), words("b", waits=True)], [3]),
        ([BEGIN, words("a"), words("b", waits=True), end(), placed(3)], []),
        ([BEGIN, words("a"), words("b", waits=True), BACK], []),
        ([BEGIN, words("b", waits=True), words("c", waits=True), placed(2)], [3]),
    ],
)
def test_words_wait_until_they_are_placed(entries, expected):
    assert expected == [each.number for each in chats.waiting(record(*entries))]


def test_words_that_waited_are_in_force_where_they_were_placed():
    call = Call("c1", "status", "{}")
    result = {"kind": Kind.RESULT, "call": "c1"}
    waited = words("b", waits=True)
    entries = record(words("a"), said("I look.", call), waited, result, placed(3))

    kept = in_force(entries)

    assert [1, 2, 4, 5] == [each.number for each in kept]
    assert ("b", Origin.PERSON) == (kept[-1].text, kept[-1].origin)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([words("a")], None),
        ([words("a"), said("Well.")], None),
        ([words("a"), said("Well."), end()], Answered("a", 2, "Well.")),
        (
            [words("a"), said("So"), said("Well."), end(), words("b"), said("No")],
            Answered("a", 3, "Well."),
        ),
        (
            [words("a"), said("Part"), end("failed", "It is gone.")],
            Answered("a", 0, "", "It is gone."),
        ),
        ([words("a"), end("failed")], Answered("a", 0, "", "It ended failed.")),
        (
            [words("a", waits=True), placed(1), said("Well."), end()],
            Answered("a", 3, "Well."),
        ),
        ([words("a", waits=True), said("Of before."), end()], None),
        (
            [words("x"), words("a"), {"kind": Kind.REWIND, "last": 1}],
            Answered("a", 0, "", "It was put aside."),
        ),
    ],
)
def test_an_answer_is_what_was_said_last_before_the_end_of_the_turn(entries, expected):
    entries = record(*entries)
    asked = chats.requested(entries, "a")

    assert expected == chats.answer(entries, asked)


@pytest.mark.parametrize(
    ("entries", "since", "first"),
    [
        (0, 0, 1),
        (5, 0, 1),
        (5, 3, 4),
        (5, 5, 6),
        (5, 99, 6),
        (100, 0, 41),
        (100, 90, 91),
    ],
)
def test_a_client_is_sent_what_it_lacks_and_of_that_the_newest(entries, since, first):
    assert first == chats.first_told(entries, since)


def test_a_profile_is_what_was_begun_last_whatever_was_put_aside():
    plan = {"kind": Kind.BEGIN, "profile": "plan"}
    entries = record(BEGIN, words("a"), plan, BACK)

    assert "plan" == chats.profile(entries)
    assert "" == chats.began(entries)


PROPOSED = Call("c1", "propose", "{}")
STARTED = Call("c2", "start_task", "{}")
FETCHED = Call("c3", "web_fetch", "{}")


def result(call, state):
    return {"kind": Kind.RESULT, "call": call.id, "tool": call.tool, "state": state}


@pytest.mark.parametrize(
    ("call", "state", "expected"),
    [
        (PROPOSED, CallState.DONE, True),
        (PROPOSED, CallState.FAILED, False),
        (PROPOSED, CallState.DENIED, False),
        (STARTED, CallState.NEEDS_DECISION, True),
        (STARTED, CallState.DONE, False),
        (FETCHED, CallState.NEEDS_DECISION, True),
        (FETCHED, CallState.DENIED, False),
    ],
)
def test_a_proposal_is_a_call_that_waits_for_a_persons_word(call, state, expected):
    entries = record(words("a"), said("", call), result(call, state), end())

    found = chats.proposal(entries, 3)

    assert expected is isinstance(found, Proposal)


def test_a_proposal_is_decided_once():
    given = [words("a"), said("", PROPOSED), result(PROPOSED, CallState.DONE), end()]
    decided = {"kind": Kind.INPUT, "request": "decide 3"}
    entries = record(*given, decided)

    assert "What entry 3 proposes is decided already." == chats.proposal(entries, 3)
