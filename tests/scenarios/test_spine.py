"""From a committed task file to a checked landing, with a real daemon."""

import textwrap
from collections.abc import Callable
from pathlib import Path

from gitagent.core.ident import submission_id
from gitagent.host import kin
from gitagent.host.place import cache_root
from tests.support.daemon import Daemon, gitagent, record, status
from tests.support.repos import Repo, settings_text, task_text

Start = Callable[..., Daemon]


def only_submission(repo: Repo) -> dict[str, object]:
    (ref,) = repo.refs("refs/gitagent/submissions/")
    found = record(repo, ref)
    assert found is not None
    return found


def test_a_committed_task_lands_and_the_checkout_follows(kept: Repo, daemon: Start):
    running = daemon(kept)
    base = kept.add_task("greet", "echo hello > hello.txt", title="Say hello")
    running.wait_task("greet", "landed")

    assert kept.read("hello.txt") == "hello\n"
    assert (kept.path / "hello.txt").read_text() == "hello\n"
    assert kept.status() == []
    assert kept.oid("HEAD^1") == base
    assert not (kept.path / ".agent/tasks/greet.md").exists()
    assert (kept.path / ".agent/tasks/done/greet.md").exists()
    trailers = dict(kept.trailers())
    assert trailers["Gitagent-Task"] == "greet"
    assert trailers["Gitagent-Tip"] == kept.oid("HEAD^2")
    assert trailers["Gitagent-Check"].startswith("tests passed")
    (note,) = kept.paths(under=".agent/landings")
    assert "Say hello" in kept.read(note)
    kept.fsck()


def test_every_step_can_be_read_with_plain_git(kept: Repo, daemon: Start):
    running = daemon(kept)
    kept.add_task("greet", "echo hello > hello.txt")
    running.wait_task("greet", "landed")
    submission = only_submission(kept)

    story = kept.log("%s", "--first-parent", "refs/gitagent/tasks/greet")
    assert "attempt 1 starts" in story[-1] or "attempt 1 starts" in story[-2]
    assert "landed" in story[0]
    receipt = submission["checks"][0]["receipt"]
    assert '"passed"' in kept.git("show", receipt)
    running.stop()


def test_a_branch_that_breaks_the_check_is_rejected_with_its_output(
    kept: Repo, daemon: Start
):
    before = kept.head()
    kept.commit({"c.txt": "this is bad\n"}, branch="land/broken")
    daemon(kept).wait_submission(submission_of(kept), "rejected")

    found = only_submission(kept)
    assert kept.head() == before
    assert "tests failed twice" in found["reason"]
    assert "run 2, exit 1" in found["output"]


def submission_of(repo: Repo, name: str = "refs/heads/land/broken") -> str:
    return submission_id(repo.oid(name))


def test_a_renames_b_calls_each_green_alone_and_the_target_stays_green(
    kept: Repo, daemon: Start
):
    check = (
        'for f in use-*; do [ -e "$f" ] || continue; [ -e "$(cat $f)" ] || exit 1; done'
    )
    kept.commit({".agent/config.toml": settings_text(check), "old": "", "use-1": "old"})
    base = kept.head()
    kept.commit_at(
        "refs/heads/land/a",
        {"old": None, "new": "", "use-1": "new"},
        parents=(base,),
    )
    running = daemon(kept)
    running.wait_submission(submission_of(kept, "refs/heads/land/a"), "landed")
    kept.commit_at("refs/heads/land/b", {"use-2": "old"}, parents=(base,))
    running.wait_submission(submission_of(kept, "refs/heads/land/b"), "rejected")

    assert kept.ref("refs/heads/land/a") is None
    assert "new" in kept.paths()
    assert "use-2" not in kept.paths()


def test_textual_conflict_names_the_path_and_starts_no_check(kept: Repo, daemon: Start):
    base = kept.head()
    kept.commit({"a.txt": "ONE\n"})
    kept.commit_at("refs/heads/land/broken", {"a.txt": "eins\n"}, parents=(base,))
    daemon(kept).wait_submission(submission_of(kept), "rejected")

    assert "a.txt" in only_submission(kept)["reason"]
    assert kept.refs("refs/gitagent/receipts/") == {}


def test_edits_in_the_way_hold_it_and_it_lands_once_they_are_gone(
    kept: Repo, daemon: Start
):
    kept.commit({"b.txt": "beta\n"}, branch="land/broken")
    kept.write("b.txt", "my own edit\n")
    kept.write("README.md", "# mine\n")
    running = daemon(kept)
    held = running.wait_submission(submission_of(kept), "held")
    mine = (kept.path / "b.txt").read_text()
    kept.git("checkout", "-q", "b.txt")
    running.wait_submission(held["id"], "landed")

    assert "b.txt" in held["reason"]
    assert mine == "my own edit\n"
    assert (kept.path / "b.txt").read_text() == "beta\n"
    assert (kept.path / "README.md").read_text() == "# mine\n"
    assert kept.status() == [" M README.md"]


def test_a_failing_task_is_tried_again_with_its_output(kept: Repo, daemon: Start):
    script = (
        'if [ -s "$GITAGENT_PREVIOUS_OUTPUT_FILE" ]; then echo ok > done.txt; '
        "else echo the first go; exit 3; fi"
    )
    running = daemon(kept)
    kept.add_task("again", script, front="retries = 1")
    found = running.wait_task("again", "landed")

    assert [a["outcome"] for a in found["attempts"]] == ["failed", "ok"]


def test_a_result_outside_its_paths_does_not_land_and_says_which(
    kept: Repo, daemon: Start
):
    running = daemon(kept)
    kept.add_task("wide", "echo x >> b.txt", front='paths = ["docs/**"]')
    found = running.wait_task("wide", "failed")

    assert "b.txt" in found["reason"]
    assert kept.read("b.txt") == "alpha\n"
    assert kept.read("b.txt", "refs/heads/agent/wide") == "alpha\nx\n"


def test_a_criterion_that_is_red_refuses_the_landing(kept: Repo, daemon: Start):
    running = daemon(kept)
    kept.add_task("crit", "echo x > c.txt", front='accept = ["test -e missing"]')
    found = running.wait_task("crit", "failed")

    assert "accept-1" in found["reason"]


def test_stop_amend_and_delete_leave_no_process_and_keep_the_work(
    kept: Repo, daemon: Start
):
    wait = "echo begun > begun.txt; (setsid sleep 300 &) ; sleep 300"
    running = daemon(kept)
    kept.add_task("one", wait)
    written(running, "one-1", "begun.txt")
    kept.add_task("one", "echo second > second.txt")
    running.wait_task("one", "landed")
    kept.add_task("two", wait.replace("begun.txt", "two.txt"))
    written(running, "two-1", "two.txt")
    stopped = gitagent(kept, "task", "stop", "two")
    running.wait_task("two", "stopped")

    assert stopped.returncode == 0, stopped.stderr
    assert kept.read("second.txt") == "second\n"
    assert kept.read("two.txt", "refs/heads/agent/two") == "begun\n"
    assert children_of(running.pid) == []


def children_of(pid: int) -> list[str]:
    """Return what its children run, and theirs; without the daemon's own git."""
    found, family = [], {pid}
    for process in sorted(kin.table(), key=lambda each: each.ticks):
        if process.parent in family and process.state not in "ZX":
            command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            name = command.split(b"\0")[0].decode()
            if process.parent == pid and name == "git":
                continue
            family.add(process.pid)
            found.append(name)
    return found


def test_after_and_priority_order_the_work(kept: Repo, daemon: Start):
    kept.commit(
        {
            ".agent/tasks/second.md": task_text(
                "cat first.txt > second.txt", front='after = ["first"]'
            ),
            ".agent/tasks/first.md": task_text("echo 1 > first.txt"),
        }
    )
    running = daemon(kept)
    running.wait_task("second", "landed", timeout=90)

    assert kept.read("second.txt") == "1\n"


def test_a_malformed_task_is_refused_alone(kept: Repo, daemon: Start):
    running = daemon(kept)
    kept.commit(
        {
            ".agent/tasks/bad.md": "+++\npriority = \n+++\n# x\n",
            ".agent/tasks/Bad Name.md": "# x\n",
            ".agent/tasks/good.md": task_text("echo g > g.txt"),
        }
    )
    running.wait_task("good", "landed")

    refused = {entry["path"]: entry["reason"] for entry in status(kept)["refused"]}
    assert set(refused) == {".agent/tasks/bad.md", ".agent/tasks/Bad Name.md"}
    assert all("\n" not in reason for reason in refused.values())


def test_a_task_with_nothing_to_do_is_done_and_filed(kept: Repo, daemon: Start):
    running = daemon(kept)
    kept.add_task("noop", "true")
    running.wait_task("noop", "done")
    running.until(
        lambda: ".agent/tasks/done/noop.md" in kept.paths(), timeout=20, what="the move"
    )

    assert kept.status() == []
    assert status(kept)["target"]["direct"] == []


def test_a_direct_commit_is_a_finding_and_a_task_commit_is_none(
    kept: Repo, daemon: Start
):
    daemon(kept)
    kept.add_task("noop", "true")
    direct = kept.commit({"b.txt": "straight\n"})

    assert status(kept)["target"]["direct"] == [direct]


def test_a_checker_cannot_be_edited_by_the_checked(kept: Repo, daemon: Start):
    running = daemon(kept)
    edit = "sed -i 's/^run = .*/run = \"true\"/' .agent/config.toml; echo bad > c.txt"
    kept.add_task("sly", edit)
    submitted = running.wait_task("sly", "submitted")
    held = running.wait_submission(submitted["submission"], "held")
    approved = gitagent(kept, "approve", "sly")
    found = running.wait_task("sly", "failed")

    assert ".agent/config.toml (protected)" in held["reason"]
    assert approved.returncode == 0
    assert "tests failed twice" in found["reason"]
    assert "c.txt" not in kept.paths()


def test_down_interrupts_without_cost_and_up_goes_on(kept: Repo, daemon: Start):
    running = daemon(kept)
    script = textwrap.dedent("""\
        if [ -e half.txt ]; then echo rest > rest.txt
        else echo half > half.txt; sleep 300; fi""")
    kept.add_task("long", script)
    written(running, "long-1", "half.txt")
    code = running.stop()
    between = record(kept, "refs/gitagent/tasks/long")
    again = daemon(kept)
    found = again.wait_task("long", "landed")

    assert code == 0
    assert between["state"] == "waiting"
    assert found["failures"] == 0
    assert kept.read("rest.txt") == "rest\n"
    assert kept.read("half.txt") == "half\n"


def written(running: Daemon, attempt: str, name: str) -> None:
    """Wait until a worker has written a file in its worktree."""
    attempts = cache_root(running.repo.common_dir) / "attempts"
    file = attempts / attempt / "tree" / name
    running.until(file.exists, timeout=30, what=f"{attempt} wrote {name}")
