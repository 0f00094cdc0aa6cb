"""``gitagent approve``: a person's word for what a submission does to guarded paths."""

from datetime import timedelta
from pathlib import Path

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.daemon import approving, entry
from gitagent.errors import ConfigError
from gitagent.files import clean, duration
from gitagent.host import clock


@click.command(name="approve")
@click.argument("name", metavar="SUBMISSION|TASK")
@click.option("--because", metavar="TEXT", default="", help="Why, in your words.")
@click.option(
    "--for",
    "lasting",
    metavar="DURATION",
    help='How long it counts, such as "2d"; without it, as long as nothing changes.',
)
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SSH key that signs it; without it, Git's user.signingkey.",
)
@click.pass_obj
def command(
    here: Here, name: str, because: str, lasting: str | None, key: Path | None
) -> None:
    """Approve what a submission would put at protected paths.

    Each path is listed with what is there now and what would be. The approval is good
    for that content and no other, for this submission alone. It is needed for
    `lander.protected`, and where a task's result weakens tests.

    \b
    Example:
      gitagent approve s-0123456789ab --because "the new check is what we want"
    """
    until = "" if lasting is None else _end(lasting)
    repo = here.repository
    with repo.objects() as objects:
        planned = approving.plan(repo, objects, name)
        for row in planned.rows:
            say.out(_line(row))
        if planned.given is not None:
            say.note(f"{planned.given.by} has approved this already")
        else:
            if planned.problem:
                say.note(f"an approval that is there does not count: {planned.problem}")
            made = approving.approve(
                repo, objects, planned, why=because, until=until, key=key
            )
            say.note(f"approved by {made.by}")
    say.out(planned.submission.id)
    if not entry.poke(repo):
        say.note("no daemon runs; start one with: gitagent up --detach")


def _end(lasting: str) -> str:
    try:
        seconds = duration.seconds(lasting)
    except ValueError as error:
        raise ConfigError(f"--for: {error}") from None
    return clock.stamp(clock.now() + timedelta(seconds=seconds))


def _line(row: approving.Row) -> str:
    need = row.need
    change = f"{row.old[:12] or 'nothing'} -> {need.blob[:12] or 'nothing'}"
    lines = "" if row.added is None else f"  +{row.added} -{row.removed}"
    mode = "" if need.mode in {0, 0o100644} else f"  mode {need.mode:o}"
    return f"{clean.line(need.path)}  {change}{lines}{mode}  ({need.why})"
