"""Programs of the machine, and the folders that a sandbox has to show for them."""

import os
import sys
from pathlib import Path

import pytest

from gitagent.daemon.tools import Tools


@pytest.fixture
def home(tmp_path, monkeypatch):
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return made


def program(path: Path, monkeypatch, script="#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        (".pyenv/shims/python3", ["~/.pyenv"]),
        (".local/bin/uv", ["~/.local/bin"]),
        (".local/share/mise/shims/node", ["~/.local/share/mise"]),
        ("go/bin/gotestsum", ["~/go"]),
        ("bin/mine", ["~/bin"]),
        ("src/app/node_modules/.bin/jest", ["~/src/app/node_modules/.bin"]),
    ],
)
def test_below_home_the_whole_of_one_manager_is_shown(home, monkeypatch, where, shown):
    path = program(home / where, monkeypatch)

    assert shown == list(dict.fromkeys(Tools().folders(path.name)))


def test_elsewhere_it_is_the_folder_around_bin(home, tmp_path, monkeypatch):
    path = program(tmp_path / "srv/tool-1.0/bin/tool", monkeypatch)

    assert home.is_dir()
    assert {str(path.parent.parent)} == set(Tools().folders("tool"))


def test_both_ends_of_a_link_are_shown(home, monkeypatch):
    real = home / ".local/share/uv/tools/ruff/bin/ruff"
    program(real, monkeypatch)
    link = home / ".local/bin/ruff"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    monkeypatch.setenv("PATH", f"{link.parent}:/usr/bin:/bin")

    assert ["~/.local/bin", "~/.local/share/uv"] == list(Tools().folders("ruff"))


def test_programs_of_the_system_need_nothing(home):
    assert home.is_dir()
    assert [] == list(Tools().folders("git"))
    assert [] == list(Tools().folders("no-such-program"))


def test_a_virtual_environment_is_shown_with_the_python_below_it(home, monkeypatch):
    base = home / ".pyenv/versions/3.12.1/bin"
    program(base / "python3.12", monkeypatch)
    venv = home / "src/app/.venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {base}\nversion = 3.12.1\n")
    (venv / "bin/python").symlink_to(base / "python3.12")
    monkeypatch.setenv("PATH", f"{venv / 'bin'}:/usr/bin:/bin")

    assert {"~/src/app/.venv", "~/.pyenv"} == set(Tools().folders("python"))


def test_agents_and_missing_programs_are_told(home, monkeypatch):
    program(home / ".local/bin/claude", monkeypatch)

    assert ("claude",) == Tools().agents()
    assert ("no-such",) == Tools().missing(("git", "no-such"))


def test_the_projects_own_python_is_taken_if_it_alone_has_the_module(
    home, tmp_path, monkeypatch
):
    program(home / "bin/python", monkeypatch, "#!/bin/sh\nexit 1\n")
    own = program(tmp_path / "app/.venv/bin/python", monkeypatch)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")

    assert str(own) == Tools(tmp_path / "app").python("anything")
    assert "python" == Tools().python("anything")


def test_the_python_on_path_comes_first(home, tmp_path, monkeypatch):
    program(home / "bin/python", monkeypatch)
    program(tmp_path / "app/.venv/bin/python", monkeypatch)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")

    assert "python" == Tools(tmp_path / "app").python("anything")


def test_rustup_is_told_by_its_home(home, monkeypatch):
    program(home / ".cargo/bin/cargo", monkeypatch)
    (home / ".rustup").mkdir()

    assert str(home / ".rustup") == Tools().rustup_home()
    assert {"~/.cargo", "~/.rustup"} == set(Tools().folders("cargo"))


def test_this_python_is_shown_anyway(home, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")

    assert home.is_dir()
    assert [] == list(Tools().folders("python"))
