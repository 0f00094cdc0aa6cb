"""Hooks put in place beside those that are there, and taken away without a trace."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from gitagent.daemon import hooks
from gitagent.errors import UserError
from gitagent.git.repository import discover
from tests.support.repos import Repo

THEIRS = "#!/bin/sh\n# theirs\ncat >> ../ran\nexit 3\n"


@pytest.fixture
def hub(tmp_path):
    return Repo.make(tmp_path / "hub.git", {"a": "a"}, bare=True)


def everything(repo: Repo) -> dict[str, object]:
    """Return every file of a repository that hooks could touch, bytes and modes."""
    common = repo.common_dir
    places = [common / "config", *sorted((common / "hooks").glob("*"))]
    folder = (common / "hooks").is_dir()
    return {"hooks": folder} | {
        path.name: (
            str(path.readlink()) if path.is_symlink() else path.read_bytes(),
            stat.S_IMODE(path.lstat().st_mode),
        )
        for path in places
    }


def test_installing_sets_what_git_needs_and_answers_refs_for(hub):
    repo = discover(hub.path)
    before = hooks.refs_for_problem(repo)
    hooks.install(repo)

    assert before is not None
    assert hooks.refs_for_problem(repo) is None
    assert "refs/for" == hub.git("config", "receive.procReceiveRefs")
    assert "true" == hub.git("config", "receive.advertisePushOptions")
    for name in hooks.wanted(repo):
        assert os.access(hub.common_dir / "hooks" / name, os.X_OK)


def test_installing_twice_changes_nothing(hub):
    repo = discover(hub.path)
    hooks.install(repo)
    once = everything(hub)

    assert () == hooks.install(repo)
    assert once == everything(hub)


@pytest.mark.parametrize("folder", [True, False])
def test_uninstalling_restores_every_byte(hub, folder):
    if folder:
        (hub.common_dir / "hooks").mkdir(exist_ok=True)
    before = everything(hub)
    repo = discover(hub.path)
    hooks.install(repo)
    hooks.uninstall(repo)

    assert before == everything(hub)
    assert () == hooks.uninstall(repo)


def test_hooks_that_were_there_come_back_with_bytes_modes_and_links(hub):
    hub.hook("post-receive", THEIRS).chmod(0o711)
    hub.hook("real", "#!/bin/sh\n")
    hub.hook("update", "#!/bin/sh\n")
    (hub.common_dir / "hooks/pre-receive").symlink_to("real")
    before = everything(hub)
    repo = discover(hub.path)
    hooks.install(repo)
    between = everything(hub)
    hooks.install(repo)
    hooks.uninstall(repo)

    assert before != between
    assert before == everything(hub)


def test_a_symlink_is_kept_as_a_symlink(hub):
    target = hub.hook("shared", "#!/bin/sh\nexit 0\n")
    link = hub.common_dir / "hooks/post-receive"
    link.symlink_to(target.name)
    repo = discover(hub.path)
    hooks.install(repo)
    kept = hub.common_dir / f"hooks/post-receive{hooks.KEPT}"

    assert kept.is_symlink()
    hooks.uninstall(repo)

    assert Path("shared") == link.readlink()


def test_what_was_set_already_is_neither_changed_nor_unset(hub):
    hub.git("config", "receive.advertisePushOptions", "true")
    repo = discover(hub.path)
    hooks.install(repo)
    hooks.install(repo)
    hooks.uninstall(repo)

    assert "true" == hub.git("config", "receive.advertisePushOptions")
    assert "" == hub.git("config", "receive.procReceiveRefs", ok=(1,))


def test_refs_for_of_somebody_else_is_told(hub):
    hub.git("config", "receive.procReceiveRefs", "refs/pull")
    repo = discover(hub.path)
    hooks.install(repo)

    assert hooks.refs_for_problem(repo) is not None
    assert "refs/pull" == hub.git("config", "receive.procReceiveRefs")


def test_a_hook_that_was_there_runs_first_with_the_same_input(hub, tmp_path):
    seen = tmp_path / "seen"
    script = f'#!/bin/sh\necho "$# args" > {seen}\ncat >> {seen}\n'
    hub.hook("post-receive", script)
    hooks.install(discover(hub.path))
    clone = hub.clone(tmp_path / "clone")
    clone.git("push", "-q", "origin", "HEAD:refs/heads/other")
    tip = clone.head()

    assert f"0 args\n{'0' * 40} {tip} refs/heads/other\n" == seen.read_text()


def test_records_cannot_be_pushed_and_claims_can(hub, tmp_path):
    """Worker pushes to reserved namespaces: a receipt that nobody made."""
    hooks.install(discover(hub.path))
    clone = hub.clone(tmp_path / "clone")
    refused = subprocess.run(
        ["git", "push", "origin", "HEAD:refs/gitagent/receipts/2026-11", "HEAD:main"],
        cwd=clone.path,
        capture_output=True,
        text=True,
        check=False,
    )
    clone.git("push", "-q", "origin", "HEAD:refs/gitagent/claims/fix")

    assert 1 == refused.returncode
    assert "refs/gitagent/receipts/2026-11 is written by gitagent" in refused.stderr
    assert ["refs/gitagent/claims/fix"] == list(hub.refs("refs/gitagent/"))


def test_a_pre_receive_that_was_there_still_decides_first(hub, tmp_path):
    seen = tmp_path / "seen"
    hub.hook("pre-receive", f"#!/bin/sh\ncat > {seen}\necho not today >&2\nexit 7\n")
    hooks.install(discover(hub.path))
    clone = hub.clone(tmp_path / "clone")
    done = subprocess.run(
        ["git", "push", "origin", "HEAD:refs/heads/other"],
        cwd=clone.path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert "not today" in done.stderr
    assert seen.read_text().endswith(f"{clone.head()} refs/heads/other\n")


def test_another_proc_receive_is_refused_and_nothing_changes(hub):
    hub.hook("proc-receive", THEIRS)
    before = everything(hub)
    repo = discover(hub.path)

    with pytest.raises(UserError):
        hooks.install(repo)
    assert before == everything(hub)


def test_hooks_path_elsewhere_is_told_and_nothing_changes(hub):
    hub.git("config", "core.hooksPath", ".husky/_")
    before = everything(hub)
    repo = discover(hub.path)

    with pytest.raises(UserError, match="hooksPath"):
        hooks.install(repo)
    assert before == everything(hub)
    assert hooks.refs_for_problem(repo) is not None


def test_hooks_path_of_the_user_counts_too(hub, home):
    with (home / ".gitconfig").open("a") as config:
        config.write("[core]\n\thooksPath = ~/hooks\n")

    assert home / "hooks" == hooks.elsewhere(discover(hub.path))


def test_hooks_path_that_names_the_own_folder_is_no_matter(repo):
    repo.git("config", "core.hooksPath", str(repo.common_dir / "hooks"))

    assert hooks.elsewhere(discover(repo.path)) is None


def test_a_hook_written_over_ours_stays_and_the_kept_one_is_named(hub):
    hub.hook("post-receive", THEIRS)
    repo = discover(hub.path)
    hooks.install(repo)
    mine = hub.hook("post-receive", "#!/bin/sh\n# mine\n")

    with pytest.raises(UserError, match=hooks.KEPT):
        hooks.uninstall(repo)
    assert "#!/bin/sh\n# mine\n" == mine.read_text()
    assert not (hub.common_dir / "hooks/proc-receive").exists()


def test_an_update_of_gitagent_updates_its_hooks(hub):
    repo = discover(hub.path)
    hooks.install(repo)
    hook = hub.common_dir / "hooks/post-receive"
    whole = hook.read_bytes()
    hook.write_bytes(whole.replace(b"\npython=", b"\npython=/an/older/one #"))
    hooks.install(repo)

    assert whole == hook.read_bytes()


def test_a_linked_worktree_installs_into_the_common_folder(repo, tmp_path):
    linked = repo.worktree(tmp_path / "linked", branch="work")
    hooks.install(discover(linked.path))

    assert (repo.common_dir / "hooks/post-receive").is_file()


def forget_gitagent(hub: Repo) -> None:
    """Make the installed hooks find no gitagent, as after `pip uninstall`."""
    for name in hooks.wanted(discover(hub.path)):
        hook = hub.common_dir / "hooks" / name
        lines = hook.read_text().splitlines(keepends=True)
        hook.write_text(
            "".join(
                "package=/gone\n" if line.startswith("package=") else line
                for line in lines
            )
        )


def test_without_gitagent_a_push_goes_through(hub, tmp_path, monkeypatch):
    hooks.install(discover(hub.path))
    forget_gitagent(hub)
    clone = hub.clone(tmp_path / "clone")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    clone.git("push", "-q", "origin", "HEAD:refs/heads/land/x")

    assert clone.head() == hub.ref("refs/heads/land/x")


def test_without_gitagent_refs_for_is_refused_with_the_reason(
    hub, tmp_path, monkeypatch
):
    hooks.install(discover(hub.path))
    forget_gitagent(hub)
    clone = hub.clone(tmp_path / "clone")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    pushed = subprocess.run(
        ["git", "push", "origin", "HEAD:refs/for/main", "HEAD:refs/for/other"],
        cwd=clone.path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == pushed.returncode
    assert 2 == pushed.stderr.count("(gitagent is not available)")


def test_every_shipped_hook_is_a_sh_script_that_names_itself():
    for name, path in hooks.shipped().items():
        checked = subprocess.run(["sh", "-n", path], check=False)

        assert 0 == checked.returncode, name
        assert hooks.MARK in Path(path).read_bytes()[:200]
        assert os.access(path, os.X_OK)
