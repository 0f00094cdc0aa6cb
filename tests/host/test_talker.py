import os
import threading

import pytest

from gitagent.host.talker import Talker

ENV = {"PATH": "/usr/bin:/bin"}


def test_what_is_asked_is_answered_in_pieces_of_any_size():
    with Talker(["cat"], cwd="/", env=ENV) as talker:
        talker.write(b"one\ntwo\nthree")

        assert talker.read_until(b"\n") == b"one\n"
        assert talker.read_exactly(5) == b"two\nt"
        talker.write(b"\n")
        assert talker.read_until(b"e\n") == b"hree\n"


def test_more_than_a_pipe_holds_goes_both_ways():
    data = os.urandom(1 << 20)
    with Talker(["cat"], cwd="/", env=ENV) as talker:
        talker.write(data)

        assert data == talker.read_exactly(len(data))


def test_silence_is_a_timeout():
    with Talker(["cat"], cwd="/", env=ENV) as talker, pytest.raises(TimeoutError):
        talker.read_exactly(1, timeout=0.05)


def test_an_end_tells_what_the_process_complained_of():
    with Talker(["sh", "-c", "echo sorry >&2"], cwd="/", env=ENV) as talker:
        with pytest.raises(EOFError):
            talker.read_until(b"\n")

        assert talker.complaint() == "sorry"


def test_writing_to_a_process_that_is_gone_is_an_end():
    # More than a pipe holds, so the write waits until the reader is gone.
    with Talker(["true"], cwd="/", env=ENV) as talker, pytest.raises(EOFError):
        talker.write(bytes(1 << 20))


def test_closing_ends_a_process_that_does_not_listen(monkeypatch):
    monkeypatch.setattr("gitagent.host.talker.GRACE_S", 0.05)
    talker = Talker(["sleep", "60"], cwd="/", env=ENV)
    closer = threading.Thread(target=talker.close)
    closer.start()
    closer.join(10)

    assert not closer.is_alive()
    talker.close()


def test_a_command_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setenv("PATH", ENV["PATH"])
    with pytest.raises(FileNotFoundError):
        Talker(["no-such-command-here"], cwd="/", env=ENV)
