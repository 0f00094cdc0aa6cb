import os
import sys
from pathlib import Path

import pytest

from gitagent.host import confinement
from gitagent.host.confinement import (
    Bind,
    Confinement,
    bwrap_args,
    environment,
    etc,
    visible_prefixes,
)


def pairs(args, *options):
    """Return (option, its last operand) for options with two operands."""
    return [
        (arg, args[i + 1], args[i + 2]) for i, arg in enumerate(args) if arg in options
    ]


def binds(args):
    return pairs(args, "--bind", "--ro-bind", "--bind-try", "--ro-bind-try")


def test_the_flags_of_the_design_are_given():
    args = bwrap_args(Confinement("/"), {})
    flags = (
        "--unshare-all --unshare-user --uid 1000 --gid 1000 --cap-drop ALL "
        "--disable-userns --new-session --die-with-parent"
    )

    assert flags.split() == args[: len(flags.split())]


def test_nothing_of_the_host_is_writable_by_default():
    assert not pairs(bwrap_args(Confinement("/"), {}), "--bind", "--bind-try")


def test_no_folder_with_private_keys_or_accounts_is_shown():
    shown = {dest for _, _, dest in binds(bwrap_args(Confinement("/"), {}))} | set(
        etc()
    )

    assert not shown & {"/", "/etc", "/etc/ssl", "/etc/pki", "/etc/shadow", "/root"}
    assert b"worker:x:1000:" in etc()["/etc/passwd"]
    assert len(etc()["/etc/passwd"].splitlines()) == 3


def test_the_home_of_the_person_is_not_shown(home):
    shown = [Path(source) for _, source, _ in binds(bwrap_args(Confinement("/"), {}))]

    assert not [path for path in shown if home.is_relative_to(path)]


def test_binds_come_last_and_in_order():
    one = Bind("/a", "/workspace", writable=True)
    two = Bind("/b", "/workspace/.git")
    inside = Confinement("/workspace", binds=(one, two), read=("/r",), write=("/w",))
    args = bwrap_args(inside, {})

    assert binds(args)[-4:] == [
        ("--ro-bind-try", "/r", "/r"),
        ("--bind-try", "/w", "/w"),
        ("--bind", "/a", "/workspace"),
        ("--ro-bind", "/b", "/workspace/.git"),
    ]
    assert args[-4:] == ["--remount-ro", "/", "--chdir", "/workspace"]


def test_the_home_inside_is_empty_unless_one_is_given():
    own = Confinement("/", binds=(Bind("/h", confinement.HOME, writable=True),))

    assert confinement.HOME in bwrap_args(Confinement("/"), {})
    assert bwrap_args(own, {}).count(confinement.HOME) == 2  # of the bind, and HOME=


def test_the_environment_is_made_from_scratch(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/x")
    monkeypatch.setenv("SECRET", "x")
    values = environment(Confinement("/", env=(("A", "1"), ("TERM", "xterm"))))

    assert values["A"] == "1"
    assert values["TERM"] == "xterm"
    assert values["HOME"] == confinement.HOME
    assert not {"GIT_DIR", "SECRET"} & set(values)


def test_of_path_stays_what_can_be_seen_inside(monkeypatch, tmp_path):
    seen = tmp_path / "tools"
    entries = f"/usr/games:{seen}/bin:{tmp_path}/secret:relative::{sys.prefix}/bin"
    monkeypatch.setenv("PATH", entries)
    inside = Confinement("/", read=(str(seen),))
    path = environment(inside)["PATH"].split(":")

    assert path[:3] == ["/usr/games", f"{seen}/bin", f"{sys.prefix}/bin"]
    assert path[-1] == "/bin"
    assert len(set(path)) == len(path)


def test_unconfined_the_whole_path_and_the_own_home_stay(monkeypatch, tmp_path, home):
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    values = environment(Confinement("/", mode="off"))

    assert values["PATH"].startswith(f"{tmp_path}/bin:")
    assert values["HOME"] == str(home)


def test_paths_of_the_home_are_expanded(home):
    args = bwrap_args(Confinement("/", read=("~/.cargo",)), {})

    assert ("--ro-bind-try", f"{home}/.cargo", f"{home}/.cargo") in binds(args)


def test_gitagent_itself_is_visible():
    shown = visible_prefixes()
    package = Path(confinement.__file__).parents[1]

    for path in (sys.prefix, sys.base_prefix, package):
        assert [each for each in shown if Path(path).is_relative_to(each)] or Path(
            path
        ).is_relative_to("/usr")


@pytest.mark.skipif(os.geteuid() != 0, reason="about a daemon of root")
def test_under_root_what_root_alone_may_use_of_proc_is_covered():
    covered = {dest for _, _, dest in binds(bwrap_args(Confinement("/"), {}))}

    assert {"/proc/sys", "/proc/keys"} <= covered
