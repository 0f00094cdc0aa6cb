"""``gitagent memory add``: an item, with its sources."""

import sys
from pathlib import Path

import click

from gitagent.cli.here import Here
from gitagent.cli.memory.asked import carry
from gitagent.core.memory import Kind
from gitagent.core.remembering import Op, Operation
from gitagent.errors import UserError


@click.command(name="add")
@click.argument("slug")
@click.option(
    "--kind", type=click.Choice([str(k) for k in Kind]), required=True, help="Of what."
)
@click.option("--line", metavar="TEXT", required=True, help="The one thing it says.")
@click.option(
    "--source",
    "sources",
    metavar="SOURCE",
    multiple=True,
    required=True,
    help="COMMIT:PATH:FIRST-LAST, receipt:BLOB, landing:SUBMISSION, decision:TASK:N.",
)
@click.option(
    "--body-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="More than its line; - is standard input.",
)
@click.option("--verify", metavar="CMD", default="", help="Passes while it is true.")
@click.option(
    "--supersedes", metavar="SLUG", multiple=True, help="It stands in its place."
)
@click.pass_obj
def command(
    here: Here,
    slug: str,
    kind: str,
    line: str,
    sources: tuple[str, ...],
    body_file: str | None,
    verify: str,
    supersedes: tuple[str, ...],
) -> None:
    """Add an item, and commit it on the target.

    Each source has to resolve, and its lines are quoted in the item. If SLUG is there
    and says otherwise, both are kept and disputed.

    \b
    Examples:
      gitagent memory add deploy-order --kind lesson \\
        --line "Migrate the database before the workers restart." \\
        --source main:docs/deploy.md:12-18
      gitagent memory add tabs --kind decision --line "Indent with tabs." \\
        --source decision:style:1 --body-file why.md --supersedes spaces
    """
    operation = Operation(
        Op.ADD,
        slug,
        kind=kind,
        line=line,
        body="" if body_file is None else _text(body_file),
        sources=sources,
        supersedes=supersedes,
        verify=verify,
    )
    carry(here, operation, "is added")


def _text(name: str) -> str:
    """Return the text of a file, without the end of its last line."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        problem = f"{name}: byte {error.start + 1} is not UTF-8"
        raise UserError(problem, "save the file as UTF-8") from None
