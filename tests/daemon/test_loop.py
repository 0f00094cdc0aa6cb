"""The loop, stepped by hand on a real repository."""

import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from gitagent.core.submission import SubmissionState
from gitagent.core.task import TaskState
from gitagent.daemon import loop as loop_module
from gitagent.daemon import tasks
from gitagent.daemon.loop import Loop
from gitagent.errors import GitError, LostRace
from gitagent.git import records, refs
from gitagent.git.repository import Repository
from gitagent.host import place
from gitagent.host.clock import Wake
from gitagent.lander import prepare
from tests.support.repos import Repo

Rest = Callable[[], None]
GONE = b"1" * 40  # an object that is not here


def submission(loop: Loop):
    assert loop.snapshot is not None
    (found,) = loop.snapshot.submissions.values()
    return found


def test_what_only_some_attempts_need_is_loaded_for_them():
    names = (
        *("acp", "anthropic", "apscheduler", "asyncio", "h11", "httpx", "mcp"),
        *("pydantic", "pygit2", "rich", "sqlite3", "ssl", "gitagent.model.gateway"),
    )
    code = f"import gitagent.daemon.loop, sys; print(*{{*{names}}} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert "\n" == done.stdout


def test_a_turn_without_news_does_nothing(loop: Loop, rest: Rest):
    rest()

    assert not loop.turn()


def test_it_lands_what_is_pushed_and_deletes_the_ref(
    kept: Repo, loop: Loop, rest: Rest
):
    kept.commit({"b.txt": "two\n"}, branch="land/b")
    rest()

    assert submission(loop).state is SubmissionState.LANDED
    assert kept.read("b.txt") == "two\n"
    assert kept.ref("refs/heads/land/b") is None
    assert kept.refs("refs/gitagent/candidates/") == {}


def test_a_landed_branch_that_somebody_is_on_stays(kept: Repo, rest: Rest):
    kept.git("checkout", "-q", "-b", "land/mine")
    kept.commit({"b.txt": "two\n"})
    rest()

    assert kept.read("b.txt", "main") == "two\n"
    assert kept.git("symbolic-ref", "HEAD") == "refs/heads/land/mine"
    assert kept.status() == []


def test_a_receipt_stands_for_another_run_with_the_same_key(kept: Repo, rest: Rest):
    base = kept.head()
    kept.commit_at("refs/heads/land/b", {"b.txt": "two\n"}, parents=(base,))
    rest()
    kept.git("update-ref", "refs/heads/main", base)
    kept.git("reset", "-q", "--hard")
    kept.commit_at(
        "refs/heads/land/c", {"b.txt": "two\n"}, "the same tree", parents=(base,)
    )
    rest()

    receipts = kept.refs("refs/gitagent/receipts/")
    (chain,) = receipts
    runs = [p for p in kept.paths(chain) if p.endswith("-1.json")]
    assert len(runs) == 1


def test_a_lost_race_is_read_again_and_not_shown(
    kept: Repo, loop: Loop, rest: Rest, monkeypatch: pytest.MonkeyPatch
):
    real, lost = tasks.write, []

    def write(*args, **fields):
        if not lost:
            lost.append(True)
            raise LostRace("somebody was quicker")
        return real(*args, **fields)

    monkeypatch.setattr(tasks, "write", write)
    kept.add_task("t", "echo x > x.txt")
    rest()

    assert lost
    assert loop.snapshot.records["t"].state is TaskState.LANDED


def test_an_effect_that_fails_is_put_off_and_tried_again(
    kept: Repo,
    loop: Loop,
    rest: Rest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Disk full during a landing: it stays in the queue and says why."""
    real, failing = refs.update, [True]

    def update(git, updates, message, **more):
        updates = list(updates)
        if failing and any(u.ref == "refs/heads/main" for u in updates):
            raise GitError(("git", "update-ref"), 128, "fatal: No space left on device")
        return real(git, updates, message, **more)

    monkeypatch.setattr("gitagent.git.advance.update", update, raising=False)
    monkeypatch.setattr("gitagent.git.refs.update", update)
    kept.git("checkout", "-q", "--detach")
    kept.commit_at("refs/heads/land/b", {"b.txt": "two\n"}, parents=(kept.head(),))
    rest()
    held = submission(loop)
    failing.clear()
    loop.live.waits.clear()
    rest()

    assert not held.settled
    assert "No space left on device" in held.reason
    assert "No space left on device" in capsys.readouterr().err
    assert submission(loop).state is SubmissionState.LANDED


def test_what_cannot_be_prepared_is_held_and_lets_the_others_pass(
    kept: Repo, loop: Loop, rest: Rest
):
    """What it names is not all here: no push brings that, but a damaged disk does."""
    base = kept.head()
    gone = kept.git("mktree", "--missing", stdin=b"040000 tree %b\tgone\n" % GONE)
    bad = kept.git("commit-tree", gone, "-p", base, "-m", "bad")
    kept.git("update-ref", "refs/heads/land/a-bad", bad)
    rest()
    kept.commit_at("refs/heads/land/b", {"b.txt": "two\n"}, parents=(base,))
    rest()

    found = {s.tip == bad: s for s in loop.snapshot.submissions.values()}
    assert SubmissionState.HELD is found[True].state
    assert GONE.decode() in found[True].reason
    assert SubmissionState.LANDED is found[False].state


def test_what_cannot_be_checked_out_is_held_and_lets_the_others_pass(
    kept: Repo, loop: Loop, rest: Rest
):
    base = kept.head()
    tree = kept.git("ls-tree", base)
    stdin = tree.encode() + b"\n100644 blob %b\tgone\n" % GONE
    gone = kept.git("mktree", "--missing", stdin=stdin)
    bad = kept.git("commit-tree", gone, "-p", base, "-m", "bad")
    kept.git("update-ref", "refs/heads/land/a-bad", bad)
    rest()
    kept.commit_at("refs/heads/land/b", {"b.txt": "two\n"}, parents=(base,))
    rest()

    found = {s.tip == bad: s for s in loop.snapshot.submissions.values()}
    assert SubmissionState.HELD is found[True].state
    assert GONE.decode() in found[True].reason
    assert SubmissionState.LANDED is found[False].state


def test_a_bug_in_one_effect_does_not_end_the_loop(
    kept: Repo, loop: Loop, rest: Rest, monkeypatch: pytest.MonkeyPatch
):
    real = prepare.Round._merge
    bad = kept.commit_at("refs/heads/land/a", {"a.txt": "1\n"}, parents=(kept.head(),))

    def buggy(self, onto, submission):
        if submission.tip == bad:
            raise ZeroDivisionError("a bug")
        return real(self, onto, submission)

    monkeypatch.setattr(prepare.Round, "_merge", buggy)
    rest()
    kept.commit_at("refs/heads/land/b", {"b.txt": "two\n"}, parents=(kept.head(),))
    rest()

    found = {s.tip == bad: s for s in loop.snapshot.submissions.values()}
    assert SubmissionState.HELD is found[True].state
    assert "ZeroDivisionError" in found[True].reason
    assert SubmissionState.LANDED is found[False].state


def test_a_directory_that_cannot_be_written_ends_nothing(
    kept: Repo, loop: Loop, rest: Rest, monkeypatch: pytest.MonkeyPatch
):
    def append(*_args, **_fields):
        raise GitError(("git", "hash-object"), 128, "fatal: Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(records.Records, "append", append)
        kept.add_task("t", "echo x > x.txt")
        assert not loop.turn()
        assert not loop.turn()
    loop.live.waits.clear()
    rest()

    assert loop.snapshot.records["t"].state is TaskState.LANDED


def test_a_nearly_full_disk_starts_nothing_and_says_so(
    kept: Repo, loop: Loop, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(place, "free_bytes", lambda _path: 1000)
    kept.add_task("t", "echo x > x.txt")
    while loop.turn():
        pass

    assert loop.snapshot.records["t"].state is TaskState.WAITING
    assert "disk is nearly full" in loop.snapshot.records["t"].reason


def test_a_cache_that_cannot_be_used_starts_nothing_and_says_so(
    kept: Repo, loop: Loop, rest: Rest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept.write("no-folder", "")))
    kept.add_task("t", "echo x > x.txt")
    kept.commit({"b.txt": "two\n"}, branch="land/b")
    rest()

    assert submission(loop).state is SubmissionState.QUEUED
    assert "no-folder is no folder" in submission(loop).reason
    assert loop.snapshot.records["t"].state is TaskState.WAITING
    assert "no-folder is no folder" in loop.snapshot.records["t"].reason


def test_settings_that_break_stop_the_queue_and_their_repair_starts_it(
    kept: Repo, loop: Loop, rest: Rest
):
    good = kept.read(".agent/config.toml")
    kept.commit({".agent/config.toml": "target = \n"})
    for name in ("b", "c"):
        files = {f"{name}.txt": "two\n"}
        kept.commit_at(f"refs/heads/land/{name}", files, parents=(kept.head(),))
    rest()
    stuck = [s for s in loop.snapshot.submissions.values() if not s.settled]
    kept.commit({".agent/config.toml": good})
    rest()

    assert ["Nothing lands" in s.reason for s in stuck] == [True, True]
    assert kept.read("c.txt") == "two\n"
    assert kept.read("b.txt") == "two\n"


def test_a_record_of_a_newer_release_stops_its_task_alone(
    kept: Repo, loop: Loop, rest: Rest
):
    kept.commit_at("refs/gitagent/tasks/new", {"record-v2.json": "{}"})
    kept.add_task("new", "echo x > x.txt")
    kept.add_task("old", "echo y > y.txt")
    rest()

    assert "new" not in loop.snapshot.records
    assert any("newer gitagent" in r.reason for r in loop.snapshot.refused)
    assert loop.snapshot.records["old"].state is TaskState.LANDED


def test_without_work_no_attempt_starts(kept: Repo, repository: Repository):
    made = Loop(repository, Wake(), work=False)
    kept.add_task("t", "echo x > x.txt")

    assert not made.turn()
    assert made.snapshot.records == {}


def test_settled_records_move_to_the_archive_and_stay_readable(
    kept: Repo, rest: Rest, monkeypatch: pytest.MonkeyPatch
):
    config = kept.read(".agent/config.toml")
    kept.commit({".agent/config.toml": f"{config}\n[records]\nkeep = 1\n"})
    kept.add_task("t", "echo x > x.txt")
    rest()
    tip = kept.oid("refs/gitagent/tasks/t")
    old = loop_module.moment

    def later():
        now = old()
        return replace(now, stamp="2036-01-01T00:00:00Z", monotonic=now.monotonic + 1e5)

    monkeypatch.setattr(loop_module, "moment", later)
    rest()
    (archive,) = kept.refs("refs/gitagent/archive/")

    assert kept.refs("refs/gitagent/tasks/") == {}
    assert kept.refs("refs/gitagent/submissions/") == {}
    assert kept.ask("merge-base", "--is-ancestor", tip, archive) == 0
    kept.fsck()


def test_a_push_reaches_the_remote_and_a_refusal_leaves_the_landing(
    kept: Repo, loop: Loop, rest: Rest, tmp_path
):
    remote = kept.clone(tmp_path / "remote", bare=True)
    kept.git("remote", "add", "origin", str(remote.path))
    config = kept.read(".agent/config.toml")
    kept.commit({".agent/config.toml": f'{config}\n[lander]\npush = "origin"\n'})
    hook = remote.hook("pre-receive", "#!/bin/sh\necho not on Fridays >&2\nexit 1\n")
    kept.commit_at("refs/heads/land/b", {"b.txt": "two\n"}, parents=(kept.head(),))
    rest()
    refused = submission(loop)
    hook.chmod(stat.S_IRUSR)
    loop.live.waits.clear()
    rest()

    assert refused.state is SubmissionState.LANDED
    assert "not on Fridays" in refused.reason
    assert submission(loop).push == "pushed"
    assert remote.oid("refs/heads/main") == kept.oid("refs/heads/main")


def test_stopping_ends_a_check_without_a_receipt_and_starts_no_other(
    kept: Repo, loop: Loop
):
    config = kept.read(".agent/config.toml").replace("test ! -e bad", "sleep 300")
    kept.commit({".agent/config.toml": config})
    kept.commit({"b.txt": "two\n"}, branch="land/b")
    while not loop.live.runs:
        loop.turn()
    loop.stopping = True
    loop.live.stop_all()
    loop.run(lambda _: not loop.live.busy)

    assert kept.refs("refs/gitagent/receipts/") == {}
    assert submission(loop).state is SubmissionState.CHECKING
    assert not loop.turn()


def test_what_a_long_life_remembers_is_bounded(
    kept: Repo, loop: Loop, rest: Rest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gitagent.daemon.read.REMEMBERED", 2)
    for number in range(4):
        kept.add_task(f"t{number}", f"echo {number} > {number}.txt")
    rest()

    assert {r.state for r in loop.snapshot.records.values()} == {TaskState.LANDED}
    # Only what the newest read needs, and not each step of four lives.
    assert len(loop.reader._tasks_by_oid) == 4
