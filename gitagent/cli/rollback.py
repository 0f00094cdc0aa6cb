"""``gitagent rollback``: take a landing back, through the lander."""

import sys

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.cli.outcome import exit_code, tell
from gitagent.daemon import entry, follow, inbox
from gitagent.daemon.rollback import roll_back


@click.command(name="rollback")
@click.argument("landing")
@click.option("--because", metavar="TEXT", default="", help="Why, in your words.")
@click.option("--wait", is_flag=True, help="Stay until it has landed or is rejected.")
@click.pass_obj
def command(
    here: Here,
    landing: str,
    because: str,
    wait: bool,  # noqa: FBT001 - click's way
) -> None:
    """Submit the commit that takes LANDING back, and print the submission's id.

    LANDING is a submission, a task, or the commit that landed it. Of what landed
    together with others only that one is taken back; its note and its task file stay.
    All checks are run on the result. If later work has changed the same, the paths are
    named and nothing is submitted.

    \b
    Example:
      gitagent rollback fix-login --because "it locks out who has no mail address"
    """
    repo = here.repository
    with repo.objects() as objects:
        entered = roll_back(repo, objects, landing, because)
    submission = entered.submission
    say.out(submission.id)
    sys.stdout.flush()
    if not entered.new:
        say.note(f"it was asked for before, and is {submission.state}")
    running = entry.poke(repo)
    if not wait:
        if not running and not submission.settled:
            say.note("no daemon runs; start one with: gitagent up --detach")
        return
    waited = follow.wait(repo, submission.id, tell, patient=True)
    inbox.seen(repo, waited.submission)
    sys.exit(exit_code(waited.submission))
