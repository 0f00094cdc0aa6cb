"""Real children of /bin/sh and Python; every wait is on an event or a process."""

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from gitagent.host import process
from gitagent.host.process import Cancel, run, start_detached

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def sh(script, **more):
    return run(
        ["/bin/sh", "-c", script], **{"cwd": "/", "env": ENV, "timeout": 20} | more
    )


def descriptors():
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def gone(pid, limit=10.0):
    """Wait until the process is dead; a zombie counts."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = process.ticks(pid)
        if found is None or not process.alive(pid, found):
            return True
        os.sched_yield()
    return False


def test_output_and_errors_come_back_apart():
    done = sh("echo out; echo err >&2; exit 3")

    assert (3, b"out\n", b"err\n", True) == (
        done.code,
        done.output,
        done.stderr,
        done.started,
    )


def test_errors_are_merged_into_the_output_when_asked():
    done = sh("echo out; echo err >&2", merge_stderr=True)

    assert (b"out\nerr\n", b"") == (done.output, done.stderr)


def test_input_larger_than_a_pipe_goes_in_while_output_comes_out():
    data = os.urandom(1 << 20)

    assert data == sh("cat", stdin=data).output


def test_input_that_nobody_reads_is_no_error():
    assert sh("exec <&-; exit 4", stdin=bytes(1 << 20)).code == 4


def test_input_is_empty_and_there_is_no_terminal():
    done = sh("cat; if (: </dev/tty) 2>/dev/null; then echo tty; fi")

    assert (0, b"") == (done.code, done.output)


def test_the_environment_is_what_was_given():
    assert (
        run(["/usr/bin/env"], cwd=None, env={"A": "1"}, timeout=20).output == b"A=1\n"
    )


def test_output_over_the_limit_keeps_its_first_bytes_and_its_end():
    seen = []
    done = sh("head -c 200000 /dev/zero; echo end", keep=10, on_output=seen.append)

    assert bytes(10) == done.output
    assert 200_004 - 10 == done.dropped
    assert process.TAIL == len(done.tail)
    assert done.tail.endswith(b"\0end\n")
    assert sum(map(len, seen)) == 200_004


def test_of_errors_the_end_is_kept():
    done = sh("head -c 200000 /dev/zero >&2; echo end >&2")

    assert process.STDERR == len(done.stderr)
    assert done.stderr.endswith(b"\0end\n")


def test_a_missing_command_is_code_127(tmp_path):
    done = run([str(tmp_path / "none")], cwd=None, env=ENV, timeout=20)

    assert (127, False) == (done.code, done.started)
    assert done.stderr


@pytest.mark.parametrize("argv", [["/etc"], ["a\0b"], ["/bin/true", "x" * (1 << 20)]])
def test_a_command_that_cannot_run_is_code_126(argv):
    done = run(argv, cwd=None, env=ENV, timeout=20)

    assert (126, False) == (done.code, done.started)


def test_death_by_a_signal_of_others_is_128_and_its_number():
    assert 128 + signal.SIGUSR1 == sh("kill -USR1 $$").code


def test_a_time_limit_ends_a_child_that_ignores_the_request(monkeypatch):
    monkeypatch.setattr(process, "GRACE_S", 0.1)
    pids = []
    done = sh(
        "trap '' TERM; echo begun; while :; do read x; done <&1",
        timeout=0.2,
        on_start=pids.append,
    )

    assert (None, True, False) == (done.code, done.timed_out, done.cancelled)
    assert done.output == b"begun\n"
    assert gone(pids[0])


def test_a_child_may_tidy_up_when_its_time_is_over():
    done = sh("trap 'echo tidy; exit 0' TERM; echo on; sleep 60 & wait", timeout=0.3)

    assert (None, True) == (done.code, done.timed_out)
    assert done.output == b"on\ntidy\n"


def test_cancelling_wakes_the_run_at_once():
    cancel = Cancel()
    done = sh("echo on; sleep 60", cancel=cancel, on_output=lambda _: cancel.set())

    assert (None, False, True) == (done.code, done.timed_out, done.cancelled)
    assert done.seconds < 10


def test_one_cancel_ends_many_runs():
    cancel = Cancel()
    begun = threading.Barrier(4)
    codes = []

    def one():
        done = sh("sleep 60", cancel=cancel, on_start=lambda _: begun.wait())
        codes.append((done.code, done.cancelled))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait()
    cancel.set()
    for thread in threads:
        thread.join()

    assert [(None, True)] * 3 == codes


def test_a_run_cancelled_before_it_starts_starts_nothing(tmp_path):
    cancel = Cancel()
    cancel.set()
    done = sh(f"touch {tmp_path}/x", cancel=cancel)

    assert done.cancelled
    assert not list(tmp_path.iterdir())


def test_a_background_child_that_holds_the_pipe_is_not_waited_for():
    """A check leaves a background child holding the pipe."""
    done = sh("sleep 60 & echo $!; exit 5")

    assert (5, False) == (done.code, done.timed_out)
    assert done.seconds < 20
    assert gone(int(done.output))


def test_a_child_in_its_own_session_with_the_pipe_is_not_waited_for():
    code = (
        "import os\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    os.write(1, b'%d\\n' % os.getpid())\n"
        "    os.write(write, b'1')\n"
        "    while True: os.write(1, b'x')\n"
        "os.read(read, 1)\n"
        "os._exit(6)\n"
    )
    pid = []

    def note(data):
        if not pid:
            pid.append(int(data.split(b"\n")[0]))

    done = run(
        [sys.executable, "-I", "-c", code], cwd="/", env=ENV, timeout=20, on_output=note
    )

    assert (6, False) == (done.code, done.timed_out)
    os.kill(pid[0], signal.SIGKILL)


def test_an_error_in_a_callback_ends_the_child_and_goes_on():
    pids = []

    def broken(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        sh("echo x; sleep 60", on_start=pids.append, on_output=broken)

    assert gone(pids[0])


def test_an_error_in_a_callback_ends_what_a_dead_child_left():
    pids = []

    def broken(data):
        pids.append(int(data))
        with contextlib.suppress(ChildProcessError):  # reaped before its last words
            os.waitid(os.P_PID, started[0], os.WEXITED | os.WNOWAIT)
        raise RuntimeError

    started = []
    with pytest.raises(RuntimeError):
        sh("sleep 60 & echo $!", on_start=started.append, on_output=broken)

    assert gone(pids[0])


def test_no_descriptor_is_left_behind_or_inherited():
    read, write = os.pipe()
    os.set_inheritable(write, True)
    before = descriptors()
    done = sh("ls /proc/self/fd")
    after = descriptors()
    os.close(read)
    os.close(write)

    assert before == after
    # Beside the three, ls has the directory that it lists.
    assert done.output.split() == [b"0", b"1", b"2", b"3"]


def test_descriptors_are_passed_on_by_number():
    read, write = os.pipe()
    os.write(write, b"hello")
    os.close(write)
    done = sh(f"cat /proc/self/fd/{read}", pass_fds=[read])
    os.close(read)

    assert done.output == b"hello"


def test_a_detached_process_outlives_its_starter_and_writes_to_its_log(tmp_path):
    log = tmp_path / "log"
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gitagent.host.process import start_detached\n"
        "print(start_detached(['/bin/sh', '-c', 'echo on; sleep 60'],"
        " env={}, cwd=Path('/'), log=Path(sys.argv[1])))\n"
    )
    root = Path(process.__file__).parents[2]
    starter = run([sys.executable, "-c", code, str(log)], cwd=root, env=ENV, timeout=60)
    pid = int(starter.output)
    ticks = process.ticks(pid)
    while not log.read_bytes():
        os.sched_yield()

    assert ticks is not None
    assert process.alive(pid, ticks)
    assert log.read_bytes() == b"on\n"
    process.kill_tree(pid, ticks)
    assert gone(pid)


def test_a_detached_process_is_no_leak_to_its_starter(tmp_path):
    pid = start_detached(["/bin/true"], env={}, cwd=tmp_path, log=tmp_path / "log")

    assert gone(pid)
    os.waitpid(pid, 0)
