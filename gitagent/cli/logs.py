"""``gitagent logs``: the output of an attempt, or of a submission's checks."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.daemon import outputs
from gitagent.daemon.outputs import Run
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository


@click.command(name="logs")
@click.argument("name", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Go on until it has ended.")
@click.option("--raw", is_flag=True, help="The very bytes, all of them.")
@click.option(
    "--attempt",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    help="Of a task: that attempt, not the newest.",
)
@click.pass_obj
def command(
    here: Here,
    name: str,
    follow: bool,  # noqa: FBT001 - click's way
    raw: bool,  # noqa: FBT001 - click's way
    number: int | None,
) -> None:
    """Show the output of a task's attempt, or of the checks of a submission.

    ID is a task or a submission. What runs is shown as far as it has come; with -f it
    goes on until the attempt has ended or the submission is settled. Of what has ended
    the last 200 lines are shown, and where the whole is. Whatever would move the cursor
    or hide text is made visible, and only a terminal gets colours; --raw prints the
    very bytes.

    \b
    Examples:
      gitagent logs -f fix-login
      gitagent logs s-0123456789ab
      gitagent logs --raw s-0123456789ab > output
    """
    repo = here.repository
    with repo.objects(fast=True) as objects:
        found = outputs.find(objects, name)
        if found.settled or not follow:
            if isinstance(found, Submission):
                _submission(objects, found, raw=raw)
            else:
                _attempt(repo, objects, found, number or found.attempt, raw=raw)
            return
    if isinstance(found, Submission):
        outputs.follow_runs(repo, name, _show_raw if raw else _show, say.note)
    else:
        write = say.raw if raw else say.output
        outputs.follow_attempt(repo, name, number, write, say.note)
        if not raw:
            say.output(b"", end=True)


def _submission(objects: Objects, found: Submission, *, raw: bool) -> None:
    for run in outputs.runs(objects, found):
        (_show_raw if raw else _show)(run)
    if not any(line.receipt for line in found.checks):
        say.note(f"no check of {found.id} has ended; it is {found.state}")


def _attempt(
    repo: Repository, objects: Objects, found: TaskRecord, number: int, *, raw: bool
) -> None:
    output = outputs.attempt_output(repo, objects, found, number)
    if raw:
        say.raw(output)
    elif say.end_of(output):
        say.note(f"all of it: gitagent logs --raw --attempt {number} {found.id}")
    if not output:
        say.note(f"attempt {number} of {found.id} has printed nothing")


def _show(run: Run) -> None:
    receipt = run.receipt
    how = f"{receipt.result}"
    if receipt.exit_code:
        how += f", exit {receipt.exit_code}"
    took = say.seconds(receipt.seconds)
    say.out(f"== {receipt.check}, run {receipt.run}: {how}, {took}: {receipt.command}")
    say.out(f"   git show {run.place}")
    say.end_of(run.output)


def _show_raw(run: Run) -> None:
    say.raw(run.output)
