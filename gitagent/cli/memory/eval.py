"""``gitagent memory eval``: how well the search finds what people say it should."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.errors import UserError

if TYPE_CHECKING:
    from gitagent.core.scoring import Figure, Scores
    from gitagent.daemon.scoring import Scored

_SAID = {
    "precision": "of all that was found, wanted",
    "recall": "of all that is wanted, found",
    "hit": "queries that find something wanted",
    "quiet": "queries for nothing that find nothing",
    "mrr": "one over the rank of the first wanted",
    "ndcg": "gain over the most there could be",
}


@click.command(name="eval")
@click.option(
    "--file",
    "file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Another labelled set than the target's (memory.labels).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.pass_obj
def command(here: Here, file: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Score the search against a labelled set, with 95 % intervals.

    The set says what each query should find, and may have gates. Exits with 1 if a
    figure is below its gate. What counts is what recall would tell: the first hits
    with at least memory.floor.

    \b
    A set:
      k = 3
      [gates]
      hit = 0.8
      [[query]]
      text = "stale lock after a crash"
      wanted = ["sigkill-leaves-locks"]
      [[query]]
      text = "dark mode"
      wanted = []
    \b
    Example:
      gitagent memory eval --file tests/recall.toml
    """
    from gitagent.daemon.scoring import score  # noqa: PLC0415 - start time

    data = None if file is None else (file, Path(file).read_bytes())
    found = score(here.repository, data)
    if found.note:
        say.note(found.note)
    if as_json:
        say.dump(_json(found))
    else:
        for line in _lines(found):
            say.out(line)
    if failed := found.failed:
        raise UserError(f"the search is below its gates: {', '.join(failed)}")


def _lines(found: "Scored") -> Iterator[str]:
    scores = found.scores
    yield (
        f"{scores.queries} queries, {scores.empty} for nothing; the first {found.k}"
        f" with at least {found.floor:g}; {found.vectors}"
    )
    for name, figure in _figures(scores).items():
        gate = found.gates.get(name)
        least = "" if gate is None else f"  gate {gate:g}"
        title = f"{name}@{found.k}" if name in ("precision", "recall") else name
        yield f"{title:<12} {_figure(figure)}{least:<11}  {_SAID[name]}".rstrip()
    for query, wanted in found.missed:
        yield f"missed       {query[:60]!r}: {', '.join(wanted)}"


def _figure(figure: "Figure") -> str:
    if figure.value is None:
        return "   -                     n 0  "
    interval = f"[{figure.low:.3f}, {figure.high:.3f}]"
    return f"{figure.value:.3f}  {interval}  n {figure.n:<4}"


def _figures(scores: "Scores") -> Mapping[str, "Figure"]:
    return {name: getattr(scores, name) for name in _SAID}


def _json(found: "Scored") -> dict[str, object]:
    return {
        "version": 1,
        "queries": found.scores.queries,
        "empty": found.scores.empty,
        "k": found.k,
        "floor": found.floor,
        "vectors": found.vectors,
        "figures": {
            name: {"value": f.value, "low": f.low, "high": f.high, "n": f.n}
            for name, f in _figures(found.scores).items()
        },
        "gates": dict(found.gates),
        "failed": list(found.failed),
        "missed": [{"query": q, "wanted": list(w)} for q, w in found.missed],
    }
