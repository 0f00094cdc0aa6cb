"""``gitagent memory log``: what was asked of the memory, and what became of it."""

from contextlib import suppress

import click

from gitagent.cli import ruled, say
from gitagent.cli.here import Here
from gitagent.core.layout import HEADS
from gitagent.daemon import remembered
from gitagent.errors import UserError


@click.command(name="log")
@click.argument("task", default="")
@click.option(
    "-n",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    help="At most this many.",
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_obj
def command(here: Here, task: str, count: int, as_json: bool) -> None:  # noqa: FBT001
    """List the newest rulings on operations, of TASK or all, with the reasons.

    What was refused stands there as what was admitted does. The last 20 are shown, or
    as many as -n says.

    \b
    Example:
      gitagent memory log distil-s-0123456789ab
    """
    target = ""
    with here.repository.objects(fast=True) as objects:
        found = ruled.found(objects, task)[:count]
        refs = objects.refs(HEADS)
        with suppress(UserError):
            target = remembered.target(here.repository, objects, refs)[1]
        if as_json:
            rows = [ruled.values(objects, each, target) for each in found]
            say.dump({"version": 1, "rulings": rows})
            return
        for each in found:
            for line in ruled.lines(objects, each, target):
                say.out(line)
    if not found:
        whose = f"task {task}" if task else "this repository"
        say.note(f"nothing was ruled on yet for {whose}")
