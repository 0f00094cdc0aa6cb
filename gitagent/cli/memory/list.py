"""``gitagent memory list``: the items, and which files are none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.core.memory import COUNTS, Item, said, written

if TYPE_CHECKING:
    from gitagent.memory.shelf import Shelf


@click.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Those that do not count, too.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_obj
def command(here: Here, everything: bool, as_json: bool) -> None:  # noqa: FBT001
    """List the items that count, and files that are none, with the reason.

    \b
    Example:
      gitagent memory list --all
    """
    from gitagent.daemon import memory  # noqa: PLC0415 - start time

    repo = here.repository
    with repo.objects() as objects:
        if as_json:
            held = memory.held(repo, objects)
            limit, found = held.settings.memory.limit, held.shelf
        else:
            limit, found = 0, memory.shelf(repo, objects)
    items = [
        item
        for _, item in sorted(found.items.items())
        if everything or item.status in COUNTS
    ]
    if as_json:
        say.dump(_json(found, items, limit))
        return
    for line in _lines(found, items):
        say.out(line)
    if not items and found.items:
        say.note("no item counts; see: gitagent memory list --all")
    elif not items and not found.refused:
        say.note("the memory has nothing; see: gitagent memory add --help")


def _lines(found: "Shelf", items: list[Item]) -> Iterator[str]:
    marks = found.marks
    rows = [
        (
            item.status,
            item.slug,
            item.kind,
            item.updated[:10],
            " · ".join((item.line, *map(said, marks.get(item.slug, ())))),
        )
        for item in items
    ]
    yield from page.table(rows, indent="")
    if found.refused:
        if rows:
            yield ""
        yield "Refused"
        yield from page.table([("refused", each.reason) for each in found.refused])


def _json(found: "Shelf", items: list[Item], limit: int) -> dict[str, Any]:
    return {
        "version": 1,
        "commit": found.commit,
        "limit": limit,
        "count": found.count,
        "items": [row(found, item) for item in items],
        "refused": [{"path": r.path, "reason": r.reason} for r in found.refused],
    }


def row(found: "Shelf", item: Item) -> dict[str, Any]:
    """Return what the JSON says of an item."""
    return {
        "slug": item.slug,
        "kind": item.kind,
        "line": item.line,
        "status": item.status,
        "updated": item.updated,
        "marks": [said(each) for each in found.marks.get(item.slug, ())],
        "sources": [written(each) for each in item.sources],
        "supersedes": list(item.supersedes),
        "disputes": list(item.disputes),
        "because": item.because or None,
        "verify": item.verify or None,
        "work": item.work or None,
        "blob": item.blob,
    }
