import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from subprocess import PIPE

import pytest

from gitagent.host.talker import Talker

ENV = {"PATH": "/usr/bin:/bin"}
ROOT = Path(__file__).resolve().parents[2]


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


def test_a_terminal_carries_bytes_as_they_are():
    data = bytes(range(256)) * 2000
    with Talker(["cat"], cwd="/", env=ENV, terminal=True) as talker:
        talker.write(data)

        assert data == talker.read_exactly(len(data))


def test_what_prints_without_flushing_answers_at_a_terminal():
    """Programs that use stdio keep what they print to a pipe; see setvbuf(3)."""
    with Talker(["sed", "s/$/!/"], cwd="/", env=ENV, terminal=True) as talker:
        talker.write(b"one\n")

        assert talker.read_until(b"\n") == b"one!\n"


def test_the_end_of_a_process_at_a_terminal_is_an_end():
    argv = ["sh", "-c", "echo sorry >&2; echo done"]
    with Talker(argv, cwd="/", env=ENV, terminal=True) as talker:
        assert talker.read_until(b"\n") == b"done\n"
        with pytest.raises(EOFError):
            talker.read_exactly(1)

        assert talker.complaint() == "sorry"
        with pytest.raises(EOFError):
            talker.write(b"more\n")


def test_a_process_at_a_terminal_ends_when_it_is_closed():
    talker = Talker(["cat"], cwd="/", env=ENV, terminal=True)
    child = talker._child
    talker.close()

    assert child.returncode is not None


@pytest.mark.parametrize("terminal", [False, True])
def test_what_it_started_ends_with_a_process_that_is_killed(terminal):
    script = (
        "import sys; from gitagent.host.talker import Talker;"
        f"it = Talker(['cat'], cwd='/', env={ENV!r}, terminal={terminal});"
        "print(it._child.pid, flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, stdin=PIPE, stdout=PIPE, cwd=ROOT) as parent:
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    poll = select.poll()
    poll.register(child, select.POLLIN)

    assert poll.poll(10_000)
    os.close(child)


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
