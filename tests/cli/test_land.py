"""gitagent land without a daemon: checks run here, the exit code is the answer."""

import signal
import subprocess

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.task import Attempt, Outcome, TaskState
from gitagent.host.lock import DaemonLock
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import COMMAND, gitagent, record
from tests.support.repos import settings_text

CONFIG = ".agent/config.toml"


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit(
        {"Makefile": "test:\n\t@test ! -e broken || { echo no luck; exit 1; }\n"}
    )
    call(repo, "init", "--no-check")


def test_what_passes_lands_and_its_id_is_printed(repo):
    tip = repo.commit({"a": "a"}, "Add a", branch="work")
    done = gitagent(repo, "land", "work", "--divergence", "None")

    assert (0, f"{submission_id(tip)}\n") == (done.returncode, done.stdout)
    assert "landed" in done.stderr
    assert "a" in repo.paths("main")
    assert tip in repo.git("rev-list", "main").split()
    assert [] == repo.status()


def test_what_fails_is_exit_1_with_reason_and_output(repo):
    before = repo.head()
    repo.commit({"broken": "x"}, "Break it", branch="work")
    done = gitagent(repo, "land", "work")

    assert 1 == done.returncode
    assert "no luck" in done.stderr
    assert "rejected" in done.stderr
    assert before == repo.head()


def test_landing_again_what_has_landed_is_the_same_answer(repo):
    repo.commit({"a": "a"}, "Add a", branch="work")
    first = gitagent(repo, "land", "work")
    again = gitagent(repo, "land", "work")

    assert (0, 0) == (first.returncode, again.returncode)
    assert 1 == len(repo.refs("refs/gitagent/submissions/"))


def test_a_submission_is_landed_by_its_id(repo):
    repo.commit({"a": "a"}, "Add a", branch="work")
    name = call(repo, "submit", "work").lines[0]
    done = gitagent(repo, "land", name)

    assert 0 == done.returncode
    assert "landed" == record(repo, f"refs/gitagent/submissions/{name}")["state"]


def manual(repo, state=TaskState.SUBMITTED, **fields):
    repo.add_task("by-hand", "true", front='land = "manual"\npriority = 4')
    tip = repo.commit({"a": "a"}, "Add a", branch="agent/by-hand")
    blob = repo.oid("HEAD:.agent/tasks/by-hand.md")
    attempt = Attempt(
        1, blob, repo.head(), "2026-01-01T00:00:00Z", outcome=Outcome.OK, tip=tip
    )
    name = submission_id(tip, "by-hand", blob)
    return ledger.task(
        repo,
        "by-hand",
        state,
        attempt=1,
        attempts=(attempt,),
        branch="refs/heads/agent/by-hand",
        tip=tip,
        submission=name,
        agent="shell",
        **fields,
    )


def test_a_task_that_waits_for_a_person_is_landed_by_its_name(repo):
    task = manual(repo)
    done = gitagent(repo, "land", "by-hand")
    found = record(repo, f"refs/gitagent/submissions/{task.submission}")

    assert 0 == done.returncode
    assert ("landed", "by-hand", 4) == (
        found["state"],
        found["task"],
        found["priority"],
    )
    assert ".agent/tasks/done/by-hand.md" in repo.paths("main")


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.RUNNING])
def test_a_task_that_is_not_ready_is_exit_1(repo, state):
    manual(repo, state, reason="Attempt 1 failed.")
    answer = call(repo, "land", "by-hand")

    assert (1, "") == (answer.code, answer.out)
    assert str(state) in answer.err


def test_an_amended_task_is_not_landed(repo):
    manual(repo)
    repo.commit({".agent/tasks/by-hand.md": "# Another\n"})
    answer = call(repo, "land", "by-hand")

    assert 1 == answer.code
    assert "amended" in answer.err


@pytest.mark.parametrize("name", ["main", "nowhere", "s-000000000000"])
def test_what_cannot_land_is_exit_1(repo, name):
    answer = call(repo, "land", name)

    assert (1, "") == (answer.code, answer.out)


def test_while_nothing_can_land_the_reason_is_told_and_interrupting_ends_it(repo):
    repo.commit({CONFIG: settings_text(check=None)})
    tip = repo.commit({"a": "a"}, "Add a", branch="work")
    with subprocess.Popen(
        [*COMMAND, "land", "work"],
        cwd=repo.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as landing:
        assert landing.stderr is not None
        told = next((line for line in landing.stderr if "[[check]]" in line), "")
        landing.send_signal(signal.SIGINT)
        rest = landing.stderr.read()
        landing.wait(60)
    found = record(repo, f"refs/gitagent/submissions/{submission_id(tip)}")

    assert told
    assert 130 == landing.returncode
    assert "Traceback" not in rest
    assert found is not None
    assert "queued" == found["state"]


def test_while_a_command_is_at_work_no_daemon_starts(repo):
    lock = DaemonLock.acquire(repo.common_dir)
    assert lock is not None
    try:
        answers = [call(repo, "up"), call(repo, "up", "--detach")]
        seen = call(repo, "status")
    finally:
        lock.release()

    assert [75, 75] == [answer.code for answer in answers]
    assert "command is at work" in seen.out
