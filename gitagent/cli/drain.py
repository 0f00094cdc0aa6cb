"""``gitagent drain``: let the queue run empty."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.switch import Position
from gitagent.daemon import queueing


@click.command(name="drain")
@click.option("--because", metavar="TEXT", default="", help="Why, in your words.")
@click.pass_obj
def command(here: Here, because: str) -> None:
    """Let what is in the queue go on, and what comes from now on wait.

    New submissions are taken and kept; they start after `gitagent resume`. It holds
    over a restart.

    \b
    Example:
      gitagent drain --because "the machine goes down at noon"
    """
    if not queueing.turn(here.repository, Position.DRAINING, because):
        say.note("the queue is drained already")
