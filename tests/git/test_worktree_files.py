"""git.worktree_files: what git would list, or nothing at all."""

import subprocess

import pytest

from gitagent.git import worktree, worktree_files
from gitagent.git.repository import discover
from tests.support.repos import Repo


def facts(worktrees):
    return {(each.path, each.branch, each.bare, each.locked) for each in worktrees}


def asked(repo):
    """Whether git is asked instead."""
    return worktree_files.read(discover(repo.path)) is None


STATES = {
    "one": "",
    "detached": "git checkout -q --detach",
    "unborn": "git checkout -q --orphan new",
    "a branch in folders": "git checkout -q -b a/b/c",
    "packed": "git pack-refs --all",
    "linked": "git worktree add -q -b topic ../topic",
    "linked and detached": "git worktree add -q --detach ../topic",
    "locked": "git worktree add -q --lock --reason 'a  b' ../topic",
    "locked without a reason": "git worktree add -q --lock ../topic",
    "gone": "git worktree add -q ../topic; rm -r ../topic",
    "moved": "git worktree add -q ../topic; git worktree move ../topic '../t  ü'",
    "removed again": "git worktree add -q ../topic; git worktree remove ../topic",
    "many": "for n in a b c; do git worktree add -q ../$n; done",
}


@pytest.mark.parametrize("script", STATES.values(), ids=STATES)
def test_it_is_what_git_lists(repo, script):
    subprocess.run(["sh", "-ec", script], cwd=repo.path, check=True)
    found = discover(repo.path)
    read = worktree_files.read(found)

    assert facts(worktree.entries(found)) == facts(read)
    assert worktree.entries(found)[0].path == read[0].path


def test_a_bare_repository_has_no_branch_checked_out(tmp_path):
    bare = Repo.make(tmp_path / "bare", {"a": "1"}, bare=True)

    found = discover(bare.path)
    assert worktree.entries(found) == worktree_files.read(found)


def test_a_branch_that_stands_for_another_one_is_gits_to_tell(repo):
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/alias")

    assert asked(repo)


def test_a_head_that_is_a_link_is_gits_to_tell(repo):
    head = repo.common_dir / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")

    assert asked(repo)


@pytest.mark.parametrize("file", ["HEAD", "gitdir"])
@pytest.mark.parametrize("content", ["", "../topic/.git\n", "x\n", None])
def test_a_broken_worktree_is_gits_to_tell(repo, tmp_path, file, content):
    repo.git("worktree", "add", "-q", str(tmp_path / "topic"))
    path = repo.common_dir / "worktrees/topic" / file
    if content is None:
        path.unlink()
    else:
        path.write_text(content)

    assert asked(repo)


def test_found_from_a_linked_worktree_it_is_gits_to_tell(repo, tmp_path):
    assert asked(repo.worktree(tmp_path / "topic"))


def test_a_ref_is_read_from_its_file_or_not_at_all(repo):
    found = discover(repo.path)

    assert repo.head() == worktree_files.value(found, "refs/heads/main")
    assert worktree_files.value(found, "refs/heads/none") is None
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    assert worktree_files.value(found, "refs/heads/alias") is None
    repo.git("pack-refs", "--all")
    assert worktree_files.value(found, "refs/heads/main") is None
