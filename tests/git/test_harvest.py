"""Taking over commits from a Git directory that is hostile."""

import os
import shutil

import pytest

from gitagent.errors import Busy
from gitagent.git import harvest
from gitagent.git.harvest import Fetched, NotFetched, fetch_result, read_head
from gitagent.host.sandbox import command, find_bwrap
from tests.support.attempt import BRANCH, Attempt
from tests.support.repos import Repo

INTO = "refs/gitagent/results/a-1"


@pytest.fixture
def attempt(repo, tmp_path):
    return Attempt(repo, tmp_path / "attempt")


def fetched(attempt, oid="", argv=(), **how):
    """Harvest as the daemon does: upload-pack in the sandbox of the attempt."""
    argv = argv or harvest.upload_pack("/gitagent/git")
    oid = oid or read_head(attempt.git) or ""
    with command(find_bwrap(), argv, attempt.inside) as (line, fds):
        return fetch_result(
            attempt.repo, attempt.git, oid, INTO, line, pass_fds=tuple(fds), **how
        )


def work(attempt, script="echo work > work; git add work; git commit -qm work"):
    attempt.sh(script)
    return read_head(attempt.git)


def test_a_result_comes_into_the_ref_that_was_named_and_no_other(attempt, repo):
    before = repo.refs()
    work(attempt, "git switch -qc more; git tag v1; git commit -q --allow-empty -m x")
    oid = work(attempt)

    assert Fetched(oid) == fetched(attempt)
    assert before | {INTO: oid} == repo.refs()
    assert "work\n" == repo.read("work", oid)
    assert not (repo.common_dir / "FETCH_HEAD").exists()
    repo.fsck()


def test_a_later_result_replaces_the_earlier_even_if_rewritten(attempt, repo):
    work(attempt)
    fetched(attempt)
    oid = work(attempt, "git commit -q --amend -m other")

    assert Fetched(oid) == fetched(attempt)
    assert oid == repo.ref(INTO)


def test_the_base_itself_is_a_result(attempt, repo):
    assert Fetched(repo.head()) == fetched(attempt)


def test_beside_a_worktree_that_is_being_made_or_removed_it_is_busy(
    attempt, repo, tmp_path
):
    """Found by the storm of tests/scenarios/test_chaos.py with two workers."""
    oid = work(attempt)
    repo.worktree(tmp_path / "half")
    folder = repo.common_dir / "worktrees/half"
    head, common = (folder / name for name in ("HEAD", "commondir"))
    whole = head.read_text()

    for spoiled, content in ((head, f"{'0' * 40}\n"), (common, "")):
        before = spoiled.read_text()
        spoiled.write_text(content)
        with pytest.raises(Busy):
            fetched(attempt)
        spoiled.write_text(before)
    assert whole == head.read_text()
    assert Fetched(oid) == fetched(attempt)


def test_many_objects_come_too(attempt):
    oid = work(
        attempt,
        "for i in $(seq 300); do echo $i > f$i; done; git add .; git commit -qm x",
    )

    assert Fetched(oid) == fetched(attempt)


def test_without_a_sandbox_the_same_command_works(attempt):
    oid = work(attempt)
    argv = harvest.upload_pack(str(attempt.git))

    assert Fetched(oid) == fetch_result(attempt.repo, attempt.git, oid, INTO, argv)


def test_sha256(tmp_path):
    repo = Repo.make(tmp_path / "repo", {"a": "1"}, object_format="sha256")
    attempt = Attempt(repo, tmp_path / "attempt")
    oid = work(attempt)

    assert Fetched(oid) == fetched(attempt)
    assert 64 == len(oid)


def test_a_shallow_repository_takes_results(repo, tmp_path):
    for n in range(3):
        repo.commit({"a": str(n)})
    shallow = Repo(tmp_path / "shallow")
    repo.git("clone", "-q", "--depth=2", f"file://{repo.path}", str(shallow.path))
    attempt = Attempt(shallow, tmp_path / "attempt")
    oid = work(attempt)

    assert Fetched(oid) == fetched(attempt)


# --- what is refused


def refused(attempt, **how):
    result = fetched(attempt, **how)

    assert isinstance(result, NotFetched), result
    assert INTO not in Repo(attempt.repo.common_dir, bare=True).refs()
    return result.reason


@pytest.mark.parametrize(
    "oid", ["", "HEAD", "abc", "-x", "refs/heads/main", "1" * 39, "1" * 40 + "\n"]
)
def test_only_a_full_object_id_is_asked_for(attempt, oid):
    work(attempt)

    result = fetch_result(attempt.repo, attempt.git, oid, INTO, ["false"])

    assert isinstance(result, NotFetched)


def test_an_object_that_is_not_there(attempt):
    refused(attempt, oid="1" * 40)


def test_a_result_that_is_no_commit(attempt, repo):
    oid = attempt.sh("echo x | git hash-object -w --stdin").strip()

    refused(attempt, oid=oid)
    refused(attempt, oid=repo.oid("HEAD^{tree}"))


def test_objects_that_fsck_refuses(attempt):
    """A tree that holds .git would write into a person's repository."""
    work(
        attempt,
        """
        blob=$(echo x | git hash-object -w --stdin)
        tree=$(printf '100644 blob %s\\t.git\\n' $blob | git mktree)
        git reset -q --soft $(git commit-tree -m x -p HEAD $tree)
        """,
    )

    assert "hasDotgit" in refused(attempt)


def test_a_history_with_a_hole(attempt):
    work(attempt)
    work(attempt, "rm -f .git/objects/x; echo 2 > b; git add b; git commit -qm b")
    blob = Repo(attempt.git, bare=True).git("--git-dir=.", "rev-parse", "HEAD:work")
    (attempt.git / "objects" / blob[:2] / blob[2:]).unlink()

    refused(attempt)


@pytest.mark.parametrize(
    "lines", ["/elsewhere/objects\n", "", "../../x\n", "# a comment\n"]
)
def test_the_list_of_lent_objects_must_be_as_it_was(attempt, lines):
    work(attempt)
    file = attempt.git / "objects/info/alternates"
    file.write_text(lines if not lines else file.read_text() + lines)

    refused(attempt)


@pytest.mark.parametrize(
    "path", ["objects/pack/x", "objects/aa", "objects/info/alternates", "objects"]
)
def test_links_among_the_objects_are_refused(attempt, tmp_path, path):
    """Another repository of the user's could be read through one."""
    oid = work(attempt)
    place = attempt.git / path
    copy = tmp_path / "copy"
    if place.is_dir():
        place.rename(copy)
    elif place.exists():
        shutil.copy(place, copy)
        place.unlink()
    else:
        copy.mkdir()
    place.symlink_to(copy)

    refused(attempt, oid=oid)


def test_more_objects_than_a_limit_are_refused(attempt, monkeypatch):
    monkeypatch.setattr(harvest, "_ENTRIES", 3)
    work(attempt)

    refused(attempt)


def test_more_bytes_than_a_limit_are_refused(attempt):
    work(attempt, "head -c 3000000 /dev/urandom > big; git add big; git commit -qm big")

    assert "more than 1 MiB" in refused(attempt, limit_bytes=1 << 20)


def test_a_git_that_does_not_answer_is_stopped(attempt):
    work(attempt)

    refused(attempt, argv=["sleep", "300"], timeout=0.5)


def test_nonsense_is_no_answer(attempt):
    work(attempt)

    for script in ("yes", "true", "exit 3", "echo 'ERR nothing here'"):
        refused(attempt, argv=["sh", "-c", script], timeout=10)


def test_no_program_that_the_worker_names_runs_outside(attempt, tmp_path):
    oid = work(attempt)
    ran = tmp_path / "ran"
    config = attempt.git / "config"
    config.write_text(
        config.read_text()
        + f"[core]\n\tfsmonitor = touch '{ran}'\n\thooksPath = hooks\n"
        + f"[uploadpack]\n\tpackObjectsHook = touch '{ran}'\n"
        + f"[core]\n\talternateRefsCommand = touch '{ran}'\n"
    )
    (attempt.git / "hooks").mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (attempt.git / "hooks" / name).write_text(f"#!/bin/sh\ntouch '{ran}'\n")
        (attempt.git / "hooks" / name).chmod(0o755)

    assert Fetched(oid) == fetched(attempt)
    assert not ran.exists()


# --- HEAD is read as text


def test_head_is_read_through_a_branch_loose_or_packed(attempt, repo):
    assert repo.head() == read_head(attempt.git)

    oid = work(attempt)
    assert (attempt.git / BRANCH).exists()
    assert oid == read_head(attempt.git)

    attempt.sh("git pack-refs --all")
    assert oid == read_head(attempt.git)

    attempt.sh("git switch -q --detach")
    assert oid == read_head(attempt.git)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "x",
        "ref: refs/heads/none",
        "ref: ../../HEAD",
        "ref: refs/heads/../../../secret",
        "ref: refs/heads//secret",
        "ref: /etc/passwd",
        "1" * 5000,
        "1" * 40 + "\n\n",
        "ü" * 40,
    ],
)
def test_a_head_that_is_none(attempt, repo, head):
    (attempt.git.parent / "secret").write_text(repo.head())
    (attempt.git / "HEAD").write_text(head)

    assert read_head(attempt.git) is None


def test_a_head_through_links_or_pipes_is_none(attempt, repo, tmp_path):
    (tmp_path / "secret").write_text(repo.head())
    (tmp_path / "heads/agent").mkdir(parents=True)
    (tmp_path / "heads/agent/a").write_text(repo.head())
    (attempt.git / "packed-refs").unlink()
    (attempt.git / "refs/heads").rmdir()
    (attempt.git / "refs/heads").symlink_to(tmp_path / "heads")
    assert read_head(attempt.git) is None

    for make in (os.mkfifo, os.mkdir, lambda path: path.symlink_to("../../secret")):
        head = attempt.git / "HEAD"
        head.unlink() if head.is_file() or head.is_fifo() else head.rmdir()
        make(head)
        assert read_head(attempt.git) is None
