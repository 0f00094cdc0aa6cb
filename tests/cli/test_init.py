"""gitagent init: what it says, tries out, installs, and ends with."""

import os

import pytest

from gitagent.daemon import hooks
from gitagent.git.repository import discover
from tests.support.cli import call
from tests.support.daemon import gitagent
from tests.support.repos import Repo

CONFIG = ".agent/config.toml"


def test_it_commits_and_says_what_it_proposes(project):
    answer = call(project, "init", "--no-check")

    assert 0 == answer.code
    assert project.head()[:12] in answer.out
    assert "make test" in answer.out
    assert "gitagent up" in answer.lines[-1]
    assert CONFIG in project.paths()


def test_a_second_time_it_says_so_and_changes_nothing(project):
    call(project, "init", "--no-check")
    before = project.head()
    answer = call(project, "init", "--no-check")

    assert (0, 1) == (answer.code, len(answer.lines))
    assert before == project.head()


def test_the_proposed_check_is_tried_out_and_passes(project):
    answer = call(project, "init")

    assert 0 == answer.code
    assert any("passed" in line for line in answer.lines)
    assert "main passes its checks" in answer.lines
    assert {} == project.refs("refs/gitagent/")


def test_a_check_that_fails_is_known_before_the_first_task(repo):
    repo.commit({"Makefile": "test:\n\t@echo no such luck; exit 3\n"})
    answer = call(repo, "init")

    assert 0 == answer.code
    assert "no such luck" in answer.out
    assert "nothing could land" in answer.err
    assert CONFIG in repo.paths()


def test_without_a_cache_the_checks_are_not_tried_out(project, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.write("no-folder", "")))
    answer = call(project, "init")

    assert 0 == answer.code
    assert "no-folder is no folder" in answer.err
    assert CONFIG in project.paths()


def test_without_tests_it_says_that_nothing_lands(repo):
    answer = call(repo, "init")

    assert 0 == answer.code
    assert "[[check]]" in answer.out


def test_the_agents_of_this_machine_are_named_with_how_to_use_one(
    repo, tmp_path, monkeypatch
):
    for name in ("claude", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    answer = call(repo, "init", "--no-check")
    (line,) = (line for line in answer.lines if line.startswith("coding agents"))

    assert "claude, codex" in line
    assert '`agent = "claude"`' in line
    assert "beside shell: claude, codex" in repo.read(CONFIG)


def test_a_bare_repository_becomes_a_hub(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", {"a": "a"}, bare=True)
    answer = call(hub, "init", "--no-check")
    again = call(hub, "init", "--no-check")

    assert [0, 0] == [answer.code, again.code]
    assert hooks.refs_for_problem(discover(hub.path)) is None


def test_a_hub_whose_hooks_are_elsewhere_is_set_up_all_the_same(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", {"a": "a"}, bare=True)
    hub.git("config", "core.hooksPath", "/etc/hooks")
    answer = call(hub, "init", "--no-check")

    assert 0 == answer.code
    assert "refs/for is not available" in answer.err
    assert CONFIG in hub.paths("main")


def test_a_clone_gets_no_hooks_unasked(repo):
    config = (repo.common_dir / "config").read_bytes()
    call(repo, "init", "--no-check")

    assert config == (repo.common_dir / "config").read_bytes()
    assert not (repo.common_dir / "hooks/proc-receive").exists()


def test_a_branch_in_the_way_is_told_with_the_mend(repo):
    repo.branch("agent")
    answer = call(repo, "init", "--no-check")

    assert 0 == answer.code
    assert "worker.branch" in answer.err


@pytest.mark.parametrize("unborn", [True, False])
def test_files_in_the_way_are_told_and_nothing_is_committed(tmp_path, unborn):
    repo = Repo.make(tmp_path / "r", None if unborn else {"a": "a"})
    repo.write(".agent", "a file\n")
    answer = call(repo, "init", "--no-check")

    assert (1, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert "a file\n" == (repo.path / ".agent").read_text()


def test_settings_that_cannot_be_used_are_exit_2(repo):
    repo.commit({CONFIG: "[worker]\nparalel = 3\n"})
    answer = call(repo, "init")

    assert (2, "") == (answer.code, answer.out)
    assert "parallel" in answer.err


def test_settings_of_a_person_are_committed_and_no_others_proposed(project):
    project.write(CONFIG, '[[check]]\nname = "own"\nrun = "true"\n')
    answer = call(project, "init")

    assert 0 == answer.code
    assert "proposed" not in answer.out
    assert "trying out own: true" in answer.out


def test_settings_that_name_another_target_are_told_with_the_mend(repo):
    repo.commit({CONFIG: 'target = "gone"\n'})
    answer = call(repo, "init")

    assert (1, "") == (answer.code, answer.out)
    assert "names the target gone" in answer.err


def test_outside_a_repository_it_says_so(tmp_path):
    answer = call(tmp_path, "init")

    assert (1, 1) == (answer.code, len(answer.err.splitlines()))


def test_as_a_process_it_works_from_a_linked_worktree(repo, tmp_path):
    linked = repo.worktree(tmp_path / "linked", branch="work")
    done = gitagent(linked, "init", "--no-check")

    assert 0 == done.returncode
    assert CONFIG in repo.paths("main")
    assert CONFIG not in linked.paths()
