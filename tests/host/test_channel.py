"""Objects over a Unix socket, and a peer that does not keep to the rules."""

import json
import socket
import threading
from pathlib import Path

import pytest

from gitagent.host import meeting
from gitagent.host.cancel import Cancel
from gitagent.host.channel import Channel, connect
from gitagent.host.meeting import SOCKET, Meeting


@pytest.fixture
def pair():
    one, two = socket.socketpair()
    with one, two:
        yield Channel(one), two


def test_objects_come_as_they_were_sent_whatever_their_size(pair):
    channel, other = pair
    there = Channel(other.dup())
    sent = [{"a": "x" * 3_000_000}, {"b": ["\u00e9", None]}, {}]
    thread = threading.Thread(target=lambda: [channel.send(each) for each in sent])
    thread.start()
    got = [there.receive(20) for _ in sent]
    thread.join()

    assert sent == got


@pytest.mark.parametrize(
    "line",
    [
        *(b"no json\n", b"[1]\n", b"1\n", b"\xff\n", b"\n", b"{" * 100_000 + b"\n"),
        *(b'{"a": "' + b"x" * 5000, b'{"a": "' + b"x" * 5000 + b'"}\n'),
    ],
)
def test_what_is_no_object_or_too_long_ends_the_channel(pair, line):
    channel, other = pair
    other.sendall(line)
    limit = 4096 if b"x" in line else 1 << 20
    with pytest.raises(ConnectionError):
        channel.receive(20, limit)


def test_the_end_of_the_other_side_and_silence_are_errors(pair):
    channel, other = pair
    with pytest.raises(TimeoutError):
        channel.receive(0)
    other.close()
    with pytest.raises(ConnectionError):
        channel.receive(20)
    with pytest.raises(BrokenPipeError):
        channel.send({"a": "x"})


def test_a_peer_without_the_secret_is_not_met_and_the_socket_goes_with_the_first():
    met = Meeting("t")
    path = Path(met.folder, SOCKET)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(met.meet(20, Cancel())))
    thread.start()
    for said in ({"secret": "x"}, {"secret": 1}, {}, {"secret": "\u00e9"}):
        wrong = connect(path)
        wrong.send(said)
        with pytest.raises(ConnectionError):
            wrong.receive(20)
    right = connect(path)
    right.send({"secret": met.secret})
    thread.join()
    answers[0].send({"hello": 1})

    assert {"hello": 1} == right.receive(20)
    assert not Path(met.folder).exists()


def test_nobody_is_waited_for_after_a_stop_or_too_many_tries(monkeypatch):
    stop = Cancel()
    stop.set()
    assert None is Meeting("t").meet(20, stop)
    assert None is Meeting("t").meet(0, Cancel())

    monkeypatch.setattr(meeting, "_TRIES", 1)
    met = Meeting("t")
    wrong = connect(Path(met.folder, SOCKET))
    wrong.send({"secret": json.dumps(None)})
    assert None is met.meet(20, Cancel())
