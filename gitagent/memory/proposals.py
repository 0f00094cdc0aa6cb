"""Proposals of the memory's review as Git, and what a person decided about them.

``refs/gitagent/memory/proposals/<id>`` is a record chain. The review's own commits are
gitagent's; a decision is a commit of the person's, believed as an approval is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from gitagent.core.layout import PROPOSALS
from gitagent.core.proposal import Proposal, Stand
from gitagent.errors import LostRace, UserError
from gitagent.files import record
from gitagent.files.message import record_message
from gitagent.git import records, trust
from gitagent.git.codec import Sign
from gitagent.git.objects import Objects
from gitagent.git.refs import RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.git.text import Person, mended
from gitagent.git.trust import Signers

DECIDED: Final = frozenset({Stand.ACCEPTED, Stand.REJECTED})

_KIND = "decision"  # of the commit of a person's


@dataclass(frozen=True, slots=True)
class Known:
    """A proposal as it counts."""

    proposal: Proposal
    doubt: str = ""  # why a decision that is there does not count, a clause


def ref_of(proposal: str) -> str:
    """Return the ref of a proposal's chain."""
    return PROPOSALS + proposal


def read_all(
    repo: Repository, objects: Objects, who: Signers
) -> dict[str, Known | UserError]:
    """Return every proposal by id, or why its record cannot be read."""
    tips = objects.refs(PROPOSALS)
    found: dict[str, Known | UserError] = {}
    for ref, content in records.read_all(objects, tips).items():
        name = ref.removeprefix(PROPOSALS)
        try:
            if isinstance(content, UserError):
                raise content
            found[name] = _known(repo, objects, name, tips[ref], content, who)
        except UserError as error:
            found[name] = error
    return found


def propose(
    repo: Repository, objects: Objects, new: Iterable[Proposal]
) -> list[Proposal]:
    """Record proposals that are not there; return them as recorded."""
    made = []
    for each in new:
        try:
            made.append(_append(repo, objects, each, None, each.sentence))
        except LostRace:  # another review has just found the same
            continue
    return made


def move(repo: Repository, objects: Objects, new: Proposal, reason: str) -> Proposal:
    """Record that a proposal became moot, or waits again. Raises LostRace."""
    return _append(repo, objects, new, new.oid, reason)


def decide(
    repo: Repository,
    objects: Objects,
    decision: Proposal,
    author: Person,
    who: Signers,
    sign: Sign | None = None,
) -> Proposal:
    """Record a person's decision; ``decision.oid`` is the record it comes after.

    Raises:
        LostRace: something else was recorded meanwhile.
        UserError: nobody would believe it; nothing was stored.
    """
    decision = replace(decision, by=mended(author).ident)
    what = f"{decision.stand}: {decision.operation.slug} by {author.name}"
    message = record_message(f"{what}\n\n{decision.because}", _KIND)
    payload = record.dump_proposal(decision)
    oid = trust.write(objects, decision.oid, payload, message, author, sign)
    if why := trust.doubt(repo, objects, oid, _KIND, decision.by, who)[0]:
        raise UserError(
            f"nobody would believe this decision: {why}",
            "sign it with a key that trust.allowed_signers names: --key FILE",
        )
    refs = [RefUpdate(ref_of(decision.id), oid, decision.oid)]
    update(repo.git, refs, f"gitagent: {what}")
    return replace(decision, oid=oid)


def _append(
    repo: Repository, objects: Objects, each: Proposal, old: str | None, reason: str
) -> Proposal:
    kinds = {oid: objects.kind(oid) for oid in each.evidence}
    blobs = [oid for oid, kind in kinds.items() if kind == "blob"]
    asked = each.operation
    oid = records.Records(repo).append(
        ref_of(each.id),
        old,
        record.dump_proposal(each),
        what=f"{each.stand}: {asked.op} {asked.slug}: {reason}",
        kind="proposal",
        # So that a gc leaves the evidence as long as there is the proposal.
        attachments={f"evidence-{n:02}": oid for n, oid in enumerate(blobs, 1)},
        parents=tuple(oid for oid, kind in kinds.items() if kind == "commit")
        if old is None
        else (),
        objects=objects,
    )
    return replace(each, oid=oid)


def _known(
    repo: Repository, objects: Objects, name: str, tip: str, data: bytes, who: Signers
) -> Known:
    """Return what counts: the newest record, or the one before a doubtful word."""
    newest = record.load_proposal(data, tip)
    if newest.id != name:
        raise UserError(f"{ref_of(name)} holds the record of {newest.id}")
    if newest.stand not in DECIDED:
        return Known(newest)
    doubt, _ = trust.doubt(repo, objects, tip, _KIND, newest.by, who)
    if not doubt:
        return Known(newest)
    for before in _before(objects, tip):
        if before.stand not in DECIDED:
            return Known(replace(before, oid=tip), doubt)
    raise UserError(f"{ref_of(name)} holds a decision alone, and {doubt}")


def _before(objects: Objects, tip: str) -> Iterator[Proposal]:
    for commit in records.history(objects, tip):
        data = records.read(objects, commit.oid)
        yield record.load_proposal(data, commit.oid)
