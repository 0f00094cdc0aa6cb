"""``gitagent log``: the landings, as the target's commits tell them, and the flakes."""

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.daemon.landings import Landing, landings


@click.command(name="log")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.option("--flaky", is_flag=True, help="The checks that passed at a second try.")
@click.option(
    "-n",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    help="Only the newest N.",
)
@click.pass_obj
def command(
    here: Here,
    as_json: bool,  # noqa: FBT001 - click's way
    flaky: bool,  # noqa: FBT001 - click's way
    count: int | None,
) -> None:
    """List the landings, newest first: time, submission, title, author, checks.

    It is read from the trailers of the target's commits; plain Git shows the same with
    `git log --first-parent`.

    With --flaky, the flake ledger instead: each check that failed and then passed on
    the same tree, how often, whether its budget is used up, and both outputs; with -n,
    N such passes of each.

    \b
    Examples:
      gitagent log -n 10
      gitagent log --flaky
    """
    if flaky:
        from gitagent.cli import flaky as ledger  # noqa: PLC0415 - loads the settings

        ledger.show(here.repository, count, as_json=as_json)
        return
    found = landings(here.repository, count)
    if as_json:
        say.dump({"version": 1, "landings": [_json(each) for each in found]})
        return
    for line in page.table([_row(each) for each in found], indent=""):
        say.out(line)
    if not found:
        say.note("nothing has landed yet")


def _json(each: Landing) -> dict[str, object]:
    return {
        "commit": each.commit,
        "landed": each.landed,
        "submission": each.submission,
        "task": each.task,
        "title": each.title,
        "author": each.author,
        "tip": each.tip,
        "config": each.config,
        "checked": each.checked,
        "checks": [
            {"name": name, "state": state, "seconds": seconds}
            for name, state, seconds in each.checks
        ],
    }


def _row(each: Landing) -> tuple[str, ...]:
    checks = ", ".join(
        f"{name} {state} {say.seconds(seconds)}".rstrip()
        for name, state, seconds in each.checks
    )
    author = each.author.partition(" <")[0]
    return (each.landed, each.commit[:12], each.submission, each.title, author, checks)
