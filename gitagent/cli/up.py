"""``gitagent up``: be the daemon, or start one in the background."""

import sys

import click

from gitagent.cli.here import Here


@click.command(name="up")
@click.option("--detach", is_flag=True, help="Start it in the background and return.")
@click.pass_obj
def command(here: Here, detach: bool) -> None:  # noqa: FBT001 - click's way
    """Start the daemon, which runs tasks and lands submissions.

    In the foreground it logs what it does and ends with ^C. A daemon that runs
    already is no failure. With --detach it returns once everything was read for the
    first time; the log is .git/gitagent/log/daemon.log.

    \b
    Example:
      gitagent up --detach && gitagent status
    """
    repo = here.repository
    from gitagent.daemon import service  # noqa: PLC0415 - after the usage is clear

    sys.exit(service.up_detached(repo) if detach else service.up(repo))
