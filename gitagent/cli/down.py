"""``gitagent down``: stop the daemon."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.daemon import service


@click.command(name="down")
@click.pass_obj
def command(here: Here) -> None:
    """Stop the daemon and its workers, and wait until they are gone.

    What the workers did is kept; the next daemon goes on from there.

    \b
    Example:
      gitagent down
    """
    if not service.down(here.repository):
        say.note("no daemon runs here")
