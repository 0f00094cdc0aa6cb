"""``gitagent status``: what runs, what waits for whom, what ended."""

import sys

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.daemon.overview import overview
from gitagent.daemon.report import report
from gitagent.host import clock


@click.command(name="status")
@click.argument("name", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show the whole queue, and all that is settled.",
)
@click.pass_obj
def command(
    here: Here,
    name: str | None,
    as_json: bool,  # noqa: FBT001 - click's way
    everything: bool,  # noqa: FBT001 - click's way
) -> None:
    """Show what runs, what waits for whom, and what ended.

    With ID, the story of one task or submission. Without --all, --json lists all that
    is open and the newest 100 settled tasks and submissions.

    \b
    Examples:
      gitagent status
      gitagent status fix-login
      gitagent status --json | jq '.tasks[] | select(.state == "waiting")'
    """
    repo = here.repository
    if name is not None:
        from gitagent.cli import tale  # noqa: PLC0415 - the page without it is faster

        tale.show(repo, name, as_json=as_json)
        return
    seen = overview(repo, everything=everything)
    now = clock.now()
    made = report(seen, now)
    if as_json:
        say.dump(made)
        return
    laid_out = page.page(
        made,
        where=str(repo.worktree or repo.common_dir),
        now=clock.stamp(now),
        working=seen.working,
        everything=everything,
        left_out=seen.left_out,
    )
    if sys.stdout.isatty():
        from gitagent.cli import output  # noqa: PLC0415 - only for a terminal

        output.show(laid_out)
        return
    for line in page.plain(laid_out):
        say.out(line)
