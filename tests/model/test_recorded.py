"""Requests answered from a record, and the one that has no answer there."""

import json

import pytest

from gitagent.core.exchange import Api, Exchange, State
from gitagent.core.failure import Failure
from gitagent.core.models import ModelRef
from gitagent.core.settings import Provider
from gitagent.host import until
from gitagent.host.clock import Wake
from gitagent.model.recorded import Entry, Recorded
from gitagent.model.upstream import Ask, Lost

NEW = '/messages/1/content is new: `"b"`'
PROVIDER = Provider(kind="openai", base_url="http://127.0.0.1:1")


def chat(*texts, **more):
    said = [{"role": "user", "content": text} for text in texts]
    return json.dumps({"model": "m", **more, "messages": said}).encode()


def entry(number, body, answer=b"{}", state=State.DONE, **fields):
    values = {"status": 200, "content_type": "text/event-stream", **fields}
    said = Exchange(
        "fix", 1, number, Api.CHAT, "m", "local:m", state, "2026-11-30", **values
    )
    return Entry(said, body, answer)


def ask(number, body, model="m", api=Api.CHAT):
    ref = ModelRef("local", model)
    return Ask("fix", 1, number, ref, PROVIDER, api, body)


OVER = Lost(Failure.INVALID, "The record ends here.")


@pytest.fixture
def gone():
    """Make what says that the agent has gone away."""
    wake = Wake()
    wake.set()
    yield [until.readable(wake.fileno())]
    del wake


@pytest.fixture
def missed():
    return []


def got(recorded, *args, **fields):
    found = recorded.send(ask(*args, **fields), ())
    return found if isinstance(found, Lost) else found.read()


def test_the_very_request_gets_its_answer_whatever_the_order(missed):
    entries = [entry(1, chat("a"), b"A"), entry(2, chat("b"), b"B")]
    recorded = Recorded(entries, missed.append)
    answer = recorded.send(ask(1, chat("b")), ())

    assert not isinstance(answer, Lost)
    assert (200, {"content-type": "text/event-stream"}) == (
        answer.status,
        answer.headers,
    )
    assert [b"B", b""] == [answer.read(), answer.read()]
    assert b"A" == got(recorded, 2, chat("a"))
    assert ([], 0) == (missed, recorded.left)


def test_one_that_differs_only_in_time_is_preferred_to_the_next(missed):
    entries = [
        entry(1, chat("other"), b"A"),
        entry(2, chat("at 2026-11-30"), b"B"),
    ]
    recorded = Recorded(entries, missed.append)

    assert b"B" == got(recorded, 1, chat("at 2027-01-01"))
    assert b"A" == got(recorded, 2, chat("something else"))
    assert [] == missed


def test_the_same_request_made_twice_gets_both_answers_in_order(missed):
    entries = [entry(1, chat("a"), b"1"), entry(2, chat("a"), b"2")]
    recorded = Recorded(entries, missed.append)

    assert [b"1", b"2"] == [got(recorded, n, chat("a")) for n in (1, 2)]


def test_one_that_is_tried_again_gets_the_same_answer_again(missed):
    recorded = Recorded([entry(1, chat("a"), b"1")], missed.append)

    assert [b"1", b"1"] == [got(recorded, 1, chat("a")) for _ in range(2)]


FAILED = {"failure": "overloaded", "reason": "It is busy."}


def test_a_failure_that_was_recorded_fails_again_and_is_not_retried(missed):
    fields = {**FAILED, "status": 529, "content_type": "application/json"}
    failed = entry(1, chat("a"), b'{"error": {}}', State.FAILED, **fields)
    recorded = Recorded([failed], missed.append)

    assert Lost(Failure.INVALID, "It is busy.", 529, b'{"error": {}}') == got(
        recorded, 1, chat("a")
    )
    assert [] == missed


def test_a_stream_that_failed_is_streamed_again(missed):
    recorded = Recorded(
        [entry(1, chat("a"), b"data: x", State.FAILED, **FAILED)], missed.append
    )

    assert b"data: x" == got(recorded, 1, chat("a"))
    assert [] == missed


def test_what_the_agent_did_not_wait_for_ends_there(missed):
    entries = [
        entry(1, chat("a"), b"part", State.LEFT),
        entry(2, chat("b"), b"", State.LEFT, content_type="", status=None),
    ]
    recorded = Recorded(entries, missed.append)
    answer = recorded.send(ask(1, chat("a")), ())

    assert not isinstance(answer, Lost)
    assert b"part" == answer.read()
    assert Lost(Failure.CUT, "The record has no more of this answer.") == answer.read()
    assert Lost(Failure.INVALID, "The agent did not wait for this answer.") == got(
        recorded, 2, chat("b")
    )


@pytest.mark.parametrize("state", [State.SENT, State.LEFT])
def test_an_agent_that_was_stopped_is_stopped_at_the_same_request(missed, gone, state):
    stopped = []
    entries = [entry(1, chat("a"), b"1"), entry(2, chat("b"), b"", state)]
    recorded = Recorded(entries, missed.append, lambda: stopped.append(1))

    assert (b"1", []) == (got(recorded, 1, chat("a")), stopped)
    assert OVER == recorded.send(ask(2, chat("b")), gone)
    assert ([1], []) == (stopped, missed)


def test_an_agent_that_was_stopped_is_stopped_before_its_next_request(missed, gone):
    stopped = []
    recorded = Recorded([entry(1, chat("a"))], missed.append, lambda: stopped.append(1))
    got(recorded, 1, chat("a"))

    assert OVER == recorded.send(ask(2, chat("b")), gone)
    assert ([1], []) == (stopped, missed)


@pytest.mark.parametrize(
    ("entries", "asked", "why"),
    [
        (
            [entry(1, chat("a"))],
            ask(4, chat("a", "b")),
            f"it differs from request 1 of the record: {NEW}",
        ),
        (
            [entry(1, chat("a"))],
            ask(4, chat("b"), model="other"),
            "the record has no further one to local:other (chat)",
        ),
        (
            [entry(1, chat("a"))],
            ask(4, chat("a"), api=Api.RESPONSES),
            "the record has no further one to local:m (responses)",
        ),
        (
            [entry(3, chat("a"), b"", State.SENT)],
            ask(4, chat("a")),
            "request 3 has no answer in the record",
        ),
    ],
)
def test_a_request_without_an_answer_says_which_and_where(missed, entries, asked, why):
    recorded = Recorded(entries, missed.append)
    sentence = f"Request 4 cannot be answered from the record: {why}."
    found = recorded.send(asked, ())
    recorded.send(asked, ())

    assert Lost(Failure.INVALID, sentence) == found
    assert ([sentence], sentence) == (missed, recorded.problem)
    assert b"x" == recorded.scrub().whole(b"x")
