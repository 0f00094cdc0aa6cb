"""``gitagent memory dispute``: two items exclude each other."""

import click

from gitagent.cli.here import Here
from gitagent.cli.memory.asked import carry
from gitagent.core.remembering import Op, Operation


@click.command(name="dispute")
@click.argument("slug")
@click.argument("other")
@click.option("--because", metavar="TEXT", required=True, help="Why both cannot be.")
@click.pass_obj
def command(here: Here, slug: str, other: str, because: str) -> None:
    """Say that what SLUG says and what OTHER says exclude each other.

    Both are told as disputed until somebody decides.

    \b
    Example:
      gitagent memory dispute tabs spaces --because "A file has one or the other."
    """
    operation = Operation(Op.DISPUTE, slug, against=other, because=because)
    carry(here, operation, f"and {other} are disputed")
