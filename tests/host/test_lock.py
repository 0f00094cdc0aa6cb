import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitagent.errors import UserError
from gitagent.host import lock
from gitagent.host.lock import DaemonLock, held, holder

ROOT = Path(lock.__file__).parents[2]
HOLD = (
    "import sys; from pathlib import Path\n"
    "from gitagent.host.lock import DaemonLock\n"
    "lock = DaemonLock.acquire(Path(sys.argv[1]))\n"
    "if lock: lock.announce()\n"
    "print('held' if lock else 'busy', flush=True)\n"
    "sys.stdin.read()\n"
)


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock of tmp_path."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as child:
        assert child.stdout.readline() == b"held\n"
        yield child
        child.stdin.close()


def test_the_second_daemon_gets_no_lock(tmp_path, other):
    assert DaemonLock.acquire(tmp_path) is None
    assert held(tmp_path)
    assert holder(tmp_path).pid == other.pid


def test_two_in_one_process_exclude_each_other(tmp_path):
    first = DaemonLock.acquire(tmp_path)

    assert DaemonLock.acquire(tmp_path) is None
    first.release()
    assert not held(tmp_path)


@pytest.mark.usefixtures("other")
def test_a_path_through_a_link_meets_the_same_lock(tmp_path_factory, tmp_path):
    """Two daemons on one repository (clone + linked worktree + symlink path)."""
    link = tmp_path_factory.mktemp("other") / "link"
    link.symlink_to(tmp_path)

    assert DaemonLock.acquire(link) is None


@pytest.mark.usefixtures("other")
def test_removing_the_daemons_folder_frees_nothing(tmp_path):
    shutil.rmtree(tmp_path / "gitagent")

    assert DaemonLock.acquire(tmp_path) is None
    assert holder(tmp_path) is None


def test_a_killed_daemon_frees_the_lock(tmp_path, other):
    other.kill()
    other.wait()
    taken = DaemonLock.acquire(tmp_path)

    assert taken is not None
    assert holder(tmp_path) is None
    taken.release()


def test_the_lock_is_not_passed_on_to_children(tmp_path):
    taken = DaemonLock.acquire(tmp_path)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE):
        taken.release()

        assert not held(tmp_path)


def test_a_release_twice_is_harmless(tmp_path):
    taken = DaemonLock.acquire(tmp_path)
    taken.announce()
    taken.release()
    taken.release()

    assert holder(tmp_path) is None


@pytest.mark.parametrize("data", ["", "[]", "{", '{"pid": "x"}', "null"])
def test_a_damaged_holder_file_names_nobody(tmp_path, data):
    (tmp_path / "gitagent").mkdir()
    (tmp_path / "gitagent/daemon.json").write_text(data)

    assert holder(tmp_path) is None


def test_a_holder_of_another_boot_is_not_believed(tmp_path):
    """Stale PID file and PID reuse."""
    taken = DaemonLock.acquire(tmp_path)
    taken.announce()
    path = tmp_path / "gitagent/daemon.json"
    values = json.loads(path.read_text())

    assert (values["pid"], holder(tmp_path).pid) == (os.getpid(), os.getpid())
    path.write_text(json.dumps(values | {"boot": "another"}))
    assert holder(tmp_path) is None
    taken.release()


def test_no_directory_is_an_error_for_people(tmp_path):
    with pytest.raises(UserError):
        DaemonLock.acquire(tmp_path / "none")
