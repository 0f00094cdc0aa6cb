"""``gitagent memory list``: the items, and which files are none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.core.memory import COUNTS, Item, said, written

if TYPE_CHECKING:
    from gitagent.daemon.memory import Held


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
    from gitagent.daemon.memory import held  # noqa: PLC0415 - start time

    with here.repository.objects() as objects:
        found = held(here.repository, objects)
    items = [
        item
        for _, item in sorted(found.shelf.items.items())
        if everything or item.status in COUNTS
    ]
    if as_json:
        say.dump(_json(found, items))
        return
    for line in _lines(found, items):
        say.out(line)
    if not items:
        told = "no item counts; see: gitagent memory list --all"
        empty = "the memory has nothing; see: gitagent memory add --help"
        say.note(told if found.shelf.items else empty)


def _lines(found: "Held", items: list[Item]) -> Iterator[str]:
    marks = found.shelf.marks
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
    if found.shelf.refused:
        yield ""
        yield "Refused"
        refused = found.shelf.refused
        yield from page.table([("refused", each.reason) for each in refused])


def _json(found: "Held", items: list[Item]) -> dict[str, Any]:
    shelf = found.shelf
    return {
        "version": 1,
        "commit": shelf.commit,
        "limit": found.settings.memory.limit,
        "count": shelf.count,
        "items": [row(found, item) for item in items],
        "refused": [{"path": r.path, "reason": r.reason} for r in shelf.refused],
    }


def row(found: "Held", item: Item) -> dict[str, Any]:
    """Return what the JSON says of an item."""
    return {
        "slug": item.slug,
        "kind": item.kind,
        "line": item.line,
        "status": item.status,
        "updated": item.updated,
        "marks": [said(each) for each in found.shelf.marks.get(item.slug, ())],
        "sources": [written(each) for each in item.sources],
        "supersedes": list(item.supersedes),
        "disputes": list(item.disputes),
        "because": item.because or None,
        "verify": item.verify or None,
        "work": item.work or None,
        "blob": item.blob,
    }
