import os
import subprocess
import sys
import uuid

from gitagent.host import kin


def spawn(script, **more):
    child = subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, stdin=subprocess.PIPE, **more
    )
    return child, [int(word) for word in child.stdout.readline().split()]


def close(child):
    child.communicate()


def test_a_process_is_told_by_its_start_time():
    ticks = kin.ticks(os.getpid())

    assert ticks is not None
    assert kin.alive(os.getpid(), ticks)
    assert not kin.alive(os.getpid(), ticks + 1)


def test_no_process_has_no_start_time():
    child = subprocess.Popen(["/bin/true"])
    child.wait()

    assert kin.ticks(child.pid) is None
    assert not kin.alive(child.pid, 1)


def test_a_zombie_is_not_alive():
    child = subprocess.Popen(["/bin/true"])
    ticks = kin.ticks(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not kin.alive(child.pid, ticks)
    child.wait()


def test_a_name_with_spaces_and_parentheses_is_read(tmp_path):
    odd = tmp_path / "a) Z 1 (b"
    odd.symlink_to(sys.executable)
    code = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [str(odd), "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        found = kin.stat(child.pid)

        assert os.getpid() == found.parent
        assert kin.alive(child.pid, found.ticks)


def test_a_tree_dies_with_children_in_sessions_of_their_own():
    """setsid/double-fork escapes killpg."""
    child, pids = spawn(
        "setsid sleep 60 & a=$!; sh -c 'sleep 61 & wait' & echo $$ $a $!; wait",
        start_new_session=True,
    )
    before = {pid: kin.ticks(pid) for pid in pids}
    kin.kill_tree(child.pid, before[child.pid])

    assert not [pid for pid, ticks in before.items() if kin.alive(pid, ticks)]
    close(child)


def test_an_orphan_of_the_session_dies_with_it():
    child, pids = spawn(
        "sh -c 'sleep 60 >/dev/null & echo $!'; wait; cat", start_new_session=True
    )
    ticks = kin.ticks(pids[0])
    kin.kill_tree(child.pid, kin.ticks(child.pid))

    assert not kin.alive(pids[0], ticks)
    close(child)


def test_another_process_with_the_same_pid_is_left_alone():
    """Stale PID file and PID reuse."""
    child, _ = spawn("echo $$; read x; exit 7")
    kin.kill_tree(child.pid, kin.ticks(child.pid) + 1)
    child.communicate(b"\n")

    assert child.returncode == 7


def test_marked_processes_die_wherever_they_are():
    mark = uuid.uuid4().hex
    child, pids = spawn(
        "setsid sh -c 'sleep 60 & echo $! $$; wait' & read x; exit 7",
        env={"MARK": mark, "PATH": os.environ["PATH"]},
    )
    before = {pid: kin.ticks(pid) for pid in pids}
    killed = kin.kill_marked("MARK", mark)

    assert killed == 3
    assert not [pid for pid, ticks in before.items() if kin.alive(pid, ticks)]
    close(child)


def test_a_longer_mark_is_another_mark():
    mark = uuid.uuid4().hex
    child, _ = spawn("echo; read x; exit 7", env={"MARK": mark + "0"})
    killed = kin.kill_marked("MARK", mark)
    child.communicate(b"\n")

    assert (0, 7) == (killed, child.returncode)
