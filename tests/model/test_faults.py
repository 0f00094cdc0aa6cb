"""Providers that hang, cut, lie or talk garbage: each ends in a named state."""

import gzip
import json
import socket
import threading

import httpx
import pytest

from gitagent.core import failure
from gitagent.core.exchange import State
from tests.model.house import house, messages
from tests.model.raw import HEAD, answer, chunk, raw, say


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(failure, "FIRST_S", 0.01)


def event(value, name=""):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


USAGE = {"input_tokens": 11, "output_tokens": 1}
START = event({"type": "message_start", "message": {"usage": USAGE}})
WORDS = event({"type": "content_block_delta", "delta": {"text": "words " * 20}})
STOP = event({"type": "message_stop"})
CHAT = event({"choices": [{"delta": {"content": "words"}}]})
MESSAGE = json.dumps({"type": "message", "usage": USAGE}).encode()


def stuck(*parts):
    """Send these bytes, then nothing until the client leaves."""
    there = threading.Event()

    def act(client: socket.socket) -> None:
        say(*parts)(client)
        client.settimeout(60)
        while client.recv(100):
            pass
        there.set()

    return act, there


def streamed(*events):
    return say(HEAD, *(chunk(each) for each in events), b"0\r\n\r\n")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "act",
    [
        say(b"220 mail.example.org ESMTP\r\n\r\n"),
        say(b"\x00\xff\x00\xff" * 100),
        answer(b"<html>please log in</html>"),
        answer(b""),
        answer(b'{"error": {"message": "in a 200"}}'),
        answer(b"[" * 100_000),
        answer(b"\xff" * 1000),
        answer(gzip.compress(MESSAGE), "200 OK", b"content-encoding: gzip"),
    ],
    ids=["mail", "bytes", "html", "nothing", "error", "deep", "no-text", "gzip"],
)
def test_an_answer_that_is_none_is_garbage(tmp_path, act, stream):
    with raw(act) as server, house(tmp_path, server.url) as found:
        got = found.messages(stream=stream)

        (ended,) = found.journal.ends
        assert (400, "error") == (got.status_code, got.json()["type"])
        assert (State.FAILED, "garbage", 3) == (
            ended.state,
            ended.failure,
            ended.tries,
        )
        assert ended.reason == found.gateway.trouble


def test_a_stream_where_none_was_asked_and_the_reverse_are_garbage(tmp_path):
    with raw(streamed(START, STOP)) as server, house(tmp_path, server.url) as found:
        assert 400 == found.messages().status_code
    with raw(answer(MESSAGE)) as server, house(tmp_path, server.url) as found:
        assert 400 == found.messages(stream=True).status_code
        (ended,) = found.journal.ends
        assert "garbage" == ended.failure
        # The provider has answered, and takes its money for it.
        assert ended.usage.input > 0


def cut_in_the_middle(found, path="/v1/messages"):
    """Return what came of a stream that has no end."""
    parts = []
    body = {**messages(stream=True), "input": "x"}
    with found.client.stream("POST", path, json=body) as got:
        pieces = got.iter_raw()
        with pytest.raises(httpx.RemoteProtocolError):
            parts.extend(pieces)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ((), "cut"),
        ((b"0\r\n\r\n",), "cut"),
        ((chunk(b"data: <html>\n\n"),), "garbage"),
        ((b"xyz\r\n",), "cut"),
        ((chunk(WORDS[:20]),), "cut"),
    ],
    ids=["closed", "ended", "no-event", "no-chunk", "half"],
)
def test_a_stream_that_breaks_is_told_and_has_no_end(tmp_path, rest, expected):
    act = say(HEAD, chunk(START), chunk(WORDS), *rest)
    with raw(act) as server, house(tmp_path, server.url) as found:
        text = cut_in_the_middle(found)

        ((_, _), (ended, recorded)) = found.journal.records
        assert text.startswith(START + WORDS + b"event: error\n")
        assert text == recorded
        assert (State.FAILED, expected, 1) == (ended.state, ended.failure, ended.tries)
        assert (11, 30) == (ended.usage.input, ended.usage.output)


@pytest.mark.parametrize(
    ("kind", "path", "begin", "error"),
    [
        ("openai", "/v1/chat/completions", CHAT, b'data: {"error":'),
        (
            "openai",
            "/v1/responses",
            event({"type": "response.created"}),
            b"event: response.failed\n",
        ),
    ],
)
def test_a_break_is_told_in_the_form_of_the_api(tmp_path, kind, path, begin, error):
    act = say(HEAD, chunk(begin))
    with raw(act) as server, house(tmp_path, server.url, kind=kind) as found:
        text = cut_in_the_middle(found, path)

        assert text.startswith(begin + error)
        assert b"broke off" in text


def test_an_error_within_a_stream_passes_once_and_is_named(tmp_path):
    inner = {"type": "overloaded_error", "message": "Overloaded"}
    error = event({"type": "error", "error": inner}, "error")
    act = say(HEAD, chunk(START), chunk(error))
    with raw(act) as server, house(tmp_path, server.url) as found:
        text = cut_in_the_middle(found)

        (ended,) = found.journal.ends
        assert START + error == text
        assert "overloaded" == ended.failure


def test_an_error_as_the_first_event_is_tried_again(tmp_path):
    inner = {"type": "overloaded_error", "message": "Overloaded"}
    error = event({"type": "error", "error": inner}, "error")
    with (
        raw(streamed(error), streamed(START, STOP)) as server,
        house(tmp_path, server.url) as found,
    ):
        got = found.messages(stream=True)

        assert START + STOP == got.content
        assert 2 == found.journal.ends[0].tries


@pytest.mark.parametrize(
    "parts",
    [(), (b"HTTP/1.1 200 OK\r\n",), (HEAD,), (HEAD, chunk(b": ping\n\n"))],
    ids=["nothing", "head", "no-event", "ping"],
)
def test_a_provider_that_falls_silent_before_its_answer_is_hung(tmp_path, parts):
    act, left = stuck(*parts)
    with raw(act) as server, house(tmp_path, server.url, patience=1) as found:
        got = found.messages(stream=True)

        (ended,) = found.journal.ends
        assert 400 == got.status_code
        assert (State.FAILED, "hung", 1) == (ended.state, ended.failure, ended.tries)
        assert "said nothing for 1 seconds" in ended.reason
        assert ended.usage.input > 0
        assert left.wait(30)


def test_a_provider_that_falls_silent_in_the_middle_is_hung(tmp_path):
    act, left = stuck(HEAD, chunk(START))
    with raw(act) as server, house(tmp_path, server.url, patience=1) as found:
        text = cut_in_the_middle(found)

        assert b"event: error\n" in text
        assert "hung" == found.journal.ends[0].failure
        assert left.wait(30)


def test_a_provider_that_keeps_the_connection_after_the_end_delays_nobody(tmp_path):
    act, _ = stuck(HEAD, chunk(START), chunk(STOP))
    with raw(act) as server, house(tmp_path, server.url, patience=60) as found:
        assert START + STOP == found.messages(stream=True).content
        assert "done" == found.journal.ends[0].state


def test_a_missing_blank_line_at_the_very_end_is_no_harm(tmp_path):
    with (
        raw(streamed(START, STOP.rstrip(b"\n"))) as server,
        house(tmp_path, server.url) as found,
    ):
        assert START + STOP == found.messages(stream=True).content


def test_an_agent_that_leaves_within_a_stream_ends_the_provider_s(tmp_path):
    act, left = stuck(HEAD, chunk(START), chunk(WORDS))
    with raw(act) as server, house(tmp_path, server.url, patience=60) as found:
        body = messages(stream=True)
        with found.client.stream("POST", "/v1/messages", json=body) as got:
            pieces, text = got.iter_raw(), b""
            while WORDS not in text:
                text += next(pieces)
        (ended,) = found.journal.wait_ends(1)

        assert left.wait(30)
        assert (State.LEFT, "") == (ended.state, ended.failure)
        assert (11, 30) == (ended.usage.input, ended.usage.output)
        assert "" == found.gateway.trouble


def test_nobody_there_is_unreachable(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with house(tmp_path, f"http://127.0.0.1:{port}") as found:
        got = found.messages()

        assert 400 == got.status_code
        assert "cannot be reached" in got.json()["error"]["message"]
        assert ("unreachable", 3) == (
            found.journal.ends[0].failure,
            found.journal.ends[0].tries,
        )


def test_a_redirect_is_not_followed(tmp_path):
    with (
        raw(answer(MESSAGE)) as other,
        raw(answer(b"", "307 Moved", b"location: " + other.url.encode())) as server,
        house(tmp_path, server.url) as found,
    ):
        got = found.messages()

        assert 400 == got.status_code
        assert "invalid" == found.journal.ends[0].failure
        assert [] == other.requests


@pytest.mark.parametrize(
    ("kind", "came", "passed"),
    [
        ("anthropic", "400 Bad", 400),
        ("anthropic", "403 No", 403),
        ("anthropic", "429 Slow", 400),
        ("anthropic", "500 No", 400),
        ("openai", "403 No", 400),
        ("openai", "503 No", 400),
    ],
)
def test_an_error_gets_the_form_of_the_api_and_a_status_that_is_final(
    tmp_path, kind, came, passed
):
    act = answer(b"<html>a proxy says no</html>", came)
    with raw(act) as server, house(tmp_path, server.url, kind=kind) as found:
        got = found.messages() if kind == "anthropic" else found.chat()

        assert passed == got.status_code
        assert came[:3] in got.json()["error"]["message"]
        assert int(came[:3]) == found.journal.ends[0].status


def test_a_final_error_of_the_api_passes_as_it_is(tmp_path):
    inner = {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}
    body = json.dumps({"type": "error", "error": inner}).encode()
    act = answer(body, "400 Bad", b"request-id: r1")
    with raw(act) as server, house(tmp_path, server.url) as found:
        got = found.messages()

        assert (400, body) == (got.status_code, got.content)
        assert "overflow" == found.journal.ends[0].failure


def test_an_empty_account_is_no_reason_to_try_again_for_anybody(tmp_path):
    body = {"error": {"code": "insufficient_quota", "message": "You exceeded"}}
    act = answer(json.dumps(body).encode(), "429 Too Many Requests")
    with raw(act) as server, house(tmp_path, server.url, kind="openai") as found:
        got = found.chat()

        (ended,) = found.journal.ends
        assert ("funds", 1, 429) == (ended.failure, ended.tries, ended.status)
        assert (400, "funds") == (got.status_code, got.json()["error"]["code"])


@pytest.mark.parametrize("address", ["http://", "http://[::1", "http://a b/", "x://y"])
def test_an_address_that_is_none_is_a_named_failure(tmp_path, address):
    with house(tmp_path, address) as found:
        assert found.messages().status_code >= 400
        assert State.FAILED == found.journal.ends[0].state


def test_connections_to_a_provider_are_kept(tmp_path):
    accepted = []

    def twice(client):
        accepted.append(client)
        for _ in range(2):
            say(HEAD, chunk(START), chunk(STOP), b"0\r\n\r\n")(client)
            if len(accepted) == 1:
                client.recv(65536)

    with raw(twice) as server, house(tmp_path, server.url) as found:
        for _ in range(2):
            assert START + STOP == found.messages(stream=True).content

        assert 1 == len(accepted)


def test_what_a_provider_says_of_a_failure_moves_no_cursor_and_hides_nothing(tmp_path):
    evil = json.dumps({"error": {"message": "a \x1b]0;x\x07 \u202e b"}}).encode()
    refusal = answer(evil, "400 Bad Request")
    with raw(refusal) as server, house(tmp_path, server.url) as found:
        found.messages()

        (ended,) = found.journal.ends
        assert r"400): a \x1b]0;x\x07 \u202e b." in ended.reason
        assert all(each.isprintable() for each in (ended.reason, *found.lines))
