"""Claims on a remote that two clones share."""

from dataclasses import replace

import pytest

from gitagent.core.settings import Lander
from gitagent.core.task import Outcome
from gitagent.worker.claim import release
from tests.support.repos import Repo
from tests.worker.work import Work

CLAIM = "refs/gitagent/claims/fix"


@pytest.fixture
def clones(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", files={"a": "a\n"}, bare=True)
    works = [Work(hub.clone(tmp_path / name)) for name in ("one", "other")]
    for work in works:
        work.settings = replace(work.settings, lander=Lander(push="origin"))
    return hub, *works


def test_the_first_to_claim_a_task_runs_it(clones):
    hub, one, other = clones
    first, second = one.run("echo 1 > b"), other.run("echo 2 > b")

    assert Outcome.OK is first.attempt.outcome
    assert Outcome.CLAIMED is second.attempt.outcome
    assert "one-" in second.attempt.reason
    assert None is other.branch
    assert None is not hub.ref(CLAIM)


def test_a_claim_of_an_earlier_life_is_ones_own(clones):
    _, one, _ = clones
    one.run("exit 1")
    end = one.run("echo 1 > b")

    assert Outcome.OK is end.attempt.outcome


def test_a_released_claim_can_be_taken_by_another(clones):
    hub, one, other = clones
    one.run("true")
    release(other.opened(), "origin", "fix")
    assert None is not hub.ref(CLAIM)
    release(one.opened(), "origin", "fix")

    assert None is hub.ref(CLAIM)
    assert Outcome.OK is other.run("true").attempt.outcome


def test_without_the_remote_nothing_runs_and_nothing_is_lost(clones, tmp_path):
    _, one, _ = clones
    (tmp_path / "hub.git").rename(tmp_path / "away.git")
    end = one.run("echo 1 > b")

    assert Outcome.CLAIMED is end.attempt.outcome
    assert "origin" in end.attempt.reason
    assert None is one.branch
