"""A planted key is looked for in everything that comes out."""

import json
from urllib.parse import urlsplit

import pytest

from gitagent.core import failure
from gitagent.core.settings import Provider
from gitagent.errors import UserError
from gitagent.model.credentials import Credentials
from tests.model.house import KEY, MODEL, Memory, connect, house, messages
from tests.model.raw import HEAD, answer, chunk, raw, say

SECRET = KEY.encode()


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(failure, "FIRST_S", 0.01)
    monkeypatch.setattr(failure, "TRIES", 2)


def event(value):
    return f"data: {json.dumps(value)}\n\n".encode()


START = event({"type": "message_start", "message": {"id": KEY}})
WORDS = event({"type": "content_block_delta", "delta": {"text": f"a{KEY}b"}})
STOP = event({"type": "message_stop", "x": KEY})
ERROR = event({"type": "error", "error": {"type": "api_error", "message": KEY}})
WHOLE = json.dumps({"type": "message", "content": [{"text": KEY}]}).encode()
REFUSAL = json.dumps(
    {"type": "error", "error": {"type": "authentication_error", "message": KEY}}
).encode()


def bytewise(data):
    return [data[place : place + 1] for place in range(len(data))]


def telling(status):
    more = (b"request-id: " + SECRET, b"retry-after: " + SECRET, b"x-key: " + SECRET)
    return answer(REFUSAL if status[0] != "2" else WHOLE, status, *more)


ACTS = {
    "whole": telling("200 OK"),
    "401": telling("401 No"),
    "429": telling("429 Slow"),
    "500": telling("500 Broken"),
    "html": answer(b"<html>" + SECRET, "502 Bad"),
    "nonsense": say(SECRET + b"\r\n\r\n"),
    "reason": say(b"HTTP/1.1 403 " + SECRET + b"\r\ncontent-length: 0\r\n\r\n"),
    "stream": say(
        HEAD,
        *(chunk(each) for each in bytewise(START + WORDS + STOP)),
        b"0\r\n\r\n",
    ),
    "cut": say(HEAD, chunk(START + WORDS)),
    "error": say(HEAD, chunk(START + ERROR)),
    "error first": say(HEAD, chunk(ERROR)),
    "comment": say(HEAD, chunk(b": " + SECRET + b"\n\n" + START + STOP), b"0\r\n\r\n"),
    "redirect": answer(b"", "302 Found", b"location: /" + SECRET),
}


SHOWN = {
    ("whole", "anthropic", False),
    ("401", "anthropic", True),
    ("500", "openai", False),
    ("stream", "anthropic", True),
    ("cut", "anthropic", True),
    ("error", "anthropic", True),
    ("error first", "anthropic", True),
    ("comment", "anthropic", True),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["anthropic", "openai"])
@pytest.mark.parametrize("act", ACTS)
def test_a_provider_that_says_the_key_is_not_passed_on(
    tmp_path, act, kind, stream, capfd, caplog
):
    out = bytearray()
    with raw(ACTS[act]) as server, house(tmp_path, server.url, kind=kind) as found:
        path = "/v1/messages" if kind == "anthropic" else "/v1/chat/completions"
        with connect(found.path) as client:
            try:
                body = messages(stream=stream)
                with client.stream("POST", path, json=body) as got:
                    out += str(got.headers).encode()
                    for each in got.iter_raw():
                        out += each
            except Exception as error:  # noqa: BLE001 - whatever it says counts
                out += repr(error).encode()
        for more in ("/v1/models", "/gitagent/status", "/"):
            got = found.client.get(more)
            out += str(got.headers).encode() + got.content

        assert any(SECRET in each for each in server.requests)
        if (act, kind, stream) in SHOWN:
            assert b"[key]" in out
        assert SECRET not in out
        assert SECRET not in repr(found.journal.records).encode()
        assert KEY not in "\n".join(found.lines)
        assert KEY not in found.gateway.trouble
        assert KEY not in str(found.breaker.holds())
        assert KEY not in repr(found.ledger.__dict__)
    said = capfd.readouterr()
    assert KEY not in said.out + said.err + caplog.text


def test_a_key_in_a_request_is_not_sent_nor_recorded(tmp_path):
    with raw(answer(b'{"type": "message"}')) as server:
        with house(tmp_path, server.url) as found:
            found.messages()
            found.messages(system=f"the key is {KEY}")

            assert KEY not in repr(found.journal.records)
        assert SECRET not in server.requests[-1].partition(b"\r\n\r\n")[2]


def test_a_record_that_fails_with_the_key_in_its_words_is_told_without(tmp_path):
    class Telling(Memory):
        def ended(self, *_):
            raise UserError(f"cannot write {KEY}")

    with (
        raw(answer(b'{"type": "message"}')) as server,
        house(tmp_path, server.url, journal=Telling()) as found,
    ):
        got = found.messages()

        assert KEY not in got.text
        assert KEY not in "".join(found.lines)


def test_a_proxy_s_password_is_told_nobody(tmp_path, monkeypatch):
    for proxy in (
        "socks5://user:hunter2@127.0.0.1:9",
        "http://user:hunter2@127.0.0.1:9",
    ):
        monkeypatch.setenv("https_proxy", proxy)
        provider = "https://models.example.org"
        with house(tmp_path, provider) as found:
            got = found.messages()

            assert 400 == got.status_code
            assert "hunter2" not in got.text + "".join(found.lines)
            assert "unreachable" == found.journal.ends[0].failure


def test_a_proxy_that_refuses_is_named_as_the_reason(tmp_path, monkeypatch):
    refusing = say(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
    with raw(refusing) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        with house(tmp_path, "https://models.example.org") as found:
            got = found.messages()

            assert "407 Proxy Authentication" in got.json()["error"]["message"]
            assert "unreachable" == found.journal.ends[0].failure
        assert not any(SECRET in each for each in proxy.requests)


def test_a_key_goes_nowhere_but_to_its_provider(tmp_path, monkeypatch):
    with raw(answer(WHOLE)) as proxy, raw(answer(WHOLE)) as server:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        with house(tmp_path, server.url) as found:
            assert 200 == found.messages().status_code
        with house(tmp_path, "http://models.example.org") as found:
            got = found.messages()

            assert 400 == got.status_code
            assert "unencrypted" in got.json()["error"]["message"]
        assert [] == proxy.requests


def test_a_netrc_file_is_not_read(tmp_path, home):
    with raw(answer(WHOLE)) as server:
        host = urlsplit(server.url).hostname
        (home / ".netrc").write_text(f"machine {host} login a password b\n")
        with house(tmp_path, server.url) as found:
            found.messages()

        assert b"authorization" not in server.requests[0].lower()


def test_credentials_do_not_show_what_they_hold():
    known = Credentials({"K": KEY})
    known.key("one", Provider(key_env="K"))

    assert KEY not in repr(known)
    assert MODEL
