"""The way to the daemon's memory: it answers, refuses, or is away, and never raises."""

import contextlib
import socket
import threading
from contextlib import contextmanager

import pytest

from gitagent.worker import door
from tests.model.house import TOKEN, house

OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"


def answering(op, given):
    return {"error": "No."} if op == "none" else {"op": op, **given}


def test_what_is_asked_through_a_socket_is_answered(tmp_path):
    with house(tmp_path, asked=answering):
        line = door.Unix(str(tmp_path / "s"), 10)
        found = door.ask(line, TOKEN, "show", {"slug": "\ud800x"})
        refused = door.ask(door.Unix(str(tmp_path / "s"), 10), TOKEN, "none", {})

    assert {"op": "show", "slug": "\\ud800x"} == found | {"slug": "\\ud800x"}
    assert {"error": "No."} == refused


def test_where_there_is_no_memory_nobody_need_be_asked_again(tmp_path):
    with house(tmp_path):
        found = door.ask(door.Unix(str(tmp_path / "s"), 10), TOKEN, "show", {})
        wrong = door.ask(door.Unix(str(tmp_path / "s"), 10), "x", "show", {})

    assert found[door.NONE]
    assert not wrong[door.NONE]


def test_a_door_that_is_not_there_is_away(tmp_path):
    found = door.ask(door.Unix(str(tmp_path / "s"), 1), TOKEN, "show", {})

    assert {"away": "The memory is away (No such file or directory)."} == found


@contextmanager
def saying(data):
    """Serve one connection that is told this, whatever it asks, and stays open."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            client, _ = server.accept()
            client.recv(1 << 16)
            with contextlib.suppress(OSError):
                client.sendall(data)
                # Until the other side has had enough of it.
                while client.recv(1 << 16):
                    pass
            client.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/gitagent/status"
        thread.join()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (OK % (4, b"null"), "something else"),
        (OK % (1, b"{"), "something else"),
        (b"nonsense\r\n\r\n", "something else"),
        (OK % (2_000_000, b" " * 2_000_000), "too much"),
        (b"", "away (timed out)"),
        (OK % (9, b"{"), "away (timed out)"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}", "not to be had"),
    ],
)
def test_whatever_goes_wrong_is_a_value(data, said):
    with saying(data) as url:
        found = door.ask(door.beside(url, 0.2), TOKEN, "show", {})

    assert said in found[door.AWAY]


def test_an_address_that_is_none_is_told():
    with pytest.raises(ValueError, match="Port"):
        door.beside("http://127.0.0.1:x/", 1)
