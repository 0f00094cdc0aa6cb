"""Finding the real coding agents, and installing them."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support import agents

INSTALL = Path(__file__).parent / "agents" / "install"


def run(*arguments, **env):
    return subprocess.run(
        [INSTALL, *arguments],
        env={**os.environ, **{name: str(value) for name, value in env.items()}},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(agents, "FOLDER", tmp_path)
    return tmp_path


@pytest.fixture
def tools(tmp_path):
    """Give a PATH with stand-ins for npm and Python, which write down that they ran."""
    tools = tmp_path / "tools"
    tools.mkdir()
    log = tmp_path / "ran"
    npm = f"""#!/bin/sh
echo npm >>{log}
[ "$2" = --prefix ] || exit 3
case $* in *codex@*) echo "no such package"; exit 1;; esac
mkdir -p "$3/node_modules/.bin"
printf '#!/bin/sh\\necho 1\\n' >"$3/node_modules/.bin/$(basename "$3" | tr -d .)"
chmod +x "$3"/node_modules/.bin/*
"""
    for name, text in {"npm": npm, "python3.12": "#!/bin/sh\nexit 1\n"}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    for name in ("python3.11", "python3.10"):
        (tools / name).symlink_to("python3.12")
    return f"{tools}:{os.environ['PATH']}", log


def test_the_folder_is_named_alike_by_those_who_look_and_who_install(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert run("--where").stdout == f"{agents._folder()}\n"
    assert tmp_path / "gitagent-tests" == agents._folder().parent


def test_the_folder_can_be_named(tmp_path, monkeypatch):
    monkeypatch.setenv("GITAGENT_TEST_AGENTS", str(tmp_path))

    assert run("--where").stdout == f"{tmp_path}\n"
    assert tmp_path == agents._folder()


def test_a_program_is_found_in_node_modules_or_a_virtual_environment(folder):
    for path in ("x/node_modules/.bin/codex", "aider/bin/aider"):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).touch(mode=0o755)

    assert str(folder / "x/node_modules/.bin/codex") == agents.program("codex")
    assert str(folder / "aider/bin/aider") == agents.program("aider")


def test_without_a_program_a_test_is_skipped_and_says_how_to_get_it(folder):
    assert not list(folder.iterdir())
    with pytest.raises(pytest.skip.Exception, match="make agents"):
        agents.program("claude")


def test_what_cannot_be_installed_is_said_and_the_others_stay(tmp_path, tools):
    path, log = tools
    folder = tmp_path / "agents"
    first = run(PATH=path, GITAGENT_TEST_AGENTS=folder)
    ran = log.read_text().count("npm")
    second = run(PATH=path, GITAGENT_TEST_AGENTS=folder)

    assert "no such package" in first.stderr
    assert "aider is left out" in first.stderr
    assert ["claude-code", "opencode-ai"] == sorted(
        path.name for path in folder.iterdir()
    )
    assert (3, 4) == (ran, log.read_text().count("npm"))
    assert "codex" in second.stderr
