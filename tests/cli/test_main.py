"""The frame of the command line: loading, errors, exit codes."""

import errno
import json
import os
import re
import signal
import subprocess
import sys

import click
import pytest

from gitagent import __version__
from gitagent.cli import COMMANDS, cli
from tests.support.cli import call
from tests.support.daemon import COMMAND, gitagent
from tests.support.repos import Repo

HEAVY = (
    *("anthropic", "importlib.metadata", "pathspec", "pydantic", "pygit2", "rich"),
    *("prompt_toolkit", "watchdog"),
)


def commands():
    """Yield every command and subcommand with its path."""
    context = click.Context(cli)
    for name in [*COMMANDS, "hook"]:
        found = cli.get_command(context, name)
        yield name, found
        for inner in found.list_commands(context) if hasattr(found, "commands") else ():
            yield f"{name} {inner}", found.get_command(context, inner)


def test_the_version_is_told():
    answer = call(None, "--version")

    assert (0, f"gitagent {__version__}\n") == (answer.code, answer.out)


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_nothing_heavy_is_loaded_before_a_command_is_called(argument):
    script = (
        "import sys\n"
        "from gitagent.cli import cli\n"
        "try:\n"
        f"    cli.main([{argument!r}])\n"
        "except SystemExit as end:\n"
        "    import json\n"
        "    print(json.dumps([end.code, sorted(sys.modules)]))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])

    assert 0 == code
    assert [] == [name for name in HEAVY if name in modules]
    assert [] == [name for name in modules if name.startswith("gitagent.cli.s")]


def test_status_loads_neither_libgit2_nor_the_reader_of_settings(repo):
    call(repo, "init", "--no-check")
    call(repo, "status")
    script = (
        "import sys\n"
        "from gitagent.cli import cli\n"
        "try:\n"
        f"    cli.main(['-C', {str(repo.path)!r}, 'status'])\n"
        "except SystemExit as end:\n"
        "    import json\n"
        "    print(json.dumps([end.code, sorted(sys.modules)]))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])

    assert 0 == code
    assert [] == [name for name in HEAVY if name in modules]


def test_the_list_of_commands_says_of_each_what_its_help_says_first():
    listed = {**COMMANDS, "hook": ""}
    shown = {
        name: found.get_short_help_str(limit=200)
        for name, found in commands()
        if " " not in name
    }

    assert set(listed) == set(shown)
    assert [] == [name for name, text in shown.items() if not text]


def test_every_command_has_help_with_an_example():
    without = [
        name
        for name, found in commands()
        if "Example" not in (found.help or "") or f"gitagent {name}" not in found.help
    ]

    assert [] == without


def test_an_example_stands_in_its_help_on_lines_of_its_own():
    folded = [
        name
        for name, found in commands()
        for shown in [found.get_help(click.Context(found, info_name=name))]
        if "\\b" in shown or not re.search(r"^ *Examples?:$", shown, re.MULTILINE)
    ]

    assert [] == folded


def test_every_option_has_help():
    silent = [
        (name, option.name)
        for name, found in commands()
        for option in found.params
        if isinstance(option, click.Option) and not option.help
    ]

    assert [] == silent


@pytest.mark.parametrize(
    "args",
    [
        ["bogus"],
        ["status", "--bogus"],
        ["submit", "a", "b"],
        ["task", "add"],
        ["log", "-n", "0"],
        ["-C", "/nowhere/at/all", "status"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(repo, args):
    answer = call(repo, *args)

    assert (2, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert answer.err.startswith("gitagent: ")


def test_an_error_is_one_line_and_its_own_exit_code(tmp_path):
    answer = call(tmp_path, "status")

    assert (1, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())


def test_a_bug_is_exit_3_and_names_its_log(repo, monkeypatch):
    call(repo, "init", "--no-check")

    def fail(*_args, **_options):
        raise RuntimeError("out of\nthe blue")

    monkeypatch.setattr("gitagent.cli.status.overview", fail)
    answer = call(repo, "status")
    logs = list((repo.common_dir / "gitagent/log").glob("crash-*.log"))

    assert (3, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert 1 == len(logs)
    assert str(logs[0]) in answer.err
    assert "RuntimeError" in logs[0].read_text()
    assert __version__ in logs[0].read_text()


def test_a_full_disk_is_no_bug_and_says_where_and_how_it_is_mended(repo, monkeypatch):
    call(repo, "init", "--no-check")

    def fail(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device", "a", None, "b")

    monkeypatch.setattr("gitagent.cli.status.overview", fail)
    answer = call(repo, "status")

    assert (1, "") == (answer.code, answer.out)
    assert (
        "gitagent: No space left on device: b; make room and try again\n" == answer.err
    )
    assert [] == list((repo.common_dir / "gitagent").glob("log/crash-*"))


def test_a_bug_outside_a_repository_has_a_log_too(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def fail(*_args, **_options):
        raise RuntimeError

    monkeypatch.setattr("gitagent.git.repository.discover", fail)
    answer = call(tmp_path, "doctor")

    assert 3 == answer.code
    assert 1 == len(list(tmp_path.glob("gitagent-*.log")))


def test_a_reader_that_goes_away_is_no_error(repo):
    call(repo, "init", "--no-check")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*COMMAND, "status"],
            cwd=repo.path,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)

    assert (141, b"") == (done.returncode, done.stderr)


def test_interrupting_is_exit_130_without_a_traceback(repo):
    call(repo, "init", "--no-check")
    repo.commit({"a": "a"}, branch="work")
    with subprocess.Popen(
        # A suite that was started in the background ignores the signal, as do its own.
        ["env", "--default-signal=INT", *COMMAND, "submit", "work", "--wait"],
        cwd=repo.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as waiting:
        assert waiting.stderr is not None
        said = waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        try:
            _, rest = waiting.communicate(timeout=60)
        finally:
            waiting.kill()

    assert "no daemon runs" in said
    assert 130 == waiting.returncode
    assert "Traceback" not in rest


def test_the_folder_can_be_named(repo, tmp_path):
    call(repo, "init", "--no-check")
    done = gitagent(tmp_path, "-C", str(repo.path), "status", "--json")

    assert 0 == done.returncode
    assert "refs/heads/main" == json.loads(done.stdout)["target"]["ref"]


def test_control_characters_of_others_do_not_reach_the_terminal(repo: Repo):
    call(repo, "init", "--no-check")
    repo.commit({".agent/tasks/evil.md": "# A \x1b[2J title\n\n```sh\ntrue\n```\n"})
    answer = call(repo, "status")

    assert "evil" in answer.out
    assert "\x1b" not in answer.out
