"""``gitagent memory reject``: leave an item as it is."""

from pathlib import Path

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.daemon import reviewing


@click.command(name="reject")
@click.argument("name", metavar="ID")
@click.option("--because", metavar="TEXT", required=True, help="Why, in your words.")
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SSH key that signs it; without it, Git's user.signingkey.",
)
@click.pass_obj
def command(here: Here, name: str, because: str, key: Path | None) -> None:
    """Reject a proposal; it does not come back for the same evidence.

    \b
    Example:
      gitagent memory reject p-0123456789ab --because "the rule still holds"
    """
    repo = here.repository
    with repo.objects() as objects:
        proposal = reviewing.reject(repo, objects, name, because=because, key=key)
    say.out(name)
    say.note(f"rejected by {proposal.by}: {proposal.because}")
