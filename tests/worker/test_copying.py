"""The ``copy`` files."""

import pytest

from gitagent.core.settings import Worker
from gitagent.core.task import Outcome
from tests.support.repos import Repo
from tests.worker.work import Work


@pytest.fixture
def lending(repo):
    repo.commit({".gitignore": "ignored\n", "conf/a": "a\n"})
    return Work(repo, worker=Worker(copy=(".env", "conf/local key")))


def test_copied_files_are_there_and_are_never_committed(lending):
    lending.repo.write(".env", "KEY=1\n").chmod(0o640)
    lending.repo.write("conf/local key", "k\n")
    end = lending.run("cat .env 'conf/local key'; stat -c %a .env; git status --short")
    again = lending.run("git add -A; echo 1 > b")

    assert "KEY=1\nk\n640\n" == lending.log(end)
    assert Outcome.OK is again.attempt.outcome
    assert [".gitignore", "README.md", "b", "conf/a"] == lending.repo.paths(
        again.attempt.tip
    )


def test_not_even_when_the_agent_forgets_what_is_ignored(lending):
    lending.repo.write(".env", "KEY=1\n")
    lending.repo.write("conf/local key", "k\n")
    end = lending.run(': > "$(git rev-parse --git-dir)/info/exclude"; echo 1 > b')

    assert [".gitignore", "README.md", "b", "conf/a"] == lending.repo.paths(
        end.attempt.tip
    )


@pytest.mark.parametrize("then", ["true", "git rm -q --cached .env; git commit -qm no"])
def test_an_agent_that_commits_one_is_told_and_its_branch_does_not_move(lending, then):
    lending.repo.write(".env", "KEY=1\n")
    lending.repo.write("conf/local key", "k\n")
    end = lending.run(f"git add -f .env; git commit -qm all; {then}")

    assert Outcome.FAILED is end.attempt.outcome
    assert ".env" in end.attempt.reason
    assert None is lending.branch


def test_a_missing_file_fails_and_is_named(lending):
    end = lending.run("echo never > never")

    assert Outcome.FAILED is end.attempt.outcome
    assert ".env" in end.attempt.reason
    assert not (lending.folder / "tree").exists()
    assert None is lending.branch


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/hostname", ".git/config", "link", "sub/link/x", "conf"]
)
def test_only_regular_files_inside_the_main_worktree_are_copied(repo, tmp_path, name):
    (tmp_path / "outside").write_text("secret\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/x").write_text("secret\n")
    repo.commit({"conf/a": "a\n", "sub/a": "a\n"})
    (repo.path / "link").symlink_to(tmp_path / "outside")
    (repo.path / "sub/link").symlink_to(tmp_path / "folder")
    end = Work(repo, worker=Worker(copy=(name,))).run("cat * */*")

    assert Outcome.FAILED is end.attempt.outcome
    assert name in end.attempt.reason


def test_nothing_is_written_through_a_link_of_the_base(repo, tmp_path):
    (tmp_path / "outside").mkdir()
    repo.write("conf/key", "k\n")
    base = repo.commit_at(
        "refs/heads/work", {"conf@": str(tmp_path / "outside")}, parents=()
    )
    end = Work(repo, worker=Worker(copy=("conf/key",))).run("true", base=base)

    assert Outcome.FAILED is end.attempt.outcome
    assert [] == list((tmp_path / "outside").iterdir())


def test_they_come_from_the_main_worktree(repo, tmp_path):
    repo.write(".env", "main\n")
    linked = repo.worktree(tmp_path / "linked")
    work = Work(linked, worker=Worker(copy=(".env",)))

    assert "main\n" == work.log(work.run("cat .env"))


def test_a_bare_repository_has_none_and_says_so(tmp_path):
    bare = Repo.make(tmp_path / "hub.git", files={"a": "a\n"}, bare=True)
    end = Work(bare, worker=Worker(copy=(".env",))).run("true")

    assert Outcome.FAILED is end.attempt.outcome
    assert "bare" in end.attempt.reason
