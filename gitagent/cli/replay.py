"""``gitagent replay``: an attempt made once more from its record, and compared."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.files import clean

_PATHS = 50  # named


@click.command(name="replay")
@click.argument("name", metavar="TASK")
@click.option(
    "--attempt",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    help="That attempt, not the newest.",
)
@click.pass_obj
def command(here: Here, name: str, number: int | None) -> None:
    """Make an attempt at a task once more, and see whether it comes to the same.

    The agent starts in a workspace of its own, at the same commit, with the task, the
    definition and the settings of then, confined as an attempt is. Its models answer
    from the record: no provider is asked, and no key is needed. No branch moves,
    nothing is submitted, and no record is written; a daemon may run beside it.

    Exit code 0: the tree is the same. 1: it differs, and the paths are named; or the
    agent asked what the record has no answer to.

    \b
    Examples:
      gitagent replay fix-login
      gitagent replay fix-login --attempt 2
    """
    from gitagent.daemon import exchanges, replaying  # noqa: PLC0415 - start time
    from gitagent.worker.replay import replay  # noqa: PLC0415 - start time

    repo = here.repository
    with repo.objects() as objects:
        task = exchanges.task_of(objects, name)
        number = number or task.attempt
        steps = replaying.steps(repo, objects, task, number)
    done = replay(steps)
    what = f"attempt {number} at {task.id}"
    if done.problem or done.paths:
        if done.output:
            say.aside(done.output)
        if done.left:
            say.note(f"{done.left} recorded requests were not made")
        if done.problem:
            say.note(f"{what} cannot be replayed: {done.problem}")
        else:
            say.out(f"{what}, made once more, came to another tree; these differ:")
            for path in done.paths[:_PATHS]:
                say.out(f"  {clean.line(path)}")
            if (more := len(done.paths) - _PATHS) > 0:
                say.out(f"  and {more} more")
        raise click.exceptions.Exit(1)
    asked = len(steps[-1].entries)
    answers = f", with {asked} answers from the record" if asked else ""
    say.out(f"{what}, made once more{answers}, came to the same tree")
