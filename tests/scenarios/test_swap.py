"""A daemon whose own code lands: it changes over, or says why it does not."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gitagent as package
from tests.support.daemon import COMMAND, Daemon, gitagent, record
from tests.support.repos import Repo, settings_text
from tests.support.waiting import wait_for

MAIN = "refs/heads/main"
SOURCE = Path(package.__file__).resolve().parent
INIT = "gitagent/__init__.py"
TASKS = "gitagent/daemon/tasks.py"

pytestmark = pytest.mark.slow

Start = Callable[..., Daemon]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a repository that holds the very gitagent that keeps it."""
    made = Repo.make(tmp_path / "repo", {".gitignore": "__pycache__/\n"})
    for name in ("gitagent", "hooks", "templates"):
        # With its byte code, which each process would else have to make anew.
        shutil.copytree(SOURCE.parent / name, made.path / name)
    made.write(".agent/config.toml", settings_text("true"))
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "Keep it\n\nGitagent-Record: init")
    return made


@pytest.fixture
def env(repo: Repo) -> dict[str, str]:
    """Make every process use the repository's own code."""
    return {"PYTHONPATH": str(repo.path)}


def offer(repo: Repo, name: str, path: str, old: str, new: str) -> str:
    text = repo.read(path, MAIN)
    assert old in text
    ref, base = f"refs/heads/land/{name}", repo.oid(MAIN)
    return repo.commit_at(ref, {path: text.replace(old, new)}, name, parents=(base,))


def told(repo: Repo, env: dict[str, str]) -> dict[str, Any]:
    done = gitagent(repo, "status", "--json", env=env)

    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["daemon"]
    return found


def code(repo: Repo) -> object:
    """Return what the daemon has written down of its code; `told` is slow to ask."""
    path = repo.common_dir / "gitagent/daemon.json"
    return json.loads(path.read_text())["code"] if path.exists() else None


def newer(repo: Repo, name: str, version: str = "9.9.9") -> str:
    return offer(repo, name, INIT, f'"{package.__version__}"', f'"{version}"')


def test_a_landed_version_runs_in_the_same_process_and_its_worker_goes_on(
    repo: Repo, env: dict[str, str], daemon: Start
):
    repo.add_task("long", "sleep 600")
    running = daemon(repo, env=env)
    running.wait_attempt("long")
    before = told(repo, env)
    started = repo.oid(MAIN)
    newer(repo, "newer")
    running.wait_line(r"9\.9\.9 on ", timeout=90)
    running.until(lambda: code(repo) == repo.oid(MAIN), timeout=60, what="its code")
    after = told(repo, env)
    running.wait_attempt("long", 2, timeout=90)
    task = record(repo, "refs/gitagent/tasks/long") or {}
    offer(repo, "more", ".gitignore", "__", "*.o\n__")
    running.until(
        lambda: "*.o" in repo.read(".gitignore", MAIN), timeout=60, what="it lands on"
    )

    assert (running.pid, started) == (before["pid"], before["code"])
    assert {"running": True, "pid": running.pid, "code": repo.oid(f"{MAIN}^")} == {
        key: after[key] for key in ("running", "pid", "code")
    }
    assert after["swap"] is None
    assert "interrupted" == task["attempts"][0]["outcome"]
    assert 0 == task["failures"]
    assert 0 == running.stop()


def test_code_that_cannot_be_loaded_never_runs_and_is_said(
    repo: Repo, env: dict[str, str], daemon: Start
):
    running = daemon(repo, env=env)
    before = repo.oid(MAIN)
    first = "from dataclasses import"
    offer(repo, "broken", TASKS, first, f"import no_such_thing\n{first}")
    running.wait_line("swap failed: .*no_such_thing", timeout=90)
    shown = json.loads((repo.common_dir / "gitagent/daemon.json").read_text())
    broken = repo.oid(MAIN)
    other = repo.commit_at(
        "refs/heads/land/other", {"other.txt": "x\n"}, "other", parents=(broken,)
    )
    running.until(
        lambda: 0 == repo.ask("merge-base", "--is-ancestor", other, MAIN),
        timeout=60,
        what="the old code lands on",
    )

    assert before == shown["code"]
    assert running.pid == shown["pid"]
    assert broken[:12] in shown["swap"]
    assert 1 == running.log.count("is tried out")
    offer(repo, "mended", TASKS, "import no_such_thing\n", "")
    running.wait_line("the newest again", timeout=60)

    assert told(repo, env)["swap"] is None


def test_what_came_past_the_lander_does_not_run_by_itself(
    repo: Repo, env: dict[str, str], daemon: Start
):
    running = daemon(repo, env=env)
    before = repo.oid(MAIN)
    text = repo.read(INIT).replace(package.__version__, "6.6.6")
    direct = repo.commit({INIT: text}, "Not checked")
    running.wait_line("swap failed: .*past the lander", timeout=60)
    shown = told(repo, env)

    assert before == shown["code"]
    assert direct[:12] in shown["swap"]
    assert "6.6.6" not in running.log.replace(direct, "")


def test_a_detached_daemon_changes_over_too_and_can_be_stopped(
    repo: Repo, env: dict[str, str]
):
    gitagent(repo, "up", "--detach", env=env)
    pid = told(repo, env)["pid"]
    log = repo.common_dir / "gitagent/log/daemon.log"
    newer(repo, "newer")
    wait_for(
        lambda: code(repo) == repo.oid(MAIN) and "9.9.9 on" in log.read_text(),
        repo.common_dir / "refs",
        timeout=90,
        what=log.read_text,
    )
    after = told(repo, env)
    down = gitagent(repo, "down", env=env)

    assert 0 == down.returncode
    assert pid == after["pid"]
    assert "9.9.9 on" in log.read_text()
    assert not told(repo, env)["running"]


def test_a_daemon_whose_code_lies_elsewhere_has_none_to_show(repo: Repo, daemon: Start):
    running = daemon(repo)
    newer(repo, "newer")
    running.until(lambda: "9.9.9" in repo.read(INIT, MAIN), timeout=60, what="it lands")

    assert told(repo, {})["code"] is None
    assert "tried out" not in running.log


def test_the_rehearsal_reads_what_the_daemon_reads(repo: Repo, env: dict[str, str]):
    done = subprocess.run(
        [*COMMAND, "rehearse"],
        cwd=repo.path,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)

    assert str(repo.path / "gitagent") == said["package"]
    assert (MAIN, repo.oid("main:.agent/config.toml")) == (
        said["target"],
        said["config"],
    )


def test_a_program_that_cannot_be_started_leaves_the_old_one_at_work(
    repo: Repo, env: dict[str, str]
):
    program = (
        "import gitagent.daemon.service as service\n"
        "from gitagent.cli import main\n"
        "def no(): raise OSError('not today')\n"
        "service.change_over = no\n"
        "main()\n"
    )
    log = repo.path.parent / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-P", "-c", program, "up"],
            cwd=repo.path,
            env={**os.environ, **env},
            stdout=out,
            stderr=out,
        ) as process,
    ):
        try:
            refs = repo.common_dir / "refs"
            what = log.read_text
            wait_for(lambda: "process" in what(), refs, timeout=60, what=what)
            newer(repo, "newer")
            wait_for(lambda: "not today" in what(), refs, timeout=90, what=what)
            begun = f"{package.__version__} on "
            wait_for(lambda: what().count(begun) == 2, refs, timeout=60, what=what)
            landed = repo.oid(MAIN)
            tip = repo.commit_at(
                "refs/heads/land/x", {"x.txt": "x\n"}, "x", parents=(landed,)
            )
            wait_for(
                lambda: 0 == repo.ask("merge-base", "--is-ancestor", tip, MAIN),
                refs,
                timeout=60,
                what=what,
            )
            shown = told(repo, env)
        finally:
            process.terminate()

    assert (process.pid, True) == (shown["pid"], "not today" in shown["swap"])
    assert 0 == process.returncode
