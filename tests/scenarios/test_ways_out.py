"""What leaves the target, with a real daemon: pushes, a moved remote, a rollback."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.conftest import CHECK
from tests.support.daemon import Daemon, gitagent, record, status
from tests.support.repos import Repo, settings_text

MAIN = "refs/heads/main"
SEEN = "refs/gitagent/remote/origin"
SETTINGS = settings_text(CHECK, '[lander]\npush = "origin"\n')

pytestmark = pytest.mark.slow

Start = Callable[..., Daemon]


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    """Make a bare repository that others push to, with settings on its target."""
    files = {"README.md": "# kept\n", "a.txt": "one\ntwo\nthree\n"}
    made = Repo.make(tmp_path / "hub.git", files, bare=True)
    message = "Keep it\n\nGitagent-Record: init\n"
    made.commit_at(MAIN, {".agent/config.toml": SETTINGS}, message)
    return made


@pytest.fixture
def repo(hub: Repo, tmp_path: Path) -> Repo:
    return hub.clone(tmp_path / "repo")


def offer(repo: Repo, name: str, files: dict[str, str]) -> str:
    """Put work on a branch that lands."""
    base = repo.oid(MAIN)
    return repo.commit_at(f"refs/heads/land/{name}", files, name, parents=(base,))


def target(repo: Repo) -> dict[str, Any]:
    found: dict[str, Any] = status(repo)["target"]
    return found


def holds(repo: Repo, *commits: str) -> bool:
    return all(0 == repo.ask("merge-base", "--is-ancestor", c, MAIN) for c in commits)


def test_a_remote_that_moved_is_merged_and_the_next_push_adds_to_it(
    hub: Repo, repo: Repo, daemon: Start
):
    """Nobody's commit is lost, nothing is forced, local and remote end up equal."""
    hub.git("config", "receive.denyNonFastForwards", "true")
    running = daemon(repo)
    there = hub.commit_at(MAIN, {"there.txt": "x\n"}, "Pushed by somebody else")
    here = offer(repo, "here", {"here.txt": "x\n"})
    running.until(lambda: holds(hub, there, here), timeout=60, what="both there")
    running.until(
        lambda: target(repo)["push"]["behind"] == 0, timeout=30, what="caught up"
    )
    made = [s for s in status(repo)["submissions"] if s["tip"] == there]

    assert hub.ref(MAIN) == repo.ref(MAIN)
    assert ["landed"] == [each["state"] for each in made]
    assert SEEN == made[0]["branch"]
    assert [] == target(repo)["findings"]
    assert 0 == gitagent(repo, "verify").returncode
    hub.fsck()


def test_what_the_remote_has_at_the_start_is_taken_in(
    hub: Repo, repo: Repo, daemon: Start
):
    there = hub.commit_at(MAIN, {"there.txt": "x\n"}, "While nobody looked")
    daemon(repo).until(lambda: holds(repo, there), timeout=60, what="taken in")

    assert "there.txt" in repo.paths(MAIN)


def test_a_remote_that_conflicts_is_said_to_have_diverged_until_a_person_merges(
    hub: Repo, repo: Repo, daemon: Start
):
    running = daemon(repo)
    # It has looked at the remote, and comes back to it with a landing to push.
    running.until(lambda: repo.ref(SEEN), timeout=30, what="the first look")
    there = hub.commit_at(MAIN, {"a.txt": "theirs\n"}, "Theirs")
    here = offer(repo, "here", {"a.txt": "ours\n"})
    running.until(
        lambda: "diverged" in (target(repo)["push"]["reason"] or ""),
        timeout=60,
        what="told that they diverged",
    )
    push = target(repo)["push"]
    (rejected,) = [s for s in status(repo)["submissions"] if s["tip"] == there]
    page = gitagent(repo, "status").stdout

    assert holds(repo, here)
    assert there == hub.ref(MAIN)
    assert "a.txt" in rejected["reason"]
    assert rejected["id"] in push["reason"]
    assert 1 == push["ahead"]
    assert "origin has 1 commit that main lacks" in page
    repo.commit_at(
        "refs/heads/land/merge",
        {"a.txt": "both\n"},
        "Merge theirs",
        parents=(repo.oid(MAIN), there),
    )
    running.until(lambda: holds(hub, there, here), timeout=60, what="both there")

    assert "both\n" == hub.read("a.txt", MAIN)


def test_a_remote_out_of_reach_gets_everything_once_when_it_is_back(
    hub: Repo, repo: Repo, daemon: Start
):
    pushes = hub.path.parent / "pushes"
    hub.hook("post-receive", f"#!/bin/sh\ncat >> {pushes}\n")
    away = hub.path.with_name("away.git")
    running = daemon(repo)
    hub.path.rename(away)
    tips = [offer(repo, name, {f"{name}.txt": "x\n"}) for name in ("a", "b")]
    running.until(lambda: holds(repo, *tips), timeout=60, what="landed all the same")
    running.until(
        lambda: target(repo)["push"]["reason"], timeout=30, what="the push has failed"
    )
    lag = target(repo)["push"]
    away.rename(hub.path)
    running.until(lambda: holds(hub, *tips), timeout=90, what="pushed")
    running.until(
        lambda: target(repo)["push"]["behind"] == 0, timeout=30, what="caught up"
    )
    lines = [line for line in pushes.read_text().splitlines() if line.endswith(MAIN)]

    assert lag["behind"] is None or lag["behind"] >= 1
    assert 1 == len(lines)
    assert repo.ref(MAIN) == hub.ref(MAIN)


def test_two_clones_with_a_daemon_each_bring_all_to_the_remote(
    hub: Repo, tmp_path: Path, daemon: Start
):
    clones = [hub.clone(tmp_path / name) for name in ("one", "two")]
    running = [daemon(clone) for clone in clones]
    tips = [
        offer(clone, f"{n}{k}", {f"{n}{k}.txt": "x\n"})
        for k in range(2)
        for n, clone in enumerate(clones)
    ]
    running[0].until(lambda: holds(hub, *tips), timeout=120, what="all four there")

    assert 4 <= len(hub.paths(MAIN, ".agent/landings"))
    for clone in clones:
        assert [] == target(clone)["findings"]
        clone.fsck()
    hub.fsck()


def test_a_rollback_goes_through_the_checks_and_its_note_says_what_it_takes_back(
    repo: Repo, daemon: Start
):
    running = daemon(repo)
    tip = offer(repo, "a", {"new.txt": "x\n"})
    running.until(lambda: holds(repo, tip), timeout=60, what="landed")
    landed = next(s for s in status(repo)["submissions"] if s["tip"] == tip)["id"]
    done = gitagent(repo, "rollback", landed, "--because", "no good", "--wait")
    name = done.stdout.strip()
    found = record(repo, f"refs/gitagent/submissions/{name}") or {}
    notes = [p for p in repo.paths(MAIN, ".agent/landings") if name in p]
    note = repo.read(notes[0], MAIN)

    assert 0 == done.returncode, done.stderr
    assert "new.txt" not in repo.paths(MAIN)
    assert ["passed"] == [check["state"] for check in found["checks"]]
    assert landed in note
    assert "no good" in note
    assert 1 == gitagent(repo, "rollback", landed).returncode


def test_a_direct_commit_is_told_within_five_seconds_with_whose_it_is(
    repo: Repo, daemon: Start
):
    running = daemon(repo)
    tip = repo.commit_at(MAIN, {"sneak.txt": "x\n"}, "Sneaked in")
    running.until(
        lambda: [tip] == target(repo)["direct"], timeout=5, what="found in 5 s"
    )

    assert "Test Person" in target(repo)["findings"][0]["author"]


def test_a_hub_with_a_daemon_lands_while_direct_pushes_are_refused(
    tmp_path: Path, daemon: Start
):
    hub = Repo.make(tmp_path / "own.git", {"a.txt": "one\n"}, bare=True)
    text = settings_text(CHECK, '[lander]\nguard = "refuse"\n')
    hub.commit_at(MAIN, {".agent/config.toml": text}, "K\n\nGitagent-Record: init\n")
    assert 0 == gitagent(hub, "hooks", "install").returncode
    clone = hub.clone(tmp_path / "clone")
    running = daemon(hub)
    tip = clone.commit({"b.txt": "x\n"}, "Add b")
    refused = subprocess.run(
        ["git", "push", "-q", "origin", "HEAD:main"],
        cwd=clone.path,
        capture_output=True,
        check=False,
    )
    clone.git("push", "-q", "origin", "HEAD:refs/for/main")
    running.until(lambda: holds(hub, tip), timeout=60, what="landed")

    assert 1 == refused.returncode
    assert [] == target(hub)["findings"]
