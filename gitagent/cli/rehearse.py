"""``gitagent rehearse``: what new code does before a daemon changes over to it."""

import json

import click

from gitagent.cli.here import Here


@click.command(name="rehearse", hidden=True)
@click.pass_obj
def command(here: Here) -> None:
    """Load and read all that a daemon does here, and say as JSON what was read.

    The daemon that runs calls it with the code that it would change over to.

    \b
    Example:
      gitagent rehearse
    """
    from gitagent.daemon.rehearsal import rehearse  # noqa: PLC0415 - loads everything

    click.echo(json.dumps(rehearse(here.repository)))
