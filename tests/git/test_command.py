"""git.command: an environment from scratch, limits, and errors in one line."""

import pytest

from gitagent.errors import GitError, UserError
from gitagent.git.command import TIMED_OUT, Git, clean_environment, run_git
from gitagent.host.process import Cancel


@pytest.fixture
def git(repo):
    return Git(repo.common_dir)


def test_nothing_of_the_callers_environment_reaches_git(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere/index")
    monkeypatch.setenv("GIT_SSH_COMMAND", "touch /elsewhere")
    monkeypatch.setenv("SECRET_TOKEN", "hush")

    environment = clean_environment(user_config=False)

    assert "GIT_DIR" not in environment
    assert "GIT_INDEX_FILE" not in environment
    assert "SECRET_TOKEN" not in environment
    assert "HOME" not in environment
    assert "ssh -oBatchMode=yes" == environment["GIT_SSH_COMMAND"]
    assert "/dev/null" == environment["GIT_CONFIG_GLOBAL"]


def test_what_reaches_a_remote_passes_with_the_users_configuration(monkeypatch, home):
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")

    environment = clean_environment(user_config=True)

    assert "/run/agent" == environment["SSH_AUTH_SOCK"]
    assert "http://proxy:3128" == environment["https_proxy"]
    assert str(home) == environment["HOME"]
    assert "GIT_DIR" not in environment


def test_the_users_configuration_is_read_only_when_asked_for(git, home):
    (home / ".gitconfig").write_text("[demo]\n\tkey = mine\n")

    assert 1 == git.run("config", "demo.key", ok=(1,)).code
    assert "mine" == git.run("config", "demo.key", user_config=True).text


def test_configuration_given_by_variables_is_the_users_too(git, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "demo.key")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "given")
    monkeypatch.setenv("GIT_CONFIG_KEY_1", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_1", "/elsewhere")

    assert 1 == git.run("config", "demo.key", ok=(1,)).code
    assert "given" == git.run("config", "demo.key", user_config=True).text
    assert "/dev/null" == git.run("config", "core.hooksPath", user_config=True).text


def test_hooks_do_not_run_unless_a_caller_names_them(repo, git, tmp_path):
    ran = tmp_path / "ran"
    repo.hook("reference-transaction", f"#!/bin/sh\necho $1 >> {ran}\n")

    git.run("update-ref", "refs/heads/one", repo.head())

    assert not ran.exists()

    hooks = repo.common_dir / "hooks"
    git.run(
        "-c", f"core.hooksPath={hooks}", "update-ref", "refs/heads/two", repo.head()
    )

    assert "prepared" in ran.read_text()


def test_a_file_system_monitor_of_the_repository_does_not_run(repo, git, tmp_path):
    ran = tmp_path / "ran"
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {ran}\n")
    monitor.chmod(0o755)
    repo.git("config", "core.fsmonitor", str(monitor))

    git.run("status", "--porcelain", work_tree=repo.path)

    assert not ran.exists()


def test_a_status_leaves_the_index_as_it_is(repo, git):
    index = repo.common_dir / "index"
    before = index.stat().st_ino
    (repo.path / "README.md").touch()

    git.run("status", "--porcelain", work_tree=repo.path)

    assert before == index.stat().st_ino


def test_replacements_are_not_followed(repo, git):
    old = repo.head()
    new = repo.commit({"a": "b"})
    repo.git("replace", old, new)

    assert "Begin" in git.run("cat-file", "commit", old).text


def test_another_exit_code_is_an_error_with_argv_code_and_message(git):
    with pytest.raises(GitError) as caught:
        git.run("cat-file", "-e", "0" * 40)

    assert 1 == caught.value.code
    assert ("git", "cat-file") == caught.value.argv[:2]


def test_an_error_names_the_command_and_no_settings_before_it(git):
    with pytest.raises(GitError) as caught:
        git.run("-c", "a.b=c", "-c", "d.e=f", "cat-file", "-e", "0" * 40)

    assert caught.value.message.startswith("git cat-file -e 000")


def test_an_exit_code_that_was_expected_is_none(git):
    assert 1 == git.run("cat-file", "-e", "0" * 40, ok=(0, 1)).code


def test_what_never_ends_is_stopped_at_its_limit(git):
    with pytest.raises(GitError) as caught:
        git.run("-c", "alias.hang=!exec sleep 600", "hang", timeout=0.2)

    assert TIMED_OUT == caught.value.code


def test_a_cancelled_call_is_an_error(git):
    cancel = Cancel()
    cancel.set()

    with pytest.raises(GitError):
        git.run("version", cancel=cancel)


def test_output_over_the_limit_is_an_error_and_not_a_part_of_it(git):
    with pytest.raises(GitError):
        git.run("help", "-a", keep=100)


def test_nobody_is_asked_for_a_password(git):
    wanted = b"protocol=https\nhost=nowhere.invalid\n\n"

    for user_config in (False, True):
        with pytest.raises(GitError) as caught:
            git.run("credential", "fill", stdin=wanted, user_config=user_config)

        assert TIMED_OUT != caught.value.code


def test_fields_end_with_nul_and_may_hold_any_byte(repo, git):
    repo.commit({"späte\nZeile": "x"})

    listed = git.run("ls-tree", "-z", "--name-only", "HEAD")

    assert ("README.md", "späte\nZeile") == listed.fields


def test_a_folder_that_is_gone_is_said_in_one_line(tmp_path):
    with pytest.raises(UserError) as caught:
        run_git("version", cwd=tmp_path / "gone")

    assert str(tmp_path / "gone") in caught.value.line()


def test_a_machine_without_git_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UserError) as caught:
        run_git("version", cwd=tmp_path)

    assert "git" in caught.value.message
    assert "\n" not in caught.value.line()


def test_a_private_index_leaves_the_users_alone(repo, git, tmp_path):
    before = (repo.common_dir / "index").read_bytes()

    git.run("read-tree", "--empty", index=tmp_path / "index")

    assert (tmp_path / "index").exists()
    assert before == (repo.common_dir / "index").read_bytes()
