"""Power cuts: a child makes the attempt and is killed; the next daemon recovers it."""

import shutil

import pytest

from gitagent.core.settings import Sandbox, SandboxMode, Worker
from gitagent.core.task import Outcome
from gitagent.git.worktree import entries
from gitagent.worker.attempt import discard
from tests.support.waiting import wait_for
from tests.worker.work import living, unique

pytestmark = pytest.mark.slow

FAILPOINTS = {
    "attempt-spawned": Outcome.INTERRUPTED,
    "attempt-exited": Outcome.OK,
    "attempt-harvested": Outcome.OK,
}


@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_a_power_cut_at_each_named_point(work, failpoint):
    child = work.start("echo 1 > a", env={"GITAGENT_FAILPOINT": failpoint})

    assert child.killed()
    end = work.recover("echo 1 > a")
    assert FAILPOINTS[failpoint] is end.attempt.outcome
    if end.attempt.outcome is Outcome.OK:
        assert ["README.md", "a"] == work.repo.paths(end.attempt.tip)
        assert end.attempt.tip == work.branch
        assert end.changed
    assert end == work.recover("echo 1 > a")
    work.repo.fsck()


@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_the_attempt_after_it_comes_to_the_same_end(work, failpoint):
    work.start("echo 1 > a", env={"GITAGENT_FAILPOINT": failpoint}).killed()
    work.tip = work.recover("echo 1 > a").attempt.tip or None
    end = work.run("echo 1 > a")

    assert Outcome.OK is end.attempt.outcome
    assert ["README.md", "a"] == work.repo.paths(end.attempt.tip)
    assert {"refs/heads/agent/fix", "refs/heads/main"} == {*work.repo.refs()}
    assert 1 == len(entries(work.opened()))


def test_a_recovery_that_is_cut_off_is_recovered(work):
    work.start("echo 1 > a", env={"GITAGENT_FAILPOINT": "attempt-exited"}).killed()
    again = work.start(
        "echo 1 > a", env={"GITAGENT_FAILPOINT": "attempt-harvested"}, recover=True
    )

    assert again.killed()
    end = work.recover("echo 1 > a")
    assert Outcome.OK is end.attempt.outcome
    assert end.attempt.tip == work.branch


def test_work_that_was_under_way_is_harvested_and_nothing_lives_on(work):
    token = unique()
    child = work.start(f"echo 1 > a; setsid sleep {token} & sleep {token}")
    tree = work.folder / "tree"
    wait_for((tree / "a").exists)
    child.kill()
    end = work.recover("true")

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert ["README.md", "a"] == work.repo.paths(end.attempt.tip)
    assert end.attempt.tip == work.branch
    assert [] == living(token)


def test_without_confinement_what_lives_on_is_found(work):
    work.sandbox = Sandbox(mode=SandboxMode.OFF)
    token = unique()
    child = work.start(f"echo 1 > a; setsid sleep {token} & sleep {token}")
    wait_for((work.folder / "tree/a").exists)
    wait_for(lambda: len(living(token)) == 2)
    child.kill()
    end = work.recover("true")

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert ["README.md", "a"] == work.repo.paths(end.attempt.tip)
    assert [] == living(token)


def test_a_power_cut_during_setup_leaves_nothing_to_harvest(work):
    token = unique()
    work.worker = Worker(setup=(f"touch made; sleep {token}",))
    child = work.start("echo 1 > a")
    wait_for((work.folder / "tree/made").exists)
    child.kill()
    end = work.recover("echo 1 > a")

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert "" == end.attempt.tip
    assert None is work.branch
    assert [] == living(token)


def test_an_attempt_whose_folder_is_gone_has_the_tip_of_its_branch(work):
    first = work.run("echo 1 > a")
    work.start("sleep 0", env={"GITAGENT_FAILPOINT": "attempt-spawned"}).killed()
    shutil.rmtree(work.root)
    end = work.recover("true")

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert first.attempt.tip == end.attempt.tip
    assert 1 == len(entries(work.opened()))
    again = work.run("echo 2 > b")
    assert Outcome.OK is again.attempt.outcome


def test_the_cache_can_go_while_an_agent_works(work):
    def remove(_pid: int, _ticks: int) -> None:
        shutil.rmtree(work.root, ignore_errors=True)

    end = work.run("true", started=remove)

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert 1 == len(entries(work.opened()))
    assert Outcome.OK is work.run("echo 1 > a").attempt.outcome


def test_an_attempt_that_never_had_a_folder(work):
    work.number = 1
    end = work.recover("true")

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert "" == end.attempt.tip


def test_what_no_ref_holds_is_not_discarded(work):
    work.start("echo 1 > a", env={"GITAGENT_FAILPOINT": "attempt-exited"}).killed()
    discard(work.opened(), "fix", 1)

    assert (work.folder / "tree/a").exists()
