"""``gitagent memory withdraw``: an item is taken back, everywhere at once."""

import click

from gitagent.cli.here import Here
from gitagent.cli.memory.asked import carry
from gitagent.core.remembering import Op, Operation


@click.command(name="withdraw")
@click.argument("slug")
@click.option("--because", metavar="TEXT", required=True, help="Why; it is kept.")
@click.pass_obj
def command(here: Here, slug: str, because: str) -> None:
    """Withdraw an item, and commit that on the target.

    Its file goes on to say what it said, from where, and why it does not count.
    Whoever was given it is told. A file that is no item is taken away.

    \b
    Example:
      gitagent memory withdraw deploy-order --because "Workers migrate it themselves."
    """
    operation = Operation(Op.WITHDRAW, slug, because=because)
    carry(here, operation, "is withdrawn")
