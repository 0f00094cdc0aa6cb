"""Nothing that a worker sends raises an error in the daemon, or holds it."""

import socket
import threading
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.host import serving
from gitagent.host.socket import address
from gitagent.model import server
from gitagent.model.gateway import Bounds
from tests.model.house import TOKEN, house
from tests.support.waiting import wait_for

QUICK = Bounds(
    serving.Bounds(connections=4, turn=0.05, write=0.3),
    server.Bounds(idle=0.3, head_time=0.3, body_time=0.3),
)
HEAD = b"POST /v1/messages HTTP/1.1\r\nhost: g\r\nx-api-key: %s\r\n" % TOKEN.encode()

_PIECES = [
    b"POST /v1/messages HTTP/1.1\r\n",
    b"GET /v1/models HTTP/1.1\r\n",
    b"HEAD / HTTP/1.0\r\n",
    b"CONNECT a:1 HTTP/1.1\r\n",
    b"host: g\r\n",
    b"x-api-key: %s\r\n" % TOKEN.encode(),
    b"authorization: Bearer\r\n",
    b"content-length: 5\r\n",
    b"content-length: -1\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: gzip\r\n",
    b"expect: 100-continue\r\n",
    b"upgrade: websocket\r\n",
    b"connection: upgrade\r\n",
    b"\r\n",
    b"\n",
    b"\x00",
    b"{}",
    b'{"model": 1}',
    b"5\r\nhello\r\n",
    b"ffffffffffffffff\r\n",
    b"0\r\n\r\n",
]


@contextmanager
def client(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(30)
        with address(path) as there:
            made.connect(there)
        yield made


def everything(made):
    got = b""
    try:
        while data := made.recv(65536):
            got += data
    except ConnectionError:
        pass
    return got


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with house(tmp_path_factory.mktemp("g")) as found:
        yield found


@settings(max_examples=200)
@given(
    st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=60)), max_size=14)
)
def test_any_bytes_are_answered_or_dropped(gateway, pieces):
    with client(gateway.path) as made:
        try:
            for each in pieces:
                made.sendall(each)
            made.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        got = everything(made)

    assert not got or got.startswith(b"HTTP/1.1 ")
    assert not [each for each in gateway.lines if "bug" in each]
    assert 200 == gateway.client.get("/v1/models").status_code


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (HEAD + b"x: " + b"y" * 200_000 + b"\r\n\r\n", b"431"),
        (HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\n", b"400"),
        (HEAD + b"content-length: 100000000\r\n\r\n" + b"x" * 10, b"408"),
        (HEAD, b"408"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\nxyz\r\n", b"400"),
    ],
)
def test_what_is_not_http_or_comes_too_slowly_is_told_and_dropped(
    tmp_path, sent, status
):
    with house(tmp_path, bounds=QUICK) as found, client(found.path) as made:
        made.sendall(sent)
        got = everything(made)

        assert got.startswith(b"HTTP/1.1 " + status)
        assert b'"type": "error"' in got


def test_who_says_nothing_is_dropped_without_a_word(tmp_path):
    with house(tmp_path, bounds=QUICK) as found, client(found.path) as made:
        assert b"" == everything(made)


def test_who_sends_byte_after_byte_is_dropped_in_time(tmp_path):
    with house(tmp_path, bounds=QUICK) as found, client(found.path) as made:
        count = 0
        try:
            while count < 10**6:
                made.sendall(b"a" if count else b"GET /")
                count += 1
        except OSError:
            pass

        assert count < 10**6


def test_who_does_not_read_is_dropped_in_time(tmp_path):
    with house(tmp_path, bounds=QUICK) as found, client(found.path) as made:
        ask = b"GET /v1/models HTTP/1.1\r\nhost: g\r\nx-api-key: %s\r\n\r\n"
        with pytest.raises(ConnectionError):
            made.sendall(ask % TOKEN.encode() * 10**6)


def test_one_too_many_is_turned_away_and_the_next_is_served(tmp_path):
    long = Bounds(QUICK.sockets, server.Bounds(idle=60))
    with house(tmp_path, bounds=long) as found:
        found.client.close()
        held = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        with address(found.path) as there:
            for each in held:
                each.connect(there)
        with client(found.path) as made:
            assert everything(made).startswith(b"HTTP/1.1 503 ")
        for each in held:
            each.close()
        with client(found.path) as made:
            made.sendall(HEAD + b"content-length: 0\r\nconnection: close\r\n\r\n")
            assert everything(made).startswith(b"HTTP/1.1 400 ")


def test_requests_that_come_together_are_answered_in_turn(tmp_path):
    with house(tmp_path) as found, client(found.path) as made:
        one = (
            b"GET /v1/models HTTP/1.1\r\nhost: g\r\nx-api-key: %s\r\n" % TOKEN.encode()
        )
        made.sendall(one + b"\r\n" + one + b"connection: close\r\n\r\n")

        assert 2 == everything(made).count(b"HTTP/1.1 200")


def test_a_client_that_waits_for_leave_gets_it(tmp_path):
    with house(tmp_path) as found, client(found.path) as made:
        made.sendall(HEAD + b"content-length: 2\r\nexpect: 100-continue\r\n\r\n")
        assert made.recv(100).startswith(b"HTTP/1.1 100 ")
        made.sendall(b"{}")
        assert made.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_stop_is_prompt_with_connections_that_say_nothing(tmp_path):
    before = threading.active_count()
    with house(tmp_path) as found:
        held = [socket.socket(socket.AF_UNIX) for _ in range(8)]
        with address(found.path) as there:
            for each in held:
                each.connect(there)
        found.gateway.stop()
        found.gateway.stop()

        assert before == threading.active_count()
        for each in held:
            assert b"" == everything(each)
            each.close()


def test_a_socket_that_cannot_be_made_is_an_error_of_the_system(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        house(tmp_path / "none").__enter__()


def test_all_requests_under_way_share_one_room(tmp_path):
    """Half a request from many at once would fill the memory of the daemon."""
    bounds = Bounds(http=server.Bounds(bodies=3000))
    head = HEAD + b"content-length: 2500\r\n\r\n"
    with house(tmp_path, bounds=bounds) as found:
        with client(found.path) as first:
            first.sendall(head + b"x" * 2000)
            with client(found.path) as second:
                second.sendall(head)
                wait_for(lambda: found.gateway._room._left == 1000)
                second.sendall(b"x" * 2000)
                full = everything(second)
            first.sendall(b"x" * 500)
            alone = first.recv(65536)
        wait_for(lambda: found.gateway._room._left == 3000)

    assert full.startswith(b"HTTP/1.1 503 ")
    assert b"Too much is sent at once." in full
    assert alone.startswith(b"HTTP/1.1 400 ")
