"""``gitagent doctor``: what does not hold, and the mend."""

import sys

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.daemon.doctor import STORES_LOOK, Verdict, examine


@click.command(name="doctor")
@click.option(
    "--dead",
    is_flag=True,
    help="Only the stores: those that nobody writes or reads, and refs of none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(here: Here, dead: bool, as_json: bool) -> None:  # noqa: FBT001 - click's way
    """Look at this machine and this repository, and say what does not hold.

    The exit code is 1 if something keeps gitagent from working; with --dead, if
    something is said of a store.

    \b
    Examples:
      gitagent doctor
      gitagent doctor --dead
    """
    facts = list(examine(here.repository, {STORES_LOOK} if dead else None))
    wrong = {Verdict.BAD, Verdict.NOTE} if dead else {Verdict.BAD}
    bad = [fact for fact in facts if fact.verdict in wrong]
    if as_json:
        say.dump(
            {
                "version": 1,
                "good": not bad,
                "facts": [
                    {
                        "about": fact.about,
                        "verdict": str(fact.verdict),
                        "text": fact.text,
                    }
                    for fact in facts
                ],
            }
        )
    else:
        rows = [(str(fact.verdict), fact.about, fact.text) for fact in facts]
        for line in page.table(rows, indent=""):
            say.out(line)
    sys.exit(1 if bad else 0)
