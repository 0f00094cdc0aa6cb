"""``gitagent memory``: a group whose commands have a file each."""

from importlib import import_module
from typing import Final

import click

# The one line of help stands here, so that listing the commands loads none of them.
COMMANDS: Final = {
    "add": "Add an item, with its sources.",
    "withdraw": "Withdraw an item, everywhere at once.",
    "list": "List the items that count.",
    "show": "Show an item, and what it rests on.",
    "dispute": "Say that two items exclude each other.",
    "decide": "Decide a dispute: one stays, the other goes.",
    "log": "Say what was asked of the memory, and what became of it.",
    "brief": "Print what an attempt would be told at its start.",
    "search": "Search items, landings, episodes and documents.",
    "eval": "Score the search against a labelled set.",
    "effect": "Say from receipts whether memory helps.",
    "review": "Compare items with later evidence, and propose.",
    "proposals": "List what the review proposes.",
    "accept": "Accept a proposal of the review.",
    "reject": "Reject a proposal of the review.",
}


class _Group(click.Group):
    """Loads each command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*COMMANDS]  # once its module is loaded, `list` is a command

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        found = import_module(f"gitagent.cli.memory.{cmd_name}").command
        return found if isinstance(found, click.Command) else None

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group(
    name="memory",
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def command() -> None:
    """Read and write what earlier work teaches later work.

    An item is the file .agent/memory/<slug>.md on the target. It says one thing and
    quotes what it says it from. These commands are its one writer.

    \b
    Example:
      gitagent memory list
    """
