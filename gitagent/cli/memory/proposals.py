"""``gitagent memory proposals``: what waits for a person's decision."""

from collections.abc import Iterator
from typing import Any

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.proposal import Proposal
from gitagent.daemon import reviewing
from gitagent.files import clean

_SHORT = 12  # characters of an object id


@click.command(name="proposals")
@click.option("--all", "everything", is_flag=True, help="Show decided ones too.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_obj
def command(
    here: Here,
    everything: bool,  # noqa: FBT001 - click's way
    as_json: bool,  # noqa: FBT001 - click's way
) -> None:
    """List the proposals of the review that wait for a person.

    \b
    Example:
      gitagent memory proposals
    """
    repo = here.repository
    with repo.objects() as objects:
        found, refused = reviewing.listed(repo, objects, everything=everything)
    if as_json:
        say.dump(
            {
                "version": 1,
                "proposals": [
                    line(each.proposal)
                    | {
                        "doubt": each.doubt or None,
                        "outdated": each.outdated or None,
                    }
                    for each in found
                ],
                "refused": [
                    {"path": each.path, "reason": each.reason} for each in refused
                ],
            }
        )
        return
    for each in found:
        for row in rows(each.proposal, str(each.proposal.stand)):
            say.out(row)
        if each.doubt:
            say.out(f"  a decision that is there does not count: {each.doubt}")
    for refusal in refused:
        say.note(f"{refusal.path}: {refusal.reason}")
    if not found:
        say.note("no proposal waits; see: gitagent memory review")


def line(each: Proposal) -> dict[str, Any]:
    """Return a proposal as JSON's values."""
    asked = each.operation
    return {
        "id": each.id,
        "state": str(each.stand),
        "why": str(each.why),
        "op": str(asked.op),
        "slug": asked.slug,
        "against": asked.against or None,
        "of": asked.of or None,
        "sources": list(asked.sources),
        "sentence": each.sentence,
        "evidence": list(each.evidence),
        "at": each.at,
        "by": each.by or None,
        "because": each.because or None,
    }


def rows(each: Proposal, state: str) -> Iterator[str]:
    """Yield the lines of a proposal for people."""
    asked = each.operation
    other = f" against {asked.against}" if asked.against else ""
    yield f"{each.id}  {state}  {asked.op} {asked.slug}{other}"
    yield f"  {clean.sentence(each.sentence, 1000)}"
    yield f"  evidence: {' '.join(oid[:_SHORT] for oid in each.evidence)}"
    yield from (f"  cites: {clean.line(source)}" for source in asked.sources)
    if each.by:
        why = f": {clean.sentence(each.because, 400)}" if each.because else ""
        yield f"  {each.stand} by {clean.line(each.by)}{why}"
