"""``gitagent memory accept``: have done what the review proposes."""

from pathlib import Path

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.remembering import Op
from gitagent.daemon import reviewing


@click.command(name="accept")
@click.argument("name", metavar="ID")
@click.option(
    "--because", metavar="TEXT", default="", help="Why; else what the review says."
)
@click.option("--keep", metavar="SLUG", default="", help="Of a dispute: what stays.")
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SSH key that signs it; without it, Git's user.signingkey.",
)
@click.pass_obj
def command(here: Here, name: str, because: str, keep: str, key: Path | None) -> None:
    """Accept a proposal: the memory does what it says.

    The decision is recorded in your name, and signed where `trust.allowed_signers` is
    set. Of a dispute you say which item stays.

    \b
    Examples:
      gitagent memory accept p-0123456789ab
      gitagent memory accept p-0123456789ab --keep tabs-not-spaces
    """
    repo = here.repository
    with repo.objects() as objects:
        proposal, ruling = reviewing.accept(
            repo, objects, name, because=because.strip(), keep=keep, key=key
        )
    say.out(name)
    if ruling is None:
        say.note(f"{proposal.by} has accepted this already, and it is done")
        return
    asked = proposal.operation
    verb = {
        Op.WITHDRAW: "is withdrawn",
        Op.UPDATE: "cites what is there now",
        Op.DISPUTE: f"is disputed by {asked.against}",
        Op.DECIDE: f"and {asked.against}: {proposal.keep} stays",
        Op.ADD: "is added",
    }[asked.op]
    say.note(f"{asked.slug} {verb}, by {ruling.commit[:12]}")
