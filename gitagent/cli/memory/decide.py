"""``gitagent memory decide``: of two items in dispute one stays."""

import click

from gitagent.cli.here import Here
from gitagent.cli.memory.asked import carry
from gitagent.core.remembering import Op, Operation


@click.command(name="decide")
@click.argument("slug")
@click.argument("other")
@click.option("--because", metavar="TEXT", required=True, help="Why OTHER goes.")
@click.pass_obj
def command(here: Here, slug: str, other: str, because: str) -> None:
    """Decide a dispute: SLUG stays, and OTHER is withdrawn.

    \b
    Example:
      gitagent memory decide tabs spaces --because "The formatter writes tabs."
    """
    operation = Operation(Op.DECIDE, slug, against=other, because=because)
    carry(here, operation, f"stays, and {other} is withdrawn,")
