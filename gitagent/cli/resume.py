"""``gitagent resume``: let the queue go on."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.switch import Position
from gitagent.daemon import queueing


@click.command(name="resume")
@click.pass_obj
def command(here: Here) -> None:
    """Let the queue go on after `pause` or `drain`.

    Where `lander.guard` refuses direct moves of the target, this accepts those that
    happened until now.

    \b
    Example:
      gitagent resume
    """
    if not queueing.turn(here.repository, Position.RUNNING):
        say.note("the queue runs already")
