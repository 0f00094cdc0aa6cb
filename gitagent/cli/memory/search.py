"""``gitagent memory search``: what is close to some words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitagent.cli import say
from gitagent.cli.here import Here

if TYPE_CHECKING:
    from gitagent.memory.search import Hit

_KINDS = ("item", "landing", "episode", "document")
_PATIENCE_S = 60.0  # a person can wait for the first index, and see it under way


@click.command(name="search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Only these; may be given more than once.",
)
@click.option(
    "--path", "paths", metavar="GLOB", multiple=True, help="What is about it first."
)
@click.option(
    "-n",
    "most",
    metavar="N",
    type=click.IntRange(1, 100),
    default=8,
    help="At most this many.",
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_obj
def command(
    here: Here,
    query: tuple[str, ...],
    kinds: tuple[str, ...],
    paths: tuple[str, ...],
    most: int,
    as_json: bool,  # noqa: FBT001 - click's way
) -> None:
    """Search items, landings, episodes and the Markdown of the target.

    Any text is a query. The number before a hit, up to 1, is how much of the query it
    answers.

    \b
    Examples:
      gitagent memory search stale lock after a crash
      gitagent memory search walk_changes --kind landing --kind document
    """
    from gitagent.daemon.searching import (  # noqa: PLC0415 - start time
        Searching,
        of_target,
    )

    repo = here.repository
    with repo.objects() as objects:
        commit, settings = of_target(repo, objects)
        opened = Searching(repo).open(objects, commit, settings, seconds=_PATIENCE_S)
        hits = opened.index.search(
            " ".join(query), kinds=kinds, paths=paths, most=most, seconds=_PATIENCE_S
        )
        date = objects.commit(commit).time
    note = opened.note or opened.index.note
    if note:
        say.note(note)
    if as_json:
        say.dump({"version": 1, "commit": commit, "hits": [_json(hit) for hit in hits]})
        return
    for hit in hits:
        for line in _lines(hit, commit, date):
            say.out(line)
    if not hits:
        say.note("nothing is close to that")


def _lines(hit: "Hit", commit: str, date: int) -> Iterator[str]:
    first, *rest = hit.text.split("\n")
    if hit.kind == "item":
        yield f"{hit.score:.2f}  {hit.text}"
        return
    if hit.kind == "document":
        source = f"{hit.path}:{hit.first} at {commit[:12]} · {_day(date)}"
    else:
        source = f"{hit.name} · {hit.at[:10]}"
    yield f"{hit.score:.2f}  [{hit.kind} · {source}] {first}"
    yield from (f"      {line}" for line in rest)


def _day(seconds: int) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - start time

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _json(hit: "Hit") -> dict[str, object]:
    return {
        "kind": hit.kind,
        "name": hit.name,
        "score": hit.score,
        "text": hit.text,
        "path": hit.path or None,
        "line": hit.first if hit.path else None,
        "at": hit.at or None,
        "blob": hit.blob,
    }
