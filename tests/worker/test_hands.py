"""Calls carried out in a real sandbox, and what happens when it goes down."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import pytest

from gitagent.core.conversation import CallState, Origin
from gitagent.host import kin
from gitagent.host.cancel import Cancel
from gitagent.host.confinement import Bind, Confinement
from gitagent.host.engine import MARK
from gitagent.worker.loop import inner
from gitagent.worker.loop.bodies import Way
from gitagent.worker.loop.hands import ANEW, Hands
from gitagent.worker.loop.pending import MOST
from tests.support.waiting import wait_for, wait_for_file

DONE, FAILED, INTERRUPTED = CallState.DONE, CallState.FAILED, CallState.INTERRUPTED


def inside(tree, **more):
    binds = (Bind(str(tree), "/workspace", writable=True),)
    return Confinement(cwd="/workspace", binds=binds, **more)


def outside(tree):
    return Confinement(cwd=str(tree), mode="off", env=((MARK, uuid.uuid4().hex),))


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture(params=["confined", "off"])
def both(request, tree):
    with hands(inside(tree) if request.param == "confined" else outside(tree)) as made:
        yield made


@pytest.fixture
def confined(tree):
    with hands(inside(tree)) as made:
        yield made


@contextlib.contextmanager
def hands(confinement):
    told = []
    with Hands(confinement, f"t{uuid.uuid4().hex[:8]}", told=told.append) as made:
        made.told = told
        made.start()
        yield made


def call(hands, tool, *, seconds=60, cancel=None, printed=None, nested=None, **given):
    way = Way(seconds, cancel or Cancel(), printed=printed, nested=nested)
    done = hands.execute(tool, given, way)
    return done.whole.decode(errors="replace"), done.state


def token():
    """Make an argument that no other process has."""
    return f"3600.{uuid.uuid4().int % 10**12:012}"


def running(token):
    found = []
    for each in kin.table():
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{each.pid}/cmdline").read_bytes()
            if token.encode() in line and each.state not in "ZX":
                found.append(each.pid)
    return found


def test_files_and_commands_share_the_worktree(both, tree):
    assert DONE == call(both, "write", path="a/b", content="one\n")[1]
    assert ("one\n", DONE) == call(both, "shell", command="cat a/b; cd /")
    assert DONE == call(both, "edit", path="a/b", old="one", new="two")[1]
    assert ("     1\ttwo\n", DONE) == call(both, "read", path="a/b")
    assert "two\n" == (tree / "a/b").read_text()
    assert ("There is no tool fly.\n", FAILED) == call(both, "fly")


def test_what_no_file_can_hold_is_one_failed_call(confined):
    for tool, given in (
        ("read", {"path": "\ud800"}),
        ("write", {"path": "\ud800/x", "content": ""}),
        ("shell", {"command": "echo \ud800"}),
        ("git", {"view": "log \ud800"}),
        ("\ud800", {}),
    ):
        assert FAILED == call(confined, tool, seconds=5, **given)[1]
    text = call(confined, "read", path="\ud800")[0]

    assert "\\ud800 does not exist.\n" == text


def test_nothing_is_written_outside_of_the_worktree(confined):
    assert FAILED == call(confined, "write", path="../x", content="")[1]
    text, state = call(confined, "shell", command="echo x > /usr/x")

    assert FAILED == state
    assert "Read-only file system" in text


def test_a_folder_that_may_not_be_written_gives_one_sentence(tree):
    with hands(Confinement("/workspace", (Bind(str(tree), "/workspace"),))) as made:
        text, state = call(made, "write", path="f", content="x")

    assert FAILED == state
    assert text.endswith("Read-only file system\n")
    assert 1 == text.count("\n")


def test_output_comes_as_it_is_printed_and_keeps_every_byte(both, tree):
    os.mkfifo(tree / "gate")
    seen = bytearray()

    def printed(data):
        seen.extend(data)
        if seen.endswith(b"first\n"):
            (tree / "gate").write_text("go\n")

    way = Way(60, Cancel(), printed=printed)
    command = r"echo first; read x < gate; printf '\377\303\251\0'"
    done = both.execute("shell", {"command": command}, way)

    assert b"first\n\xff\xc3\xa9\0" == done.whole == bytes(seen)
    assert (DONE, Origin.WORKTREE, 0) == (done.state, done.origin, done.dropped)


def test_a_stop_ends_a_command_that_is_deaf_and_keeps_what_it_printed(confined):
    cancel, arg = Cancel(), token()
    command = f"trap '' TERM; echo begun; sleep {arg} & wait; sleep {arg}"
    begun = time.monotonic()
    text, state = call(
        confined,
        "shell",
        command=command,
        cancel=cancel,
        printed=lambda _: cancel.set(),
    )

    assert ("begun\n[stopped]\n", INTERRUPTED) == (text, state)
    assert time.monotonic() - begun < 10
    assert [] == running(arg)
    assert ("[stopped before it began]\n", INTERRUPTED) == call(
        confined, "read", path=".", cancel=cancel
    )


def test_calls_at_once_are_carried_out_at_once(both, tree):
    os.mkfifo(tree / "gate")
    answers = []

    def wait():
        answers.append(call(both, "shell", command="read x < gate; echo $x"))

    thread = threading.Thread(target=wait)
    thread.start()
    assert DONE == call(both, "shell", command="echo go > gate")[1]
    thread.join()

    assert [("go\n", DONE)] == answers


def test_what_runs_in_the_background_lives_until_the_end(both):
    arg = token()
    command = f"(echo late; exec sleep {arg}) & echo $!"
    assert DONE == call(both, "shell", command=command)[1]
    assert DONE == call(both, "shell", command=f"pgrep -f sleep.{arg}")[1]
    both.close()

    assert [] == running(arg)
    text, state = call(both, "read", path=".")
    assert ("[not carried out: the sandbox is ended.]\n", FAILED) == (text, state)


def test_output_beyond_the_bound_is_counted(confined):
    size = MOST + 12345
    done = confined.execute(
        "shell", {"command": f"head -c {size} /dev/zero; exit 7"}, Way(60, Cancel())
    )

    assert size == done.whole.count(0) + done.dropped
    assert done.whole.endswith(b"\n[exit code 7]\n")
    assert len(done.whole) <= MOST


def test_a_sandbox_that_goes_down_is_begun_anew_three_times(confined, tree):
    kill = "echo before; until [ -s seen ]; do :; done; kill -KILL $PPID; sleep 60"
    for at in range(ANEW + 1):
        (tree / "seen").write_text("")
        text, state = call(
            confined,
            "shell",
            command=kill,
            printed=lambda _: (tree / "seen").write_text("x"),
        )
        assert INTERRUPTED == state
        assert "before\n[cut off: the sandbox has ended." in text
        assert (at > 0) == text.startswith("[the sandbox was begun anew.")
    text, state = call(confined, "shell", command="true")

    assert FAILED == state
    assert "went down 4 times" in text
    assert ANEW + 1 == len(confined.told)


def test_a_sandbox_that_cannot_be_begun_is_a_sentence(tree):
    with hands(inside(tree / "gone")) as made:
        texts = {call(made, "read", path=".") for _ in range(ANEW + 2)}

    assert {FAILED} == {state for _, state in texts}
    assert all("not carried out" in text for text, _ in texts)
    assert any("Can't find source path" in text for text, _ in texts)


def test_the_program_inside_cannot_be_read_or_reached_by_a_command(confined):
    script = """
for f in environ mem fd/0 maps; do head -c 1 /proc/$PPID/$f && echo read $f; done
ls /gitagent/hands
"""
    text, _ = call(confined, "shell", command=script + "true")

    assert "read" not in text.replace("cannot open", "").replace("reading", "")
    assert "socket" not in text


# code


def made_of(hands, calls):
    def nested(tool, given):
        calls.append((tool, given))
        return call(hands, tool, **given)[0], call(hands, tool, **given)[1] is DONE

    return nested


def test_code_calls_tools_and_gives_what_it_emits(both, tree):
    (tree / "f").write_text("text\n")
    calls = []
    source = """
text = tools.read(path="f")
try:
    tools.read(path="g")
except ToolError as error:
    emit("no:", str(error).strip())
print(text.upper(), end="")
emit({"n": len(text)})
"""
    assert ('no: g does not exist.\nTEXT\n{\n "n": 5\n}\n', DONE) == call(
        both, "code", source=source, nested=made_of(both, calls)
    )
    assert [("read", {"numbers": False, "path": each}) for each in "fg"] == calls


@pytest.mark.parametrize(
    ("source", "said", "state"),
    [
        ("x = 1", "[nothing was emitted]\n", DONE),
        ("x = (", "SyntaxError: '(' was never closed", FAILED),
        ("def f():\n    1 / 0\nf()", "line 2, in f\n    1 / 0\n", FAILED),
        ("tools.shell(command='false')", "ToolError: [exit code 1]", FAILED),
        ("tools.code(source='1')", "code cannot be called by code", FAILED),
        ("import sys; sys.exit(3)", "[exit code 3]", FAILED),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9", FAILED),
    ],
)
def test_code_that_fails_says_where(confined, source, said, state):
    text, how = call(confined, "code", source=source, nested=made_of(confined, []))

    assert state == how
    assert said in text
    assert "coded.py" not in text


def test_code_gets_all_that_a_call_printed_whatever_it_is(confined):
    source = "text = tools.shell(); emit(str(len(text)) + text.strip(chr(0)))"

    assert (f"{MOST}\n", DONE) == call(
        confined, "code", source=source, nested=lambda *_: ("\0" * MOST, True)
    )


def test_code_ends_at_its_limit_in_the_middle_of_a_call(confined):
    arg = token()
    source = f"emit('begun')\ntools.shell(command='sleep {arg}')"

    def nested(tool, given):
        return call(confined, tool, seconds=1.5, **given)[0], False

    text, state = call(confined, "code", source=source, seconds=1, nested=nested)

    assert ("begun\n[ended: it ran past its time limit of 1 s]\n", INTERRUPTED) == (
        text,
        state,
    )
    assert [] == running(arg)
    assert DONE == call(confined, "read", path=".")[1]


def test_code_calls_only_with_its_token_and_only_so_often(confined, monkeypatch):
    monkeypatch.setattr(inner, "NESTED", 2)
    calls = []
    source = """
for _ in range(3):
    try:
        tools.read(path=".")
    except ToolError as error:
        emit(str(error))
tools._token = "another"
try:
    tools.read(path=".")
except ToolError as error:
    emit(str(error))
"""
    text, state = call(confined, "code", source=source, nested=made_of(confined, calls))

    assert DONE == state
    assert [
        "This code has made 2 calls, and may make no more.",
        "That is no call.",
    ] == text.splitlines()
    assert 2 == len(calls)


def test_code_ends_with_a_call_that_cannot_be_recorded(confined, tree):
    def nested(*_):
        raise ValueError("the record is lost")

    source = "tools.read(path='.')\nopen('f', 'w')"
    with pytest.raises(ValueError, match="lost"):
        call(confined, "code", source=source, nested=nested)
    text = call(confined, "read", path=".")[0]

    assert "A call that code made could not be carried out." in text
    assert not (tree / "f").exists()


# a program inside that is not to be trusted

HOSTILE = """
import json, socket, sys
order = json.loads(sys.stdin.readline())
line = socket.socket(socket.AF_UNIX)
line.connect(order["path"])
def say(**message):
    line.sendall(json.dumps(message).encode() + b"\\n")
say(secret=order["secret"])
call = json.loads(line.makefile().readline())
id, other = call["id"], call["id"] + 1
say(id=id, out="begun\\n")
"""


@pytest.mark.parametrize(
    "script",
    [
        "line.sendall(b'no json\\n')",
        "line.sendall(b'x' * (9 << 20))",
        "for _ in range(200): say(id=id, out='x' * 100_000)",
        "say(id=id, out='')",
        "say(id=id, b64='*')",
        "say(id=id)",
        "for _ in range(3): say(id=id, ask=1, tool='x', given={}, token=call['token'])",
        "for _ in range(10_002): say(id=other, out='x')",
        "for _ in range(10_002): say(id='x', end='done')",
        "sys.exit(0)",
    ],
)
def test_what_may_not_come_ends_the_sandbox_and_interrupts(tree, monkeypatch, script):
    wait = "\nimport time; time.sleep(60)"
    argv = (sys.executable, "-I", "-c", HOSTILE + script + wait)
    monkeypatch.setattr(inner.lines, "hands", lambda: argv)

    def nested(*_):
        wait_for(lambda: made._inner.over)
        return "", True

    with hands(inside(tree)) as made:
        done = made.execute("code", {}, Way(30, Cancel(), nested=nested))

    assert INTERRUPTED == done.state
    assert done.whole.startswith(b"begun\n")
    assert b"[cut off: the sandbox has ended." in done.whole
    assert len(done.whole) < MOST + (1 << 17)


@pytest.mark.parametrize(
    ("script", "whole", "state"),
    [
        ("say(id=id, end='done'); say(id=id, out='x')", "begun\n", DONE),
        ("say(id=id, end='needs_decision')", "begun\n", FAILED),
        ("say(id=id, end=['done'], dropped=-1)", "begun\n", FAILED),
        ("say(id=id, end='done', dropped=1e9)", "begun\n", DONE),
        ("say(id=other, out='x'); say(id=id, end='failed')", "begun\n", FAILED),
        ("say(id=id, out='\\ud800'); say(id=id, end='done')", "begun\n?", DONE),
    ],
)
def test_an_answer_counts_once_and_says_only_what_it_may(
    tree, monkeypatch, script, whole, state
):
    wait = "\nimport time; time.sleep(60)"
    argv = (sys.executable, "-I", "-c", HOSTILE + script + wait)
    monkeypatch.setattr(inner.lines, "hands", lambda: argv)
    with hands(inside(tree)) as made:
        done = made.execute("read", {}, Way(30, Cancel()))

    assert (whole, state, 0) == (done.whole.decode(), done.state, done.dropped)


def test_a_call_that_cannot_be_stopped_is_ended_with_its_sandbox(tree, monkeypatch):
    monkeypatch.setattr(inner, "_STOP_S", 0.2)
    argv = (sys.executable, "-I", "-c", HOSTILE + "import time; time.sleep(60)")
    monkeypatch.setattr(inner.lines, "hands", lambda: argv)
    cancel = Cancel()
    with hands(inside(tree)) as made:
        way = Way(30, cancel, printed=lambda _: cancel.set())
        done = made.execute("read", {}, way)

    assert INTERRUPTED == done.state
    assert b"could not be stopped" in done.whole


# the end of the process that has the hands

PROGRAM = """
import json, sys
from gitagent.host.cancel import Cancel
from gitagent.host.confinement import Bind, Confinement
from gitagent.worker.loop.bodies import Way
from gitagent.worker.loop.hands import Hands

tree, owner, command, mark = sys.argv[1:]
if mark:
    inside = Confinement(tree, mode="off", env=(("GITAGENT_RUN", mark),))
else:
    inside = Confinement("/workspace", (Bind(tree, "/workspace", writable=True),))
with Hands(inside, owner, told=print) as hands:
    hands.execute("shell", {"command": command}, Way(600, Cancel()))
"""


@pytest.mark.parametrize("mark", ["", uuid.uuid4().hex], ids=["confined", "off"])
def test_a_killed_process_takes_its_sandbox_with_it(tree, mark):
    arg, owner = token(), f"t{uuid.uuid4().hex[:8]}"
    command = f"sleep {arg} & setsid sleep {arg} & echo x > begun; sleep {arg}"
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tree), owner, command, mark],
        cwd=Path(inner.__file__).parents[3],
    )
    try:
        wait_for_file(tree / "begun")
        wait_for(lambda: len(running(f"sleep\0{arg}")) == 3)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    wait_for(lambda: not running(arg), what="nothing of it runs")

    assert [] == [*Path(tempfile.gettempdir()).glob(f"gitagent-net-{owner}-*")]
