"""``gitagent trace``: from evidence to an item, to who was given it, to what came."""

from dataclasses import asdict

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.core.links import About
from gitagent.daemon import tracing
from gitagent.files import clean

_TEXT = 300  # characters of a link


@click.command(name="trace")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(here: Here, name: str, as_json: bool) -> None:  # noqa: FBT001 - click's way
    """Print the chain of an item, a landing, or of what was said against an item.

    NAME is an item, a submission, a landing's commit or task, a proposal of the
    review, or the record of a ruling. Each line has the object that says so, oldest
    first; what is missing is said at the end.

    \b
    Examples:
      gitagent trace deploy-order
      gitagent trace s-3f1c9a2b7d10
      gitagent trace p-0123456789ab --json
    """
    repo = here.repository
    with repo.objects() as objects:
        found = tracing.trace(repo, objects, name)
    if as_json:
        links = [{**asdict(each), "about": str(each.about)} for each in found.links]
        told = {"version": 1, "kind": found.kind, "name": found.name}
        say.dump({**told, "links": links})
        return
    say.out(f"{found.kind} {found.name}")
    told_links = [each for each in found.links if each.about is not About.GAP]
    rows = [
        (each.at, str(each.about), each.oid[:12], clean.sentence(each.text, _TEXT))
        for each in told_links
    ]
    for line in page.table(rows):
        say.out(line)
    for each in found.links:
        if each.about is About.GAP:
            say.out(f"  {clean.sentence(each.text, _TEXT)}")
