"""gitagent hooks: what the two commands say and end with."""

from tests.support.cli import call


def test_install_and_uninstall_tell_what_they_did(repo):
    before = (repo.common_dir / "config").read_bytes()
    first = call(repo, "hooks", "install")
    again = call(repo, "hooks", "install")
    gone = call(repo, "hooks", "uninstall")
    nothing = call(repo, "hooks", "uninstall")

    assert [0, 0, 0, 0] == [each.code for each in (first, again, gone, nothing)]
    assert "installed proc-receive" in first.lines
    assert 1 == len(again.lines)
    assert "removed proc-receive" in gone.lines
    assert 1 == len(nothing.lines)
    assert before == (repo.common_dir / "config").read_bytes()


def test_hooks_path_elsewhere_is_one_line_and_exit_1(repo):
    repo.git("config", "core.hooksPath", ".husky")
    answer = call(repo, "hooks", "install")

    assert (1, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert "refs/for" in answer.err
