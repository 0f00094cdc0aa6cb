"""git.repository: where a path belongs, and which store can read it."""

import os

import pytest

from gitagent.errors import UserError
from gitagent.git.command import run_git
from gitagent.git.libgit2 import Libgit2
from gitagent.git.objects import MissingObject
from gitagent.git.plumbing import Plumbing
from gitagent.git.repository import discover
from tests.support.repos import Repo

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_every_place_in_a_checkout_finds_it(repo):
    inner = repo.path / "a/b"
    inner.mkdir(parents=True)
    (repo.path / "link").symlink_to("a")

    for start in (repo.path, inner, repo.path / "link"):
        found = discover(start)

        assert repo.path == found.worktree
        assert repo.common_dir == found.common_dir == found.git_dir
        assert not found.bare
        assert "sha1" == found.object_format


def test_inside_the_git_directory_the_checkout_is_found(repo):
    found = discover(repo.common_dir / "refs")

    assert (repo.common_dir, repo.path) == (found.common_dir, found.worktree)


def test_a_link_to_a_checkout_is_that_checkout(repo, tmp_path):
    (tmp_path / "link").symlink_to(repo.path)

    assert discover(repo.path) == discover(tmp_path / "link")


def test_a_linked_worktree_shares_the_common_directory(repo, tmp_path):
    linked = repo.worktree(tmp_path / "linked")

    found = discover(linked.path)

    assert repo.common_dir == found.common_dir
    assert repo.common_dir / "worktrees/linked" == found.git_dir
    assert linked.path == found.worktree

    inside = discover(found.git_dir)

    assert linked.path == inside.worktree


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_bare_repository_has_no_checkout(tmp_path, object_format):
    hub = Repo.make(tmp_path / "hub.git", {}, bare=True, object_format=object_format)

    found = discover(hub.path)

    assert found.bare
    assert found.worktree is None
    assert hub.path == found.common_dir
    assert object_format == found.object_format


def test_a_repository_without_commits_is_one(tmp_path):
    empty = Repo.make(tmp_path / "empty")

    found = discover(empty.path)

    with found.objects() as objects:
        assert objects.ref("HEAD") is None
        assert {} == objects.refs()


def test_no_repository_is_an_answer_in_one_line(tmp_path):
    with pytest.raises(UserError) as caught:
        discover(tmp_path)

    assert "\n" not in caught.value.line()

    with pytest.raises(UserError):
        discover(tmp_path / "not there")


def test_a_caller_with_git_variables_is_not_led_astray(repo, tmp_path, monkeypatch):
    other = Repo.make(tmp_path / "other", {})
    monkeypatch.setenv("GIT_DIR", str(other.common_dir))

    assert repo.common_dir == discover(repo.path).common_dir


def test_bare_repository_embedded_in_a_branch_is_refused(repo):
    """A bare repository that is content of a branch."""
    hostile = Repo.make(repo.path / "docs/sub", {}, bare=True)
    repo.git("add", "-f", "docs")

    with pytest.raises(UserError) as caught:
        discover(hostile.path)

    assert str(repo.path) in caught.value.line()


def test_a_hub_that_lies_in_a_checkout_but_is_not_content_is_found(repo):
    hub = Repo.make(repo.path / "hub.git", {}, bare=True)

    assert hub.path == discover(hub.path).common_dir


@as_root
def test_ownership_names_both_uids(repo):
    """Git's rule about owners, safe.directory."""
    os.chown(repo.path, 4711, 4711)
    os.chown(repo.common_dir, 4711, 4711)

    with pytest.raises(UserError) as caught:
        discover(repo.path)

    assert "uid 4711" in caught.value.line()
    assert f"uid {os.geteuid()}" in caught.value.line()


@as_root
def test_the_users_safe_directory_admits_a_repository_and_only_that(repo, home):
    os.chown(repo.path, 4711, 4711)
    os.chown(repo.common_dir, 4711, 4711)
    with (home / ".gitconfig").open("a") as config:
        config.write(f"[safe]\n\tdirectory = {repo.path}\n")
    before = (home / ".gitconfig").read_text()

    found = discover(repo.path)

    assert f"safe.directory={repo.path}" in found.git.config
    assert not any(setting.endswith("*") for setting in found.git.config)
    config = found.git.config
    assert run_git("rev-parse", "HEAD", cwd=repo.path, config=config).out
    assert before == (home / ".gitconfig").read_text()
    for fast in (False, True):
        with found.objects(fast=fast) as objects:
            assert repo.head() == objects.ref("HEAD")


def test_a_plain_repository_is_read_by_libgit2_and_fast_ones_by_git(repo):
    found = discover(repo.path)

    with found.objects() as objects, found.objects(fast=True) as quick:
        assert isinstance(objects, Libgit2)
        assert isinstance(quick, Plumbing)


def test_sha256_repository_is_read_by_git(tmp_path):
    """A repository with SHA-256."""
    made = Repo.make(tmp_path / "long", {"a": "b"}, object_format="sha256")

    with discover(made.path).objects() as objects:
        assert isinstance(objects, Plumbing)
        assert made.head() == objects.ref("HEAD")


def test_extensions_partial_clone_set(repo):
    """`extensions.partialClone` is set."""
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.partialClone", "origin")

    with discover(repo.path).objects() as objects:
        assert isinstance(objects, Plumbing)
        assert repo.head() == objects.ref("HEAD")


def test_what_only_libgit2_refuses_is_read_by_git(repo):
    """An extension that the installed git does not know."""
    found = discover(repo.path)
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.futureThing", "true")

    with found.objects() as objects:
        assert isinstance(objects, Plumbing)


def test_reftable_repository_for_an_older_git_is_said_in_one_line(repo):
    """A repository with reftables."""
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.refStorage", "unheard-of")

    with pytest.raises(UserError) as caught:
        discover(repo.path)

    assert "refstorage" in caught.value.line().lower()
    assert "\n" not in caught.value.line()


@pytest.fixture
def partial(repo, tmp_path):
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    path = tmp_path / "partial"
    url = f"file://{repo.path}"
    repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", url, str(path))
    return Repo(path)


def test_partial_clone_that_does_open_reads_what_its_remote_has(repo, partial):
    """A partial clone that does open: blobs are simply absent."""
    with discover(partial.path).objects() as objects:
        assert isinstance(objects, Plumbing)
        assert [b"# a repository\n", None] == objects.blobs_at(
            [(repo.head(), "README.md"), (repo.head(), "none")]
        )


def test_a_blob_that_cannot_be_fetched_is_missing_and_the_rest_is_read(repo, partial):
    head, blob = repo.head(), repo.oid("HEAD:README.md")
    repo.path.rename(repo.path.with_name("moved"))

    with discover(partial.path).objects() as objects:
        with pytest.raises(MissingObject):
            objects.blob(blob)
        assert [None, None] == objects.blobs_at([(head, "README.md")] * 2)
        assert "Begin" == objects.commit(head).message
