"""SIGKILL at every step of a task's life and of a landing: the same end each time."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitagent.host import failpoint
from gitagent.host.place import cache_root
from tests.support.daemon import Daemon, record
from tests.support.repos import Repo
from tests.support.waiting import wait_for

Start = Callable[..., Daemon]

# A worker that is cut off in mid-work goes on from what it had done, as an agent does.
SCRIPT = "grep -q line log.txt || echo line >> log.txt"

MID_WORK = ("attempt-recorded", "attempt-spawned")  # later ones repeat nothing


def remove(folder: Path) -> None:
    """Remove a folder in which a killed worker may still be writing its last."""

    def gone() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    wait_for(gone, folder.parent, timeout=10, what=f"{folder} is gone")


def landed_once(repo: Repo) -> None:
    subjects = repo.log(
        "%(trailers:key=Gitagent-Submission,valueonly)", "--first-parent"
    )
    landings = [s for s in subjects if s.strip()]
    assert len(landings) == 1
    assert repo.read("log.txt") == "line\n"
    assert repo.status() == []
    assert len(repo.refs("refs/gitagent/submissions/")) == 1
    (ref,) = repo.refs("refs/gitagent/submissions/")
    assert record(repo, ref)["state"] == "landed"
    assert repo.refs("refs/gitagent/candidates/") == {}
    repo.fsck()


@pytest.mark.parametrize("name", failpoint.NAMES)
def test_killed_at(name: str, kept: Repo, daemon: Start):
    first = daemon(kept, failpoint=name)
    kept.add_task("crash", SCRIPT)
    code = first.wait_exit()
    second = daemon(kept)
    found = second.wait_task("crash", "landed")

    assert code == -9
    assert (found["attempt"], found["failures"]) == (2 if name in MID_WORK else 1, 0)
    landed_once(kept)
    worktrees = kept.git("worktree", "list", "--porcelain").count("worktree ")
    assert worktrees == 1


@pytest.mark.parametrize(
    "name", ["attempt-spawned", "candidate-pinned", "landing-recorded"]
)
def test_killed_and_all_caches_removed(
    name: str, kept: Repo, daemon: Start, tmp_path: Path
):
    """PITFALLS, "Crash leaves missing but locked worktree": a person's entry stays."""
    mine = kept.worktree(tmp_path / "mine")
    shutil.rmtree(mine.path)
    kept.git("worktree", "lock", "--reason", "on a stick", str(mine.path))
    first = daemon(kept, failpoint=name)
    kept.add_task("crash", SCRIPT)
    first.wait_exit()
    remove(kept.common_dir / "gitagent")
    remove(cache_root(kept.common_dir))
    daemon(kept).wait_task("crash", "landed")

    landed_once(kept)
    listed = kept.git("worktree", "list", "--porcelain")
    assert 2 == listed.count("worktree ")
    assert "on a stick" in listed


def test_caches_removed_at_rest_lose_nothing(kept: Repo, daemon: Start):
    first = daemon(kept)
    kept.add_task("one", SCRIPT)
    first.wait_task("one", "landed")
    first.stop()
    before = kept.refs("refs/")
    remove(kept.common_dir / "gitagent")
    remove(cache_root(kept.common_dir))
    second = daemon(kept)
    kept.add_task("two", "echo two > two.txt")
    second.wait_task("two", "landed")

    after = kept.refs("refs/")
    assert {ref for ref in before if ref not in after} == set()
    assert record(kept, "refs/gitagent/tasks/one")["state"] == "landed"


def test_a_second_daemon_leaves_the_first_alone(kept: Repo, daemon: Start):
    first = daemon(kept)
    second = daemon(kept, wait=False)

    assert second.wait_exit() == 0
    assert f"process {first.pid}" in second.log
    kept.add_task("one", SCRIPT)
    first.wait_task("one", "landed")
