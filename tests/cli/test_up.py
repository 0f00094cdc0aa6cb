"""gitagent up and down, and the commands beside a daemon that runs."""

import subprocess

import pytest

from gitagent.core.ident import submission_id
from gitagent.host.kin import alive, ticks
from gitagent.host.lock import held
from tests.support.cli import call
from tests.support.daemon import COMMAND, gitagent, record, status
from tests.support.waiting import wait_for


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit(
        {"Makefile": "test:\n\t@test ! -e broken || { echo no luck; exit 1; }\n"}
    )
    call(repo, "init", "--no-check")


@pytest.fixture
def running(repo, daemon):
    return daemon(repo)


def test_detached_it_runs_until_down_and_both_can_be_said_twice(repo):
    before = gitagent(repo, "down")
    first = gitagent(repo, "up", "--detach")
    again = gitagent(repo, "up", "--detach")
    said = status(repo)["daemon"]
    started = ticks(said["pid"]) or 0
    down = gitagent(repo, "down")
    after = status(repo)["daemon"]

    assert [0, 0, 0, 0] == [each.returncode for each in (before, first, again, down)]
    assert said["running"] is True
    assert {"running": False, "pid": None, "code": None, "swap": None} == after
    assert not held(repo.common_dir)
    wait_for(lambda: not alive(said["pid"], started), what="the daemon is gone")


def test_without_settings_it_says_to_set_up(repo):
    repo.commit({".agent/config.toml": None})
    for args in (["up"], ["up", "--detach"]):
        done = gitagent(repo, *args)

        assert 1 == done.returncode
        assert "gitagent init" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_submission_is_waited_for(repo, running):
    tip = repo.commit({"a": "a"}, "Add a", branch="work")
    good = gitagent(repo, "submit", "work", "--wait")
    repo.commit({"broken": "x"}, "Break it", branch="bad")
    bad = gitagent(repo, "land", "bad")

    assert running.pid == status(repo)["daemon"]["pid"]
    assert (0, f"{submission_id(tip)}\n") == (good.returncode, good.stdout)
    assert 1 == bad.returncode
    assert "no luck" in bad.stderr


def test_the_output_of_a_live_attempt_is_followed_to_its_end(repo, running):
    fifo = "while [ ! -e go ]; do sleep 0.05; done"
    repo.add_task("slow", f"echo begun\n{fifo}\necho ended; echo x > x")
    with subprocess.Popen(
        [*COMMAND, "logs", "-f", "slow"],
        cwd=repo.path,
        stdout=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        running.wait_attempt("slow")
        begun = next(line for line in following.stdout if "begun" in line)
        stopped = gitagent(repo, "task", "stop", "slow")
        following.stdout.read()
        following.wait(60)

    assert begun
    assert (0, 0) == (stopped.returncode, following.returncode)
    running.wait_task("slow", "stopped")


def test_a_push_lands_on_its_own(repo, running, tmp_path):
    gitagent(repo, "hooks", "install")
    other = repo.clone(tmp_path / "other")
    tip = other.commit({"b": "b"}, "Add b")
    other.git("push", "-q", "origin", "HEAD:refs/heads/land/b")
    running.wait_submission(submission_id(tip), "landed")

    assert "b" in repo.paths("main")
    assert "landed" in gitagent(repo, "status").stdout


def test_a_task_that_is_retried_is_tried_again(repo, running):
    repo.add_task("fails", "exit 3")
    running.wait_task("fails", "failed")
    done = gitagent(repo, "task", "retry", "fails")
    running.wait_attempt("fails", 2)
    running.wait_task("fails", "failed")

    assert 0 == done.returncode
    assert 2 == (record(repo, "refs/gitagent/tasks/fails") or {})["attempt"]
