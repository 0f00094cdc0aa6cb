import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from gitagent.errors import Busy, UserError
from gitagent.host import socket as endpoint
from gitagent.host.socket import Listener, ask

ROOT = Path(endpoint.__file__).parents[2]


def echo(message):
    return {"said": message}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gitagent" / "socket"


@pytest.fixture
def listener(path):
    each = Listener(path, echo)
    each.start()
    yield each
    each.stop()


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(path))
    client.settimeout(30)
    return client


@pytest.mark.usefixtures("listener")
def test_a_request_is_answered(path):
    assert ask(path, {"a": [1, "ü"]}) == {"said": {"a": [1, "ü"]}}


@pytest.mark.usefixtures("listener")
def test_the_socket_belongs_to_its_user_alone(path):
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["socket"]


def test_more_ask_at_once_than_can_queue(path, monkeypatch):
    monkeypatch.setattr(endpoint, "_QUEUE", 1)
    each = Listener(path, echo)
    each.start()
    answers = []

    def one(number):
        answers.append(ask(path, {"n": number}, timeout=30)["said"]["n"])

    threads = [threading.Thread(target=one, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    each.stop()

    assert sorted(answers) == list(range(40))


@pytest.mark.usefixtures("listener")
def test_who_says_nothing_keeps_nobody_waiting(path):
    with connect(path):
        assert ask(path, {}) == {"said": {}}


def test_without_a_daemon_nobody_listens(path):
    assert ask(path, {}) is None
    path.parent.mkdir()
    assert ask(path, {}) is None


def test_a_stopped_listener_leaves_no_socket(path, listener):
    listener.stop()
    listener.stop()

    assert not path.exists()
    assert ask(path, {}) is None


def leave_behind(path):
    """Leave the socket of a daemon that was killed."""
    path.parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


def test_a_socket_that_nobody_answers_is_replaced(path):
    leave_behind(path)

    assert ask(path, {}) is None
    each = Listener(path, echo)
    each.start()
    assert ask(path, {}) == {"said": {}}
    each.stop()


@pytest.mark.usefixtures("listener")
def test_a_socket_that_somebody_answers_is_left_alone(path):
    with pytest.raises(Busy):
        Listener(path, echo).start()

    assert ask(path, {}) == {"said": {}}


def test_a_stop_leaves_the_socket_of_a_successor(path, listener):
    path.unlink()
    second = Listener(path, lambda _: {"second": True})
    second.start()
    listener.stop()

    assert ask(path, {}) == {"second": True}
    second.stop()


def test_a_folder_that_cannot_be_made_is_an_error_for_people(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(UserError):
        Listener(tmp_path / "file" / "socket", echo).start()


def test_a_path_of_any_length_works(tmp_path):
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    each = Listener(deep / "socket", echo)
    each.start()

    assert ask(deep / "socket", {}) == {"said": {}}
    each.stop()


@pytest.mark.usefixtures("listener")
@pytest.mark.parametrize("sent", [b"{\n", b"[]\n", b"\xff\n", b"[" * 50000 + b"\n"])
def test_what_is_no_object_is_answered_with_an_error(path, sent):
    with connect(path) as client:
        client.sendall(sent)
        answer = json.loads(client.makefile("rb").readline())

    assert list(answer) == ["error"]


@pytest.mark.usefixtures("listener")
def test_a_request_over_the_limit_is_not_read(path):
    with connect(path) as client:
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            client.sendall(b'"' + b"x" * (4 << 20))

        with pytest.raises(Busy):
            ask(path, {"x": "x" * (1 << 20)})
    assert ask(path, {}) == {"said": {}}


def test_an_error_of_the_daemon_is_told_to_who_asked(path):
    def broken(_):
        raise KeyError("x")

    each = Listener(path, broken)
    each.start()

    assert "KeyError" in ask(path, {})["error"]
    each.stop()


def test_a_daemon_that_does_not_answer_is_busy(path):
    release = threading.Event()
    each = Listener(path, lambda _: {"late": release.wait(60)})
    each.start()

    with pytest.raises(Busy):
        ask(path, {}, timeout=0.05)
    release.set()
    each.stop()


def test_a_slow_request_is_given_up(path, monkeypatch):
    monkeypatch.setattr(endpoint, "_READ_S", 0.05)
    each = Listener(path, echo)
    each.start()
    with connect(path) as client:
        client.sendall(b"{")

        assert client.recv(1) == b""
    each.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="root can become somebody else")
def test_another_user_gets_no_answer():
    """Even with a mode that would let him in."""
    tool = shutil.which("setpriv")
    if tool is None:
        pytest.skip("needs setpriv")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    asked = []
    each = Listener(folder / "socket", lambda message: asked.append(message) or {})
    each.start()
    (folder / "socket").chmod(0o666)
    code = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "s.settimeout(30); s.sendall(b'{}\\n'); print(s.recv(9))"
    )
    other = [tool, "--reuid", "65534", "--clear-groups", "/usr/bin/python3"]
    done = subprocess.run(
        [*other, "-c", code, str(folder / "socket")],
        capture_output=True,
        text=True,
        check=False,
    )
    each.stop()
    shutil.rmtree(folder)
    if "No such file" in done.stderr:
        pytest.skip(done.stderr)

    assert not asked
    assert "{" not in done.stdout


def test_a_killed_daemons_socket_is_replaced_by_the_next(path):
    code = (
        "import sys; from pathlib import Path\n"
        "from gitagent.host.socket import Listener\n"
        "Listener(Path(sys.argv[1]), lambda _: {'pid': 1}).start()\n"
        "print('on', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as daemon:
        daemon.stdout.readline()
        assert ask(path, {}) == {"pid": 1}
        daemon.kill()
        daemon.wait()

    assert ask(path, {}) is None
    each = Listener(path, echo)
    each.start()
    assert ask(path, {}) == {"said": {}}
    each.stop()
