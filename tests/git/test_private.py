"""The private Git directory that a worker or a check sees."""

import itertools

import pytest

from gitagent.git import private
from tests.support.attempt import BRANCH, Attempt
from tests.support.repos import Repo


@pytest.fixture
def attempt(repo, tmp_path):
    repo.commit({"a": "1\n", "run.sh": "#!/bin/sh\n", "d/b": "2\n"})
    return Attempt(repo, tmp_path / "attempt")


def test_status_is_clean_and_names_the_branch(attempt):
    assert "## agent/a\n" == attempt.sh("git status --porcelain --branch")


def test_a_clean_status_reads_no_file_again(attempt):
    """The owner differs inside; with it compared, every file would be hashed."""
    assert "" == attempt.sh("git diff-files --name-only")


def test_commit_stash_rebase_merge_and_gc_work(attempt):
    log = attempt.sh(
        """
        echo 2 >> a; git commit -qam one
        echo 3 >> d/b; git stash -q; git stash pop -q; git commit -qam two
        git branch side HEAD~1; git switch -q side; echo new > new
        git add new; git commit -qm three
        git rebase -q agent/a
        git switch -q main; git merge -q --no-edit --no-ff side
        git tag -a v1 -m v1
        git gc -q --prune=now
        git fsck --strict --no-dangling
        git log --format='%s %an <%ae>' side
        """
    )

    person = 'A "worker" \\ ü <worker@example.org>'
    assert [f"{what} {person}" for what in ("three", "two", "one")] == log.split("\n")[
        :3
    ]


def test_nothing_of_the_repository_moves(attempt, repo):
    before = (repo.refs(), (repo.common_dir / "config").read_bytes(), repo.status())

    attempt.sh(
        """
        git config user.name other; git config core.hooksPath x
        git update-ref refs/heads/main $(git commit-tree -m x HEAD^{tree})
        echo x >> a; git commit -qam x; git gc -q
        """
    )
    attempt.sh(f"touch {attempt.dirs[0]}/x", code=1)
    attempt.sh("rm -f .git", code=1)

    after = (repo.refs(), (repo.common_dir / "config").read_bytes(), repo.status())
    assert before == after
    repo.fsck()
    repo.git("gc", "-q", "--prune=now")


def test_a_person_sees_the_work_with_git_diff_in_the_worktree(attempt, repo):
    attempt.sh("echo work >> a; git commit -qam work")

    shown = Repo(attempt.tree).git("diff", "--stat", "--no-color", "--name-only")

    assert "a" == shown
    assert repo.head() == Repo(attempt.tree).head()


def test_upstream_branches_and_excludes_are_there(repo, tmp_path):
    attempt = Attempt(repo, tmp_path / "attempt", exclude=".env\nbuild/\n")

    out = attempt.sh(
        """
        touch .env; mkdir build; touch build/x seen
        git status --porcelain
        git diff --quiet origin/main main
        """
    )

    assert "?? seen\n" == out


def test_libraries_that_want_peeled_refs_read_them_but_tags_stay_true(repo, tmp_path):
    repo.git("tag", "-a", "-m", "x", "v1")
    heads = {"refs/heads/main": repo.head()}
    tags = {**heads, "refs/tags/v1": repo.oid("refs/tags/v1")}
    lines = []
    for number, refs in enumerate((heads, tags)):
        path = tmp_path / f"git-{number}"
        private.make(
            path,
            objects_dirs=private.alternate_dirs(repo.common_dir),
            head_branch="refs/heads/main",
            refs=refs,
            name="n",
            email="e",
        )
        lines.append((path / "packed-refs").read_text().splitlines()[0])
    git = Repo(tmp_path / "git-1", bare=True)

    assert "peeled" in lines[0]
    assert "peeled" not in lines[1]
    assert repo.head() == git.git("--git-dir=.", "rev-parse", "v1^{commit}")
    assert repo.head() in git.git("--git-dir=.", "show-ref", "-d", "v1")


def test_a_detached_head(repo, tmp_path):
    path = tmp_path / "git"
    private.make(
        path,
        objects_dirs=private.alternate_dirs(repo.common_dir),
        head_branch=repo.head(),
        refs={},
        name="n",
        email="e",
    )

    git = Repo(path, bare=True)
    assert repo.head() == git.git("--git-dir=.", "rev-parse", "HEAD")
    assert 1 == git.ask("--git-dir=.", "symbolic-ref", "-q", "HEAD")


def test_sha256(tmp_path):
    repo = Repo.make(tmp_path / "repo", {"a": "1"}, object_format="sha256")
    attempt = Attempt(repo, tmp_path / "attempt")

    out = attempt.sh("echo 2 > a; git commit -qam x; git gc -q; git rev-parse HEAD")

    assert 64 == len(out.strip())


def test_a_shallow_repository_lends_its_history(repo, tmp_path):
    for n in range(3):
        repo.commit({"a": str(n)})
    shallow = Repo(tmp_path / "shallow")
    repo.git("clone", "-q", "--depth=2", f"file://{repo.path}", str(shallow.path))

    attempt = Attempt(shallow, tmp_path / "attempt")

    assert "2\n" == attempt.sh("git rev-list --count HEAD; git gc -q")


def test_a_repository_that_borrows_objects_lends_those_too(repo, tmp_path):
    clone = Repo(tmp_path / "one two")
    repo.git("clone", "-q", "--shared", str(repo.path), str(clone.path))
    attempt = Attempt(clone, tmp_path / "attempt")

    assert 2 == len(attempt.dirs)
    assert "" == attempt.sh("git status --porcelain; git fsck --no-dangling")


def test_alternates_are_followed_relative_quoted_and_in_a_loop(tmp_path):
    one, two, three = (Repo.make(tmp_path / name) for name in ("1", "2", "3\n"))
    stores = [each.common_dir / "objects" for each in (one, two, three)]
    (stores[0] / "info/alternates").write_text(
        f"# a comment\n\n../../../2/.git/objects\n{tmp_path}/absent\n"
    )
    (stores[1] / "info/alternates").write_bytes(private.alternates([stores[2]]))
    (stores[2] / "info/alternates").write_text(f"{stores[0]}\n")

    assert tuple(stores) == private.alternate_dirs(one.common_dir)


def test_a_chain_of_alternates_ends_where_gits_does(tmp_path):
    stores = [
        Repo.make(tmp_path / str(n)).common_dir.resolve() / "objects" for n in range(9)
    ]
    for store, following in itertools.pairwise(stores):
        (store / "info/alternates").write_text(f"{following}\n")

    assert tuple(stores[:6]) == private.alternate_dirs(stores[0].parent)


def test_links_to_the_object_folder_are_resolved(repo, tmp_path):
    (repo.common_dir / "objects").rename(tmp_path / "store")
    (repo.common_dir / "objects").symlink_to(tmp_path / "store")

    assert (tmp_path / "store",) == private.alternate_dirs(repo.common_dir)


def test_no_name_breaks_out_of_the_configuration(tmp_path, repo):
    path, evil = tmp_path / "git", 'x"\n[core]\n\tfsmonitor = touch ran # \\'
    private.make(
        path, objects_dirs=(), head_branch=BRANCH, refs={}, name=evil, email="e@x;#"
    )

    read = ("config", "--file", str(path / "config"))
    assert " ".join(evil.split()) == repo.git(*read, "user.name")
    assert "e@x;#" == repo.git(*read, "user.email")
    assert 1 == repo.ask(*read, "core.fsmonitor")


def test_the_place_must_be_free(tmp_path):
    with pytest.raises(FileExistsError):
        private.make(
            tmp_path, objects_dirs=(), head_branch=BRANCH, refs={}, name="", email=""
        )
