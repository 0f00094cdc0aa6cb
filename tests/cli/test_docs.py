"""The pages for people name every command, every option and every key of a file."""

import json
from pathlib import Path

import click
import pytest

from gitagent.cli import COMMANDS, cli
from gitagent.core.models import SPEAKS
from gitagent.files import agentfile, taskfile
from gitagent.worker.backends import aider, claude, codex, opencode

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "commands.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_section_with_all_its_options(name):
    text = PAGE.read_text(encoding="utf-8")
    _, found, rest = text.partition(f"\n## `gitagent {name}`\n")
    section = rest.partition("\n## ")[0]
    command = cli.get_command(click.Context(cli), name)
    parts = [command, *getattr(command, "commands", {}).values()]
    options = [
        max(option.opts, key=len)
        for part in parts
        for option in part.params
        if isinstance(option, click.Option)
    ]
    subcommands = getattr(command, "commands", {})

    assert found
    assert "```" in section
    assert [] == [option for option in options if f"`{option}" not in section]
    assert [] == [sub for sub in subcommands if f"gitagent {name} {sub}" not in section]


@pytest.mark.parametrize(
    ("page", "key"),
    [
        *(("tasks.md", key) for key in taskfile.KEYS),
        *(("agents.md", key) for key in agentfile.KEYS),
    ],
)
def test_every_key_of_a_task_and_of_an_agent_is_explained(page, key):
    rows = (DOCS / page).read_text(encoding="utf-8").splitlines()

    assert [] != [row for row in rows if f"`{key}`" in row.split(" | ")[0]]


@pytest.mark.parametrize("backend", [claude, codex, opencode, aider])
def test_each_program_is_listed_with_its_install_command_and_tested_version(backend):
    pins = json.loads((ROOT / "tests/agents/package.json").read_text())["dependencies"]
    pins |= [(ROOT / "tests/agents/aider.txt").read_text().strip().split("==")]
    rows = (DOCS / "agents.md").read_text(encoding="utf-8").splitlines()
    row = next(row for row in rows if row.startswith(f"| `{backend.NAME}` |"))

    install = f"`{backend.INSTALL}`"
    speaks = ", ".join(f"`{each}`" for each in SPEAKS[backend.NAME])
    expected = [install, backend.LEAST, pins[backend.PACKAGE], speaks]

    assert expected == [cell.strip() for cell in row.split("|")[2:6]]


def test_every_exit_code_is_explained():
    text = PAGE.read_text(encoding="utf-8")

    for code in (0, 1, 2, 3, 75, 130, 141):
        assert f"| {code} |" in text
