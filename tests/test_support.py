"""The support package itself: what other tests stand on."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.support import daemon as support
from tests.support.daemon import Daemon, WentWrong
from tests.support.repos import Repo, python_project
from tests.support.waiting import TimedOut, wait_for, wait_for_file


def test_git_and_home_are_private(home):
    assert str(home) == os.environ["HOME"]
    assert "Test Person" == Repo.make(home / "r").git("config", "user.name")
    assert [] == [name for name in os.environ if name.startswith("GITAGENT_")]


def test_a_new_repository_is_clean_and_checked_out(repo):
    assert [] == repo.status()
    assert ["README.md"] == repo.paths()
    assert "refs/heads/main" == repo.git("symbolic-ref", "HEAD")


def test_commit_in_a_checkout_leaves_other_edits_alone(repo):
    repo.write("README.md", "edited\n")
    oid = repo.commit({"a/b.txt": "b\n"}, "Add b")

    assert oid == repo.head()
    assert ["README.md", "a/b.txt"] == repo.paths()
    assert [" M README.md"] == repo.status()


def test_commit_to_a_branch_touches_no_checkout(repo):
    before = repo.head()
    oid = repo.commit({"run*": "#!/bin/sh\n", "to@": "run"}, branch="side")

    assert oid == repo.ref("refs/heads/side")
    assert before == repo.head()
    assert [before] == repo.log("%H", "-1", f"{oid}^")
    assert ["100644", "100755", "120000"] == [
        line.split()[0] for line in repo.git("ls-tree", oid).splitlines()
    ]


def test_commit_with_given_parents_is_a_merge_or_a_root(repo):
    side = repo.commit({"side": "s\n"}, branch="side")
    main = repo.head()
    merge = repo.commit_at("refs/heads/m", {"x": "x\n"}, parents=(main, side))
    root = repo.commit_at("refs/heads/m", {"x": "x\n"}, parents=())

    assert f"{main} {side}" == repo.log("%P", merge)[0]
    assert [""] == repo.log("%P", root)
    repo.fsck()


def test_files_are_deleted_and_read_back_byte_for_byte(tmp_path):
    repo = Repo.make(tmp_path / "hub", {"a": "a", "b": "b\n\n"}, bare=True)
    repo.commit({"a": None})

    assert ["b"] == repo.paths("main")
    assert "b\n\n" == repo.read("b", "main")


def test_trailers_are_read_in_order(repo):
    repo.commit({"x": "x"}, "Subject\n\nText.\n\nB-Two: 2\nA-One: 1\n")

    assert [("B-Two", "2"), ("A-One", "1")] == repo.trailers()


def test_the_python_project_has_about_thirty_files_and_passes(tmp_path):
    project = python_project(tmp_path / "p")

    assert 31 == len(project.paths())
    assert len(project.log()) > 10
    subprocess.run(["make", "-s", "test"], cwd=project.path, check=True)
    assert [] == project.status()


def test_waiting_ends_when_a_file_appears(tmp_path):
    path = tmp_path / "deep" / "file"
    threading.Timer(0.05, lambda: path.write_text("here")).start()

    assert "here" == wait_for_file(path)


def test_waiting_for_what_never_comes_says_so(tmp_path):
    with pytest.raises(TimedOut):
        wait_for(lambda: False, tmp_path, timeout=0.1, what="the moon")


def test_waiting_sees_what_is_true_at_once(tmp_path: Path):
    assert signal.SIGTERM == wait_for(lambda: signal.SIGTERM, tmp_path, timeout=0)


_READY = 'echo ready >"/proc/self/fd/$GITAGENT_READY_FD"\n'
_RECORDS = """\
trap 'exit 5' TERM
record() {
    blob=$(printf '{"state": "%s", "attempt": 1}' "$1" | git hash-object -w --stdin)
    tree=$(printf '100644 blob %s\trecord-v1.json\n' "$blob" | git mktree)
    git update-ref refs/gitagent/tasks/t "$(git commit-tree -m "$1" "$tree")"
}
record running
record landed
while :; do sleep 0.1; done
"""


@pytest.fixture
def stand_in(monkeypatch):
    """Have Daemon run a shell script where it would run gitagent."""

    def use(script: str) -> None:
        monkeypatch.setattr(support, "COMMAND", ("sh", "-c", script, "stand-in"))

    return use


def test_a_daemon_is_followed_by_its_lines_and_records(repo, daemon, stand_in):
    stand_in(_READY + _RECORDS)
    running = daemon(repo)
    running.wait_attempt("t")

    assert "landed" == running.wait_task("t", "landed")["state"]
    assert 5 == running.stop()


def test_waiting_for_a_state_ends_early_when_another_one_is_final(
    repo, daemon, stand_in
):
    stand_in(_READY + _RECORDS)
    running = daemon(repo)

    with pytest.raises(WentWrong):
        running.wait_task("t", "failed")


def test_waiting_ends_early_when_the_daemon_ends(repo, daemon, stand_in):
    stand_in(_READY + "exit 3")
    running = daemon(repo)

    assert 3 == running.wait_exit()
    with pytest.raises(WentWrong):
        running.wait_task("t", "landed")
    with pytest.raises(WentWrong):
        running.wait_line("never")


def test_a_daemon_that_ends_before_its_first_read_is_an_error(repo, stand_in):
    stand_in("exit 75")

    with pytest.raises(WentWrong):
        Daemon.start(repo)


def test_a_failpoint_reaches_the_daemon_and_a_kill_is_a_kill(repo, daemon, stand_in):
    stand_in(_READY + 'echo "at $GITAGENT_FAILPOINT"; while :; do sleep 0.1; done')
    running = daemon(repo, failpoint="before-swap")
    running.wait_line("before-swap")
    running.kill()

    assert -signal.SIGKILL == running.process.returncode
