"""Protected paths, weakened tests and unsaid divergence, with a real daemon."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from gitagent.core.ident import submission_id
from tests.support.daemon import Daemon, gitagent, record
from tests.support.keys import Key
from tests.support.repos import Repo, settings_text, task_text
from tests.support.waiting import wait_for

Start = Callable[..., Daemon]

pytestmark = pytest.mark.slow

ME = "person@example.org"
LINES = "".join(f"line {n}\n" for n in range(9))
TEST = "def test_one():\n    assert 1 == 1\n"
SKIPPED = f"import pytest\n\n\n@pytest.mark.skip\n{TEST}"


def offered(repo: Repo, files: dict[str, str | None], name: str = "work") -> str:
    """Offer a commit on a land branch; return its submission's id."""
    ref = f"refs/heads/land/{name}"
    return submission_id(repo.commit_at(ref, files, parents=(repo.head(),)))


def approve(repo: Repo, name: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Approve as a person does; it has to succeed."""
    done = gitagent(repo, "approve", name, *args)

    assert 0 == done.returncode, done.stderr
    return done


def of_task(repo: Repo, task: str) -> dict[str, Any]:
    """Return the newest submission of a task."""
    found = record(repo, f"refs/gitagent/tasks/{task}")
    assert found is not None
    made = record(repo, f"refs/gitagent/submissions/{found['submission']}")
    assert made is not None
    return made


def test_a_protected_path_is_held_with_the_paths_until_it_is_approved(
    kept: Repo, daemon: Start
):
    name = offered(kept, {".mcp.json": "{}\n", ".claude/x": "x", "a": "a"})
    running = daemon(kept)
    held = running.wait_submission(name, "held")
    other = offered(kept, {"free.txt": "free\n"}, "free")
    running.wait_submission(other, "landed")
    approve(kept, name, "--because", "ours")
    landed = running.wait_submission(name, "landed")

    assert ".claude/x (protected), .mcp.json (protected)" in held["reason"]
    assert f"gitagent approve {name}" in held["reason"]
    assert kept.read(".mcp.json", landed["commit"]) == "{}\n"
    given = kept.oid(f"refs/gitagent/approvals/{name}")
    assert ("Gitagent-Approved", f"{given} Test Person <{ME}>") in kept.trailers("main")
    assert kept.status() == []
    kept.fsck()


def test_one_that_waits_in_the_queue_can_be_approved_before_any_daemon(
    kept: Repo, daemon: Start
):
    kept.commit({".mcp.json": "{}\n"}, branch="work")
    name = gitagent(kept, "submit", "work").stdout.strip()
    approve(kept, name)
    running = daemon(kept)
    running.wait_submission(name, "landed")

    assert kept.paths(under=".mcp.json") == [".mcp.json"]


def test_settings_are_changed_by_an_approved_submission(kept: Repo, daemon: Start):
    changed = {".agent/config.toml": settings_text("test -e README.md")}
    name = offered(kept, changed)
    running = daemon(kept)
    running.wait_submission(name, "held")
    approve(kept, name)
    running.wait_submission(name, "landed")
    other = offered(kept, {"bad.txt": "bad\n"}, "now-fine")
    running.wait_submission(other, "landed")


def test_an_approval_is_void_when_the_target_changes_the_file(
    kept: Repo, daemon: Start
):
    kept.commit({".mcp.json": LINES}, "Begin")
    name = offered(kept, {".mcp.json": LINES + "more\n"})
    first = daemon(kept)
    first.wait_submission(name, "held")
    first.stop()
    approve(kept, name)
    kept.commit({".mcp.json": "first\n" + LINES}, "Meanwhile")
    second = daemon(kept)
    free = offered(kept, {"free.txt": "free\n"}, "free")
    second.wait_submission(free, "landed")
    held = record(kept, f"refs/gitagent/submissions/{name}")
    approve(kept, name)
    second.wait_submission(name, "landed")

    assert held is not None
    assert "held" == held["state"]
    assert kept.read(".mcp.json") == "first\n" + LINES + "more\n"


def test_where_signers_are_named_only_their_word_counts(
    kept: Repo, daemon: Start, tmp_path
):
    boss, other = Key.make(tmp_path / "boss"), Key.make(tmp_path / "other")
    trust = settings_text("true", '[trust]\nallowed_signers = "signers"')
    kept.commit({"signers": boss.allowed(ME), ".agent/config.toml": trust}, "Trust")
    name = offered(kept, {".mcp.json": "{}\n"})
    running = daemon(kept)
    running.wait_submission(name, "held")
    unsigned = gitagent(kept, "approve", name, "--key", str(other.path))
    forged = {
        "version": 1,
        "submission": name,
        "tip": kept.oid("land/work"),
        "by": f"Test Person <{ME}>",
        "when": "2026-11-30T12:00:00Z",
        "paths": [
            {
                "path": ".mcp.json",
                "mode": 0o100644,
                "blob": kept.oid("land/work:.mcp.json"),
            }
        ],
    }
    ref = f"refs/gitagent/approvals/{name}"
    text = {"record-v1.json": json.dumps(forged)}
    kept.commit_at(ref, text, author=f"Test Person <{ME}>")
    free = offered(kept, {"free.txt": "free\n"}, "free")
    running.wait_submission(free, "landed")
    held = record(kept, f"refs/gitagent/submissions/{name}")
    told = gitagent(kept, "status", name).stdout
    approve(kept, name, "--key", str(boss.path))
    running.wait_submission(name, "landed")

    assert 1 == unsigned.returncode
    assert held is not None
    assert "held" == held["state"]
    assert "does not count: " in told


def test_a_worker_that_skips_a_test_waits_for_a_person(kept: Repo, daemon: Start):
    kept.commit({"tests/test_one.py": TEST, "skipped": SKIPPED}, "Test")
    running = daemon(kept)
    kept.add_task("skip", "cp skipped tests/test_one.py")
    wait_for(
        lambda: kept.refs("refs/gitagent/submissions/"),
        kept.common_dir / "refs",
        timeout=60,
        what="a submission",
    )
    (ref,) = kept.refs("refs/gitagent/submissions/")
    held = running.wait_submission(ref.rpartition("/")[2], "held")
    approve(kept, "skip")
    running.wait_task("skip", "landed")

    assert "tests/test_one.py (1 more skip)" in held["reason"]


def test_a_person_that_skips_a_test_is_told_of_it_in_the_note(
    kept: Repo, daemon: Start
):
    kept.commit({"tests/test_one.py": TEST}, "Test")
    name = offered(kept, {"tests/test_one.py": SKIPPED})
    daemon(kept).wait_submission(name, "landed")
    (note,) = kept.paths(under=".agent/landings")

    assert "1 more skip" in kept.read(note)


def test_a_worker_that_deletes_a_test_unsaid_is_rejected_with_the_path(
    kept: Repo, daemon: Start
):
    statement = json.dumps({"status": "done", "divergence": "None"})
    kept.commit(
        {
            "tests/test_one.py": TEST,
            "clean.sh": "rm tests/test_*.py; echo more >> a.txt\n"
            f"echo '{statement}' > \"$GITAGENT_RETURN_FILE\"\n",
        },
        "Test",
    )
    running = daemon(kept)
    kept.add_task("creep", "sh clean.sh")
    running.wait_task("creep", "failed")
    found = of_task(kept, "creep")

    assert "rejected" == found["state"]
    assert "It deletes tests" in found["reason"]
    assert "tests/test_one.py" in found["reason"]
    assert kept.paths(under="tests") == ["tests/test_one.py"]


def test_a_worker_cannot_approve_its_own_result(kept: Repo, daemon: Start):
    script = (
        "echo '{}' > .mcp.json; git add -A; git commit -q -m Work\n"
        "for dir in . /gitagent/git; do\n"
        "git -C $dir update-ref refs/gitagent/approvals/s-000000000000 HEAD; done\n"
        "command -v gitagent && gitagent approve mine; true\n"
    )
    running = daemon(kept)
    kept.commit({".agent/tasks/mine.md": task_text(script)}, "Ask")
    wait_for(
        lambda: kept.refs("refs/gitagent/submissions/"),
        kept.common_dir / "refs",
        timeout=60,
        what="a submission",
    )
    (ref,) = kept.refs("refs/gitagent/submissions/")
    held = running.wait_submission(ref.rpartition("/")[2], "held")

    assert ".mcp.json (protected)" in held["reason"]
    assert {} == kept.refs("refs/gitagent/approvals/")


def test_a_push_to_a_hub_writes_no_approval(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", {"README.md": "# hub\n"}, bare=True)
    gitagent(hub, "init", "--no-check")
    clone = hub.clone(tmp_path / "clone")
    ref = "refs/gitagent/approvals/s-000000000000"
    pushed = subprocess.run(
        ["git", "push", "origin", f"HEAD:{ref}"],
        cwd=clone.path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == pushed.returncode
    assert "written by gitagent alone" in pushed.stderr
    assert {} == hub.refs("refs/gitagent/approvals/")
