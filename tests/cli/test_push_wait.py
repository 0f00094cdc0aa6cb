"""git push -o wait: what its pusher sees of a real daemon's work, and how it ends."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitagent.core.ident import submission_id
from tests.support.cli import call
from tests.support.daemon import COMMAND, Daemon, record
from tests.support.repos import Repo, settings_text
from tests.support.waiting import wait_for

FOR = "HEAD:refs/for/main"
SUBMISSIONS = "refs/gitagent/submissions/"
# The time that a check takes is in the very tree that it judges.
CHECK = (
    "sleep $(cat slow); test ! -e broken || "
    "{ seq -f '%g pad' 5000; printf '\\033[31mno luck\\033[0m\\001\\n'; exit 3; }"
)


def make(path: Path, *, bare: bool) -> Repo:
    made = Repo.make(path, {"a": "a", "slow": "0"}, bare=bare)
    made.commit({".agent/config.toml": settings_text(CHECK)})
    call(made, "hooks", "install")
    return made


@pytest.fixture
def hub(tmp_path):
    return make(tmp_path / "hub.git", bare=True)


@pytest.fixture
def mine(hub, tmp_path):
    return hub.clone(tmp_path / "mine")


@contextmanager
def daemon(repo: Repo) -> Iterator[Daemon]:
    made = Daemon.start(repo)
    try:
        yield made
    finally:
        made.close()


def push(mine: Repo, *options: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["git", "push", "origin", FOR, *(w for o in options for w in ("-o", o))],
        cwd=mine.path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    return done.returncode, [line.removeprefix("remote: ").strip() for line in lines]


@contextmanager
def pushing(mine: Repo, *options: str, until: str):
    """Push in the background, from when a line with ``until`` has come."""
    with subprocess.Popen(
        ["git", "push", "origin", FOR, *(w for o in options for w in ("-o", o))],
        cwd=mine.path,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if until in line:
                break
        try:
            yield process
        finally:
            process.kill()


def state(hub: Repo, tip: str) -> str:
    found = record(hub, f"{SUBMISSIONS}{submission_id(tip)}")
    assert found is not None
    return str(found["state"])


def test_what_lands_is_told_step_by_step_and_accepted(hub, mine):
    tip = mine.commit({"b": "b", "slow": "1"}, "Add b")
    name = submission_id(tip)
    with daemon(hub):
        code, lines = push(mine, "wait", "divergence=None")
        again, told = push(mine, "wait")
    wanted = [
        f"gitagent: submission {name} (position 1)",
        f"gitagent: {name}: check tests runs",
        f"gitagent: {name}: check tests passed in 1.",
        f"gitagent: {name} is landed",
    ]
    seen = iter(lines)

    assert (0, 0) == (code, again), lines
    assert all(any(line.startswith(part) for line in seen) for part in wanted), lines
    assert "b" in hub.paths("refs/heads/main")
    assert any("landed already" in line for line in told)


def test_what_fails_is_refused_with_the_reason_and_the_end_of_its_output(hub, mine):
    tip = mine.commit({"broken": "b"}, "Break it")
    before = hub.ref("refs/heads/main")
    with daemon(hub):
        code, lines = push(mine, "wait")
    (rejected,) = (line for line in lines if "[remote rejected]" in line)

    assert 1 == code
    assert f"({submission_id(tip)} is rejected: Check tests failed" in rejected
    assert "no luck\\x01" in lines
    assert not any("\x1b" in line for line in lines)
    assert "5000 pad" in lines
    assert "1 pad" not in lines
    assert before == hub.ref("refs/heads/main")


def test_without_a_daemon_it_says_so_and_does_not_wait(hub, mine):
    tip = mine.commit({"b": "b"})
    code, lines = push(mine, "wait")

    assert 0 == code
    assert any("stays queued; no daemon runs" in line for line in lines)
    assert "queued" == state(hub, tip)


def test_a_daemon_that_stops_ends_the_wait(hub, mine):
    tip = mine.commit({"slow": "600"})
    with (
        daemon(hub) as there,
        pushing(mine, "wait", until="check tests runs") as process,
    ):
        there.stop()
        _, said = process.communicate(timeout=60)

    assert 0 == process.returncode
    assert "no daemon runs there now" in said
    assert state(hub, tip) in {"queued", "checking"}


def test_a_wait_has_an_end_if_one_was_given(hub, mine):
    tip = mine.commit({"slow": "600"})
    with daemon(hub):
        code, lines = push(mine, "wait=1")

    assert 0 == code
    assert any("after 1 s, and goes on" in line for line in lines)
    assert state(hub, tip) in {"queued", "checking"}


def test_a_pusher_that_goes_away_leaves_the_submission_and_no_process(hub, mine):
    tip = mine.commit({"b": "b", "slow": "2"})
    with daemon(hub) as there:
        with pushing(mine, "wait", until="check tests runs") as process:
            process.kill()
        there.wait_submission(submission_id(tip), "landed")
        wait_for(lambda: not hooks_in(hub), timeout=30, what=lambda: str(hooks_in(hub)))

    assert "b" in hub.paths("refs/heads/main")


def test_interrupting_the_push_leaves_the_submission(hub, mine):
    tip = mine.commit({"b": "b", "slow": "2"})
    with daemon(hub) as there:
        with pushing(mine, "wait", until="check tests runs") as process:
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=60)
        there.wait_submission(submission_id(tip), "landed")

    assert process.returncode != 0
    assert "Traceback" not in said
    assert [] == hooks_in(hub)


def hooks_in(hub: Repo) -> list[str]:
    """Return the command lines of hooks that run in a repository."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            here = (folder / "cwd").readlink() == hub.path.resolve()
            if here and b"proc-receive" in words:
                found.append(words.decode(errors="replace"))
        except OSError:
            continue
    return found


def test_who_pushes_again_waits_for_the_same_submission(hub, mine):
    tip = mine.commit({"b": "b", "slow": "2"})
    with daemon(hub):
        first, _ = push(mine)
        code, lines = push(mine, "wait")

    assert (0, 0) == (first, code)
    assert 1 == len(hub.refs(SUBMISSIONS))
    assert any("submitted already" in line for line in lines)
    assert any(f"{submission_id(tip)} is landed" in line for line in lines)


def test_a_newer_push_of_the_topic_ends_the_wait_for_the_older(hub, mine):
    mine.commit({"slow": "600"})
    with (
        daemon(hub),
        pushing(mine, "wait", "topic=x", until="check tests runs") as process,
    ):
        mine.git("reset", "-q", "--hard", "HEAD~1")
        mine.commit({"b": "b"})
        code, _ = push(mine, "wait", "topic=x")
        _, said = process.communicate(timeout=60)

    assert 0 == code
    assert 1 == process.returncode
    assert "is withdrawn: " in said


def test_in_a_clone_the_checkout_moves_along(tmp_path):
    there = make(tmp_path / "there", bare=False)
    mine = there.clone(tmp_path / "mine")
    mine.commit({"b": "b"}, "Add b")
    with daemon(there):
        code, lines = push(mine, "wait")

    assert 0 == code, lines
    assert (there.path / "b").is_file()
    assert [] == there.status()


@pytest.mark.parametrize("command", [("submit", "--wait", "work"), ("land", "work")])
def test_who_waits_here_reads_the_same(tmp_path, command):
    there = make(tmp_path / "there", bare=False)
    tip = there.commit({"slow": "1"}, branch="work")
    with daemon(there):
        done = subprocess.run(
            [*COMMAND, *command],
            cwd=there.path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert 0 == done.returncode, done.stderr
    assert f"{submission_id(tip)}: check tests runs" in done.stderr
    assert "check tests passed in 1." in done.stderr
    assert f"{submission_id(tip)} is landed" in done.stderr
