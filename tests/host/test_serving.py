"""A socket that is served by a thread for each connection, within bounds."""

import socket
import threading
from contextlib import contextmanager

import pytest

from gitagent.host.serving import Bounds, Server
from gitagent.host.socket import address

BOUNDS = Bounds(connections=2, turn=0.05, write=0.2, end=5)


@contextmanager
def serving(path, serve):
    server = Server(path, serve, BOUNDS, b"full")
    server.start()
    try:
        yield server
    finally:
        server.stop()


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    with address(path) as there:
        client.connect(there)
    return client


def echo(peer):
    while data := peer.receive(30):
        peer.send(data)


def test_each_connection_is_served_by_itself(tmp_path):
    with (
        serving(tmp_path / "s", echo),
        connect(tmp_path / "s") as one,
        connect(tmp_path / "s") as two,
    ):
        two.sendall(b"two")
        one.sendall(b"one")

        assert (b"one", b"two") == (one.recv(10), two.recv(10))


def test_the_socket_belongs_to_one_user(tmp_path):
    with serving(tmp_path / "s", echo):
        assert 0o600 == (tmp_path / "s").stat().st_mode & 0o777


def test_one_too_many_is_told_so(tmp_path):
    with (
        serving(tmp_path / "s", echo),
        connect(tmp_path / "s"),
        connect(tmp_path / "s"),
        connect(tmp_path / "s") as three,
    ):
        assert b"full" == three.recv(10)
        assert b"" == three.recv(10)


def test_a_stop_cuts_connections_and_waits_for_their_threads(tmp_path):
    ended = threading.Event()
    begun = threading.Event()

    def serve(peer):
        begun.set()
        try:
            peer.receive(60)
        finally:
            ended.set()

    with serving(tmp_path / "s", serve) as server, connect(tmp_path / "s") as client:
        assert begun.wait(30)
        server.stop()

        assert ended.is_set()
        assert b"" == client.recv(10)
        assert not (tmp_path / "s").exists()


def test_a_peer_that_takes_nothing_is_dropped(tmp_path):
    caught = []
    ended = threading.Event()

    def serve(peer):
        try:
            peer.send(b"x" * 10**8)
        except TimeoutError as error:
            caught.append(error)
            raise
        finally:
            ended.set()

    with serving(tmp_path / "s", serve), connect(tmp_path / "s"):
        assert ended.wait(30)

    assert 1 == len(caught)


def test_a_peer_that_left_is_seen(tmp_path):
    seen = threading.Event()
    here: list[bool] = []

    def serve(peer):
        here.append(peer.gone())
        peer.send(b"here")
        while not peer.gone():
            peer.receive(30)
        seen.set()

    with serving(tmp_path / "s", serve):
        with connect(tmp_path / "s") as client:
            assert b"here" == client.recv(10)
        assert seen.wait(30)

    assert [False] == here


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        Server(tmp_path / "none" / "s", echo, BOUNDS, b"").start()
