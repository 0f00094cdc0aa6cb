"""Pages on a terminal: the only place that knows rich, loaded for terminals alone."""

from contextlib import AbstractContextManager

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gitagent.cli.page import Page
from gitagent.files import clean

_STATES = {
    "running": "cyan",
    "checking": "cyan",
    "submitted": "cyan",
    "waiting": "yellow",
    "queued": "yellow",
    "question": "bold yellow",
    "held": "bold yellow",
    "landed": "green",
    "done": "green",
    "ok": "green",
    "stopped": "dim",
    "withdrawn": "dim",
    "failed": "bold red",
    "rejected": "bold red",
    "refused": "bold red",
    "direct": "bold red",
    "rewound": "bold red",
    "bad": "bold red",
}
_KINDS = {"plain": "", "good": "bold green", "warn": "bold yellow", "bad": "bold red"}


def show(made: Page) -> None:
    """Print a page."""
    console = Console(highlight=False)
    for kind, text in made.head:
        console.print(Text(clean.visible(text), style=_KINDS[kind]))
    for section in made.sections:
        console.print(f"\n[bold]{escape(section.title)}[/bold]")
        console.print(_table(section.rows))
    if made.foot:
        console.print()
        for line in made.foot:
            console.print(Text(clean.visible(line), style="dim"))


def spinner(text: str) -> AbstractContextManager[object]:
    """Return a context that shows that something is under way."""
    return Console(highlight=False).status(escape(text))


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    table = Table.grid(padding=(0, 2), pad_edge=True)
    count = max(len(row) for row in rows)
    for number in range(count):
        last = number == count - 1
        table.add_column(no_wrap=not last and number < 2, overflow="fold")
    for row in rows:
        cells = [Text(clean.visible(cell)) for cell in row]
        cells[0].stylize(_STATES.get(row[0], ""))
        table.add_row(*cells)
    return table
