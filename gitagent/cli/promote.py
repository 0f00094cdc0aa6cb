"""``gitagent promote``: put a submission at the head of the queue."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.daemon import queueing


@click.command(name="promote")
@click.argument("name", metavar="SUBMISSION|TASK")
@click.pass_obj
def command(here: Here, name: str) -> None:
    """Put a submission before all others in the queue.

    Those that it stands on still land before it. What runs on others of the queue is
    stopped where the new order has no use for it.

    \b
    Example:
      gitagent promote s-0123456789ab
    """
    say.out(queueing.promote(here.repository, name).id)
