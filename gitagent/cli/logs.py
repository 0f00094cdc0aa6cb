"""``gitagent logs``: the output of an attempt, or of a submission's checks."""

import sys

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.submission import Submission
from gitagent.daemon import outputs
from gitagent.daemon.outputs import Run


@click.command(name="logs")
@click.argument("name", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Go on until it has ended.")
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
    number: int | None,
) -> None:
    """Show the output of a task's attempt, or of the checks of a submission.

    ID is a task or a submission. What runs is shown as far as it has come; with -f it
    goes on until the attempt has ended or the submission is settled. On a terminal
    control characters are made harmless; into a file or a pipe go the very bytes.

    \b
    Examples:
      gitagent logs -f fix-login
      gitagent logs s-0123456789ab
    """
    repo = here.repository
    with repo.objects(fast=True) as objects:
        found = outputs.find(objects, name)
        if isinstance(found, Submission):
            if not follow or found.settled:
                for run in outputs.runs(objects, found):
                    _show(run)
                if not any(line.receipt for line in found.checks):
                    say.note(f"no check of {name} has ended; it is {found.state}")
                return
        elif not follow or found.settled:
            number = number or found.attempt
            output = outputs.attempt_output(repo, objects, found, number)
            say.raw(output, end=True)
            if not output:
                say.note(f"attempt {number} of {name} has printed nothing")
            return
    if isinstance(found, Submission):
        outputs.follow_runs(repo, name, _show, say.note)
    else:
        outputs.follow_attempt(repo, name, number, say.raw, say.note)
        say.raw(b"", end=True)


def _show(run: Run) -> None:
    receipt = run.receipt
    how = f"{receipt.result}"
    if receipt.exit_code:
        how += f", exit {receipt.exit_code}"
    took = say.seconds(receipt.seconds)
    say.out(f"== {receipt.check}, run {receipt.run}: {how}, {took}: {receipt.command}")
    sys.stdout.flush()
    say.raw(run.output, end=True)
