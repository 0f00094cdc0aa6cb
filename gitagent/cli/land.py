"""``gitagent land``: hand work to the lander and stay until the outcome."""

import sys

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.cli.outcome import exit_code, tell
from gitagent.daemon import entry, follow, inbox
from gitagent.daemon.news import Standing


@click.command(name="land")
@click.argument("what", metavar="[BRANCH|ID]", required=False)
@click.option(
    "--divergence",
    metavar="TEXT",
    help='What was done other than asked, in your words; "None" if nothing was.',
)
@click.pass_obj
def command(here: Here, what: str | None, divergence: str | None) -> None:
    """Hand work to the lander and stay until it has landed or is rejected.

    BRANCH is what is checked out if nothing is named. ID is a submission, or a task
    whose file says `land = "manual"`. Without a daemon the checks run here. The exit
    code is 0 when it landed and 1 when not, with the reason and the failing output.

    \b
    Example:
      gitagent land fix-login
    """
    repo = here.repository
    with repo.objects(fast=True) as objects:
        entered = entry.enter(repo, objects, what, divergence)
    submission = entered.submission
    if what is None and entered.new and entry.uncommitted(repo):
        say.note("what is not committed is not part of it")
    if submission.settled:
        tell(Standing(submission))
        inbox.seen(repo, submission)
        sys.exit(exit_code(submission))
    entry.poke(repo)
    settled = follow.land(repo, submission.id, tell)
    if not settled.settled:
        say.note(f"interrupted; {settled.id} stays {settled.state}")
    else:
        say.out(settled.id)
        inbox.seen(repo, settled)
    sys.exit(exit_code(settled))
