import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gitagent.host import watch
from gitagent.host.clock import Wake
from gitagent.host.watch import Watch, filesystem, is_noise
from tests.support.repos import Repo

ROOT = Path(watch.__file__).parents[2]


class Counted(Wake):
    """A wake that also counts how often it was set."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def set(self):
        self.count += 1
        super().set()


@pytest.fixture
def watched(repo: Repo):
    wake = Counted()
    each = Watch(repo.path / ".git", wake)
    each.start()

    assert each.healthy()
    assert each.problem is None
    yield wake
    each.stop()


def git(repo, *args):
    subprocess.run(["git", *args], cwd=repo.path, check=True, capture_output=True)


@pytest.mark.parametrize(
    "command",
    [
        ("commit", "--allow-empty", "-m", "x"),
        ("update-ref", "refs/heads/agent/a/b/c", "HEAD"),
        ("branch", "-m", "main", "other"),
        ("checkout", "-b", "other"),
        ("checkout", "--detach"),
        ("pack-refs", "--all"),
        ("tag", "v1"),
        ("config", "a.b", "c"),
    ],
)
def test_what_changes_refs_or_head_wakes(repo, watched, command):
    git(repo, *command)

    assert watched.wait(30)


def test_a_ref_in_new_folders_wakes_also_the_second_time(repo, watched):
    """New nested ref directories."""
    git(repo, "update-ref", "refs/gitagent/tasks/x", "HEAD")
    assert watched.wait(30)
    git(repo, "update-ref", "-d", "refs/gitagent/tasks/x")
    assert watched.wait(30)
    git(repo, "update-ref", "refs/gitagent/tasks/x", "HEAD")

    assert watched.wait(30)


def test_a_push_wakes(tmp_path, repo, watched):
    git(repo, "clone", "-q", ".", str(tmp_path / "clone"))
    git(repo, "-C", str(tmp_path / "clone"), "push", "-q", "origin", "HEAD:land/x")

    assert watched.wait(30)


def rename_head(repo):
    lock = repo.path / ".git/HEAD.lock"
    lock.write_bytes((repo.path / ".git/HEAD").read_bytes())
    lock.rename(repo.path / ".git/HEAD")


def test_noise_does_not_wake(repo, watched):
    """`.lock` files look like branches."""
    folder = repo.path / ".git"
    (repo.path / "README.md").write_text("changed\n")
    git(repo, "add", ".")
    git(repo, "status")
    git(repo, "for-each-ref")
    (folder / "refs/heads/main.lock").write_text("x")
    (folder / "refs/heads/main.lock").unlink()
    for name in ("gc.pid", "COMMIT_EDITMSG", "packed-refs.new", "ORIG_HEAD"):
        (folder / name).write_text("x")
    (folder / "gitagent").mkdir()
    (folder / "gitagent/daemon.json").write_text("{}")
    # Events of one folder come in order, so this one is the last.
    rename_head(repo)

    assert watched.wait(30)
    assert watched.count == 1


def test_a_file_that_was_replaced_is_still_watched(repo, watched):
    """Atomic rename detaches a file watch."""
    for _ in range(3):
        rename_head(repo)

        assert watched.wait(30)


def test_further_folders_are_watched(tmp_path, repo):
    wake = Wake()
    each = Watch(repo.path / ".git", wake, extra=[tmp_path])
    each.start()
    (tmp_path / "HEAD").write_text("x")

    assert wake.wait(30)
    each.stop()


def test_a_watch_that_was_stopped_can_be_started_again(repo):
    wake = Wake()
    each = Watch(repo.path / ".git", wake)
    each.start()
    each.stop()
    each.stop()

    assert not each.healthy()
    each.start()
    assert each.healthy()
    rename_head(repo)
    assert wake.wait(30)
    each.stop()
    assert not [each for each in threading.enumerate() if "watchdog" in str(type(each))]


def test_a_folder_that_came_later_makes_it_unhealthy(repo):
    """Reftable has no refs directory events."""
    each = Watch(repo.path / ".git", Wake())
    each.start()
    (repo.path / ".git/reftable").mkdir()

    assert not each.healthy()
    each.stop()
    each.start()
    assert each.healthy()
    each.stop()


def test_a_dead_thread_makes_it_unhealthy(repo):
    """Observer/emitter death is invisible."""
    each = Watch(repo.path / ".git", Wake())
    each.start()
    emitter = next(iter(each._observer.emitters))
    emitter.stop()
    emitter.join()

    assert not each.healthy()
    each.stop()


def test_an_error_in_the_handler_does_not_end_it(repo, watched, monkeypatch):
    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr(watch, "is_noise", broken)
    rename_head(repo)
    assert watched.wait(30)
    monkeypatch.undo()
    while watched.wait(0):
        pass
    rename_head(repo)

    assert watched.wait(30)


def test_an_overflow_of_events_wakes(watched):
    logging.getLogger("watchdog.observers.inotify_c").warning("queue overflowed")

    assert watched.wait(0)


def test_a_repository_that_is_gone_is_told(tmp_path):
    each = Watch(tmp_path / "none", Wake())
    each.start()

    assert each.problem is not None
    each.stop()


@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_on_watches_is_told_and_polling_takes_over(repo, limit):
    """Watch limits. The sysctl belongs to a user namespace, so a child can set it."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gitagent.host.clock import Wake\n"
        "from gitagent.host.watch import Watch\n"
        "each = Watch(Path(sys.argv[1]), Wake())\n"
        "each.start()\n"
        "print(each.healthy(), each.poll_s, each.problem)\n"
        "each.stop()\n"
    )
    script = f'echo {limit} >/proc/sys/user/max_inotify_watches && exec "$@"'
    argv = [sys.executable, "-c", code, str(repo.path / ".git")]
    done = subprocess.run(
        ["unshare", "-U", "-r", "sh", "-c", script, "sh", *argv],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path])),
        capture_output=True,
        text=True,
        check=False,
    )
    if "max_inotify_watches" in done.stderr or "unshare" in done.stderr:
        pytest.skip(done.stderr)

    assert done.stdout.startswith(f"True {watch.POLL_ALONE_S} changes are noticed late")


def test_a_network_file_system_is_polled(repo, monkeypatch):
    monkeypatch.setattr(watch, "filesystem", lambda _: "nfs4")
    each = Watch(repo.path / ".git", Wake())
    each.start()

    assert each.healthy()
    assert "nfs4" in each.problem
    assert each.poll_s == watch.POLL_ALONE_S
    each.stop()


MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:50 / /home rw shared:1 master:2 - nfs4 server:/home rw
41 40 0:51 / /home/a\\040b rw - fuse.sshfs x rw
42 41 0:52 / /home/a\\040b rw - ext4 /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/homes/x", "ext4"),
        ("/home/x/.git", "nfs4"),
        ("/home/a b/.git", "ext4"),
        ("/proc/1", "proc"),
    ],
)
def test_the_file_system_is_that_of_the_innermost_newest_mount(path, kind):
    assert filesystem(Path(path), MOUNTS) == kind


@pytest.mark.parametrize(
    ("path", "noise"),
    [
        ("HEAD", False),
        ("packed-refs", False),
        ("config", False),
        ("refs/heads/index", False),
        ("refs/heads/X_EDITMSG", False),
        ("refs/heads/objects", False),
        ("reftable/tables.list", False),
        ("reftable/0x01-0x02-ab.ref", True),
        ("refs/heads/main.lock", True),
        ("refs/gitagent/tasks/fix", False),
        ("refs/gitagent/exchanges", True),
        ("refs/gitagent/exchanges/fix", True),
        ("packed-refs.lock", True),
        ("packed-refs.new", True),
        ("index", True),
        ("index.lock", True),
        ("COMMIT_EDITMSG", True),
        ("gc.pid.lock", True),
        ("objects", True),
        ("logs", True),
    ],
)
def test_noise_is_told_by_name_and_place(path, noise):
    common = Path("/r/.git")

    assert is_noise(common, str(common / path)) is noise


def test_a_watch_that_waits_uses_no_time(repo):
    each = Watch(repo.path / ".git", Wake())
    each.start()
    before = time.process_time()
    Wake().wait(0.5)
    used = time.process_time() - before
    each.stop()

    assert used < 0.05
