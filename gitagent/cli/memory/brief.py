"""``gitagent memory brief``: what an attempt would be told, and why."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.core.memory import Item, written
from gitagent.files import clean

if TYPE_CHECKING:
    from gitagent.daemon.briefing import Explained

_QUOTED = 6  # lines of a source; `memory show --evidence` prints all


@click.command(name="brief")
@click.argument("task", metavar="[TASK]", default="")
@click.option(
    "--explain",
    is_flag=True,
    help="Say why each line is there, print its sources, and list what is left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(here: Here, task: str, explain: bool, as_json: bool) -> None:  # noqa: FBT001
    """Print what an attempt at TASK would be told of the memory at its start.

    Without TASK it is what one would be told that is about no path, and that the coin
    withholds nothing from.

    \b
    Examples:
      gitagent memory brief
      gitagent memory brief fix-login --explain
    """
    from gitagent.daemon.briefing import explained  # noqa: PLC0415 - start time

    found = explained(here.repository, task)
    if as_json:
        say.dump(_json(task, found))
        return
    if not found.brief.text:
        say.note("nothing would be told")
    elif explain:
        for line in _lines(found):
            say.out(line)
    else:
        say.out(found.brief.text)
    if explain:
        for line in _rest(found):
            say.out(line)


def _lines(found: "Explained") -> Iterator[str]:
    for each in found.brief.lines:
        yield each.text
        yield f"  because: {each.why}"
        for slug in each.slugs:
            yield from _sources(found.shelf.items[slug])
        yield ""


def _sources(item: Item) -> Iterator[str]:
    for source in item.sources:
        yield f"  {item.slug} is from {clean.line(written(source))}"
        quoted = source.quote.splitlines()
        yield from (f"    | {line}" for line in quoted[:_QUOTED])
        if len(quoted) > _QUOTED:
            yield f"    | and {len(quoted) - _QUOTED} more lines"


def _rest(found: "Explained") -> Iterator[str]:
    if not found.toss.recalled:
        yield "The coin withholds recall from this task (memory.withhold)."
    if found.left_out:
        yield "Left out"
        yield from page.table(list(found.left_out))


def _json(task: str, found: "Explained") -> dict[str, object]:
    return {
        "version": 1,
        "task": task or None,
        "text": found.brief.text,
        "lines": [
            {
                "text": each.text,
                "why": each.why,
                "items": list(each.slugs),
                "oid": each.oid or None,
                "sources": [
                    written(source)
                    for slug in each.slugs
                    for source in found.shelf.items[slug].sources
                ],
            }
            for each in found.brief.lines
        ],
        "left_out": [{"name": name, "why": why} for name, why in found.left_out],
        "recall": found.toss.recalled,
        "withheld": list(found.toss.withheld),
    }
