"""``gitagent memory review``: what later evidence says against the memory."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.cli.memory import proposals
from gitagent.daemon import reviewing


@click.command(name="review")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(here: Here, as_json: bool) -> None:  # noqa: FBT001 - click's way
    """Compare the items with later evidence and the records, and propose.

    Looked at are: cited lines that changed, work that was rolled back or failed since,
    what rests on items that are withdrawn, commands that verify an item and fail now,
    whether attempts fared worse with an item, and disputes that nobody decides. It
    changes nothing but proposals; a person accepts or rejects them.

    \b
    Example:
      gitagent memory review
    """
    repo = here.repository
    with repo.objects() as objects:
        found = reviewing.review(repo, objects)
    if as_json:
        say.dump(
            {
                "version": 1,
                "items": found.items,
                "new": [proposals.line(each) for each in found.new],
                "waiting": [proposals.line(each) for each in found.waiting],
                "moot": [
                    proposals.line(each) | {"reason": reason}
                    for each, reason in found.moot
                ],
                "problem": found.problem or None,
            }
        )
        return
    new = {each.id for each in found.new}
    for each in found.waiting:
        for row in proposals.rows(each, "new" if each.id in new else "waiting"):
            say.out(row)
    for each, reason in found.moot:
        say.note(f"{each.id} is settled: {reason}")
    if found.problem:
        say.note(f"no command that verifies an item was run: {found.problem}")
    many = "" if found.items == 1 else "s"
    if found.waiting:
        say.note("decide with: gitagent memory accept ID, or reject ID --because TEXT")
    else:
        say.note(f"{found.items} item{many} looked at; there is nothing to propose")
