"""Limits of memory and processes, as this machine can keep them.

Whatever multiplies here is bounded by itself, and only its limit is smaller.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitagent.host import cgroup, limits
from gitagent.host.confinement import Confinement
from gitagent.host.engine import LocalEngine

MANY = "i=0; while [ $i -lt 60 ]; do sleep 60 & i=$((i+1)); done; wait"
BIG = "x = bytearray(400 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"


def run(argv, **limits):
    inside = Confinement("/", **limits)
    return LocalEngine().run(argv, inside, timeout=50, merge_stderr=True)


def hog(more="", **limits):
    code = f"{BIG}{more}\nimport time\ntime.sleep(60)"
    return run([sys.executable, "-I", "-c", code], **limits)


def test_a_run_with_too_many_processes_fails_and_says_so():
    done = run(["sh", "-c", MANY], processes=20)

    assert done.code not in (0, None)
    if os.geteuid() == 0 or cgroup.base():
        assert "sandbox.processes = 20" in done.note
        assert f"gitagent: {done.note}" in done.output.decode()


def test_a_run_with_too_much_memory_fails_and_says_so():
    done = hog(memory=100)

    assert (done.code, done.started, done.timed_out) == (137, True, False)
    assert done.note == "It was ended: it used more than sandbox.memory = 100 MiB."
    assert done.output.endswith(b"sandbox.memory = 100 MiB.\n")


def test_memory_counts_for_all_processes_together():
    half = "bytearray(b'x') * (80 << 20)"
    # Eight processes, each below the limit.
    code = f"import os, time\nfor _ in range(3): os.fork()\nx = {half}\ntime.sleep(60)"

    assert run([sys.executable, "-I", "-c", code], memory=300).code == 137


def test_memory_that_processes_share_counts_once():
    code = (
        f"{BIG}import os, time\nfor _ in range(3): os.fork()\ntime.sleep(0.6)\n"
        "os._exit(0)"
    )
    done = run([sys.executable, "-I", "-c", code], memory=900)

    assert (done.code, done.note) == (0, "")


def test_other_runs_go_on():
    ended = []

    def other():
        script = "for i in $(seq 100); do sleep 0.01; done; echo fine"
        ended.append(run(["sh", "-c", script], memory=100, processes=20))

    thread = threading.Thread(target=other)
    thread.start()
    first, second = hog(memory=100), run(["sh", "-c", MANY], processes=20)
    thread.join()

    assert 137 == first.code
    assert second.code != 0
    assert (0, b"fine\n", "") == (ended[0].code, ended[0].output, ended[0].note)


def test_a_run_within_its_limits_hears_nothing_of_them():
    done = run(["sh", "-c", "sleep 0.5; echo fine"], memory=100, processes=20)

    assert (done.code, done.output, done.note) == (0, b"fine\n", "")


def test_the_kernel_ends_a_run_before_the_daemon():
    own = int(Path("/proc/self/oom_score_adj").read_text())
    done = run(["cat", "/proc/self/oom_score_adj"])

    assert int(done.output) > own


def test_the_machine_says_how_it_keeps_limits():
    said = limits.describe()

    assert ("control groups in" in said) is (cgroup.base() is not None)
    assert "\n" not in said


def test_a_kill_by_the_kernel_for_want_of_memory_is_told(monkeypatch):
    monkeypatch.setattr(cgroup, "base", lambda: None)
    kills = iter([3, 4, 5])
    monkeypatch.setattr(limits, "_machine_kills", lambda: next(kills))
    done = run(["sh", "-c", "kill -KILL $$"])

    assert 137 == done.code
    assert "ran out of memory" in done.note


# A group in a folder that stands for the kernel's.


@pytest.fixture
def group(tmp_path):
    path = tmp_path / "group"
    path.mkdir()
    return cgroup.Group(path)


def test_a_group_gets_its_limits(group):
    group.limit(1 << 20, 7)
    group.add(4242)

    assert {each.name: each.read_text() for each in group.path.iterdir()} == {
        "pids.max": "7",
        "memory.max": "1048576",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cgroup.procs": "4242",
    }


def test_what_is_not_limited_is_left_as_it_is(group):
    group.limit(0, 0)

    assert ["memory.oom.group"] == [each.name for each in group.path.iterdir()]


def test_a_groups_events_are_counted(group):
    assert (0, 0) == (group.killed(), group.refused())

    (group.path / "memory.events").write_text("low 0\noom 2\noom_kill 3\n")
    (group.path / "pids.events").write_text("max 5\n")

    assert (3, 5) == (group.killed(), group.refused())


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Two groups, one in the other, this process in the inner one."""
    inner = tmp_path / "session" / "daemon.service"
    inner.mkdir(parents=True)
    for path, inside in ((inner, f"{os.getpid()}\n"), (inner.parent, "1\n2\n")):
        (path / "cgroup.controllers").write_text("cpu memory pids\n")
        (path / "cgroup.subtree_control").write_text("")
        (path / "cgroup.procs").write_text(inside)
    monkeypatch.setattr(cgroup, "_own_and_above", lambda: [inner, inner.parent])
    monkeypatch.setattr(cgroup, "_works", lambda _: True)
    cgroup.base.cache_clear()
    yield inner
    cgroup.base.cache_clear()


def test_a_group_of_our_own_is_made_ready(tree):
    found = cgroup.base()

    assert tree == found
    assert str(os.getpid()) == (tree / "daemon" / "cgroup.procs").read_text()
    assert "+memory +pids" == (tree / "cgroup.subtree_control").read_text()


def test_a_group_with_others_in_it_is_left_alone(tree):
    (tree / "cgroup.procs").write_text(f"1\n{os.getpid()}\n")

    assert cgroup.base() is None
    assert not (tree / "daemon").exists()


def test_a_group_whose_children_are_limited_already_is_used(tree):
    (tree / "cgroup.procs").write_text(f"1\n{os.getpid()}\n")
    (tree.parent / "cgroup.subtree_control").write_text("cpu memory pids\n")

    assert tree.parent == cgroup.base()


def test_a_group_without_the_controllers_is_not_used(tree):
    (tree / "cgroup.controllers").write_text("cpu\n")

    assert cgroup.base() is None


def test_the_end_of_a_group_is_the_end_of_all_in_it(request):
    above = next(iter(cgroup._own_and_above()), None)
    if above is None or not os.access(above, os.W_OK):
        pytest.skip("no control group of version 2 can be made here")
    made = cgroup.Group(above / f"gitagent-test-{os.getpid()}")
    made.path.mkdir()
    request.addfinalizer(made.end)
    line = ["sh", "-c", "setsid sleep 60 & read x; exec sleep 60"]
    child = subprocess.Popen(line, stdin=subprocess.PIPE)
    request.addfinalizer(child.stdin.close)
    made.add(child.pid)
    made.end()

    assert -signal.SIGKILL == child.wait(20)
    assert not made.path.exists()


@pytest.mark.skipif(cgroup.base() is None, reason="no control group is delegated here")
def test_a_group_is_gone_after_its_run():
    above = cgroup.base()
    before = set(above.glob("gitagent-*"))
    run(["sh", "-c", "setsid sleep 60 & exit 0"], memory=100, processes=20)

    assert before == set(above.glob("gitagent-*"))
