"""docs/commands.md names every command and every option."""

from pathlib import Path

import click
import pytest

from gitagent.cli import COMMANDS, cli

PAGE = Path(__file__).resolve().parents[2] / "docs/commands.md"


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


def test_every_exit_code_is_explained():
    text = PAGE.read_text(encoding="utf-8")

    for code in (0, 1, 2, 3, 75, 130, 141):
        assert f"| {code} |" in text
