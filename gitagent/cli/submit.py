"""``gitagent submit``: hand a branch to the lander; the answer is an id."""

import sys

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.cli.outcome import exit_code, tell
from gitagent.daemon import entry, follow, inbox


@click.command(name="submit")
@click.argument("branch", required=False)
@click.option(
    "--divergence",
    metavar="TEXT",
    help='What was done other than asked, in your words; "None" if nothing was.',
)
@click.option(
    "--request-id",
    metavar="ID",
    help="The same id gives the same submission, however often it is called.",
)
@click.option("--wait", is_flag=True, help="Stay until it has landed or is rejected.")
@click.pass_obj
def command(
    here: Here,
    branch: str | None,
    divergence: str | None,
    request_id: str | None,
    wait: bool,  # noqa: FBT001 - click's way
) -> None:
    """Hand BRANCH to the lander and print the submission's id.

    Without BRANCH it is what is checked out. Handing the same commit over again gives
    the same submission. With --wait the exit code is 0 when it landed and 1 when not.

    \b
    Example:
      git switch -c fix && git commit -am "Fix it" && gitagent submit --wait
    """
    repo = here.repository
    with repo.objects(fast=True) as objects:
        work = entry.find_work(repo, objects, branch)
        entered = entry.submit_work(
            repo, objects, work, divergence=divergence, request_id=request_id
        )
    submission = entered.submission
    say.out(submission.id)
    sys.stdout.flush()
    if branch is None and entered.new and entry.uncommitted(repo):
        say.note("what is not committed is not part of it")
    if not entered.new and submission.tip != work.tip:
        say.note(f"this request was made before, for {submission.tip[:12]}")
    elif not entered.new:
        mend = "; a new commit, or a --request-id, makes a new submission"
        no = submission.settled and submission.state != "landed"
        say.note(f"it had been submitted before, and is {submission.state}{mend * no}")
    running = entry.poke(repo)
    if not wait:
        if not running and not submission.settled:
            say.note("no daemon runs; start one with: gitagent up --detach")
        return
    waited = follow.wait(repo, submission.id, tell, patient=True)
    inbox.seen(repo, waited.submission)
    sys.exit(exit_code(waited.submission))
