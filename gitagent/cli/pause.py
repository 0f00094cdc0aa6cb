"""``gitagent pause``: let nothing land and no check start."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.switch import Position
from gitagent.daemon import queueing


@click.command(name="pause")
@click.option("--because", metavar="TEXT", default="", help="Why, in your words.")
@click.pass_obj
def command(here: Here, because: str) -> None:
    """Let nothing land and start no check, until `gitagent resume`.

    Checks under way go on to their end, and what they found is kept: a submission that
    was green lands at once afterwards, if the target did not move. It holds over a
    restart.

    \b
    Example:
      gitagent pause --because "a release is cut"
    """
    if not queueing.turn(here.repository, Position.PAUSED, because):
        say.note("the queue is paused already")
