"""``gitagent memory show``: one item, and what it rests on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.cli.memory.list import row
from gitagent.core.memory import Item, said, written
from gitagent.files import clean

if TYPE_CHECKING:
    from gitagent.daemon.memory import Cited
    from gitagent.memory.shelf import Shelf


@click.command(name="show")
@click.argument("slug")
@click.option("--evidence", is_flag=True, help="Print what its sources say, from Git.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(here: Here, slug: str, evidence: bool, as_json: bool) -> None:  # noqa: FBT001
    """Show an item: what it says, from where, and whether it counts.

    --evidence prints the cited lines as Git has them at the cited commit, and says
    where the target differs from them by now.

    \b
    Example:
      gitagent memory show deploy-order --evidence
    """
    from gitagent.daemon import memory  # noqa: PLC0415 - start time

    repo = here.repository
    with repo.objects() as objects:
        found = memory.shelf(repo, objects)
        item = memory.require(found, slug)
        asked = evidence or as_json
        cited = memory.evidence(repo, objects, found, item) if asked else ()
    if as_json:
        told = [
            {
                "source": written(each.source),
                "text": each.text,
                "problem": each.problem or None,
                "now": each.now or None,
            }
            for each in cited
        ]
        say.dump(
            {"version": 1, **row(found, item), "body": item.body, "evidence": told}
        )
        return
    for line in _lines(found, item):
        say.out(line)
    for line in _evidence(cited):
        say.out(line)


def _lines(found: "Shelf", item: Item) -> Iterator[str]:
    yield item.line
    yield ""
    marks = ", ".join(map(said, found.marks.get(item.slug, ())))
    rows = [
        ("slug", item.slug),
        ("kind", item.kind),
        ("status", " · ".join(part for part in (item.status, marks) if part)),
        ("because", item.because),
        ("updated", item.updated),
        ("disputes", ", ".join(item.disputes)),
        ("supersedes", ", ".join(item.supersedes)),
        ("verify", item.verify),
        ("work", item.work),
        *(("source", written(each)) for each in item.sources),
        ("blob", item.blob),
    ]
    yield from page.table([each for each in rows if each[1]], indent="")
    if item.body:
        yield ""
        yield item.body


def _evidence(cited: "tuple[Cited, ...]") -> Iterator[str]:
    for each in cited:
        yield ""
        yield clean.line(written(each.source))
        for text in (each.problem, each.now):
            if text:
                yield text
        yield from (f"  | {line}" for line in each.text.split("\n") if each.text)
