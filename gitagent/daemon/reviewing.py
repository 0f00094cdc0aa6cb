"""The review of the memory: what it proposes is recorded, and a person decides.

A review changes nothing but proposals, so that anything may start one. What was
accepted is done by the memory's executor, and by nobody else.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from gitagent.core import reviewing
from gitagent.core.memory import COUNTS
from gitagent.core.proposal import Proposal, Stand
from gitagent.core.remembering import Op, Operation, Ruling
from gitagent.core.reviewing import outdated
from gitagent.core.settings import Settings
from gitagent.core.task import Refusal
from gitagent.daemon.approving import sign_with
from gitagent.daemon.counterevidence import look
from gitagent.daemon.effects import harmful
from gitagent.daemon.memory import change, held
from gitagent.daemon.verifying import Verifier
from gitagent.errors import LostRace, UserError
from gitagent.git import trust
from gitagent.git.identity import author
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.memory import proposals
from gitagent.memory.evidence import Verify
from gitagent.memory.proposals import Known
from gitagent.memory.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review came to."""

    new: tuple[Proposal, ...]
    waiting: tuple[Proposal, ...]  # all that a person may decide now
    moot: tuple[tuple[Proposal, str], ...]  # with the reason
    items: int  # that were looked at
    problem: str  # why no command could be run, or ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A proposal as people see it."""

    proposal: Proposal
    doubt: str = ""  # why a decision that is there does not count
    outdated: str = ""  # why there is nothing to decide any more


@dataclass(frozen=True, slots=True)
class _Place:
    """What is asked again and again of one repository."""

    settings: Settings
    shelf: Shelf
    who: trust.Signers


def review(
    repo: Repository,
    objects: Objects,
    *,
    verify: Verify | None = None,
) -> Reviewed:
    """Look at every item, and record what there is to propose.

    ``verify`` runs a command on a tree in place of the sandbox. Reviewing again
    without new evidence is no change.

    Raises:
        UserError: there is no target, or no settings.
    """
    place = _place(repo, objects)
    now = clock.stamp()
    looked, problem = look(
        objects,
        place.shelf,
        now,
        verify=verify or Verifier(repo, place.settings),
        harmful=harmful(objects),
    )
    found = reviewing.review(looked)
    known = _sound(proposals.read_all(repo, objects, place.who))
    new = proposals.propose(repo, objects, [x for x in found if x.id not in known])
    moot = []
    stands = {name: each.proposal for name, each in known.items()}
    stands |= {each.id: each for each in new}
    for each, reason in reviewing.settled(
        [each.proposal for each in known.values()], found, looked, now
    ):
        try:
            moved = proposals.move(repo, objects, each, reason)
        except LostRace:  # a person has just decided
            continue
        stands[each.id] = moved
        if moved.stand is Stand.MOOT:
            moot.append((moved, reason))
    waiting = [each for each in stands.values() if each.stand is Stand.WAITING]
    count = sum(item.status in COUNTS for item in looked.items.values())
    return Reviewed(
        tuple(new), tuple(sorted(waiting, key=_order)), tuple(moot), count, problem
    )


def listed(
    repo: Repository, objects: Objects, *, everything: bool = False
) -> tuple[list[Listed], list[Refusal]]:
    """Return the proposals that wait, and which records cannot be read.

    ``everything``: those that do not wait, too. Raises as `review`.
    """
    place = _place(repo, objects)
    known = proposals.read_all(repo, objects, place.who)
    rows = [
        Listed(x.proposal, x.doubt, outdated(x.proposal, place.shelf.items))
        for x in _sound(known).values()
    ]
    refused = [
        Refusal(proposals.ref_of(name), each.line())
        for name, each in known.items()
        if isinstance(each, UserError)
    ]
    shown = [
        row
        for row in rows
        if everything or (row.proposal.stand is Stand.WAITING and not row.outdated)
    ]
    return sorted(shown, key=lambda row: _order(row.proposal)), refused


def accept(
    repo: Repository,
    objects: Objects,
    name: str,
    *,
    because: str = "",
    keep: str = "",
    key: Path | None = None,
    verify: Verify | None = None,
) -> tuple[Proposal, Ruling | None]:
    """Accept a proposal in the name of who calls, and have it done.

    ``keep`` is what stays of a dispute, and ``verify`` as in `review`. Accepting again
    goes on where a call was cut short; None: all of it was done before.

    Raises:
        UserError: there is no such proposal, it is not open, nobody would believe the
            decision, or the executor refused the operation.
    """
    place = _place(repo, objects)
    known = _find(repo, objects, place, name)
    proposal = known.proposal
    if not any(objects.kind(oid) for oid in proposal.evidence):
        raise UserError(f"{name} has no evidence here, so it cannot be accepted")
    gone = outdated(proposal, place.shelf.items)
    if proposal.stand is Stand.ACCEPTED and gone:
        return proposal, None
    if proposal.stand is Stand.REJECTED:
        raise UserError(
            f"{name} was rejected by {proposal.by}", "gitagent memory review"
        )
    if gone:
        raise UserError(
            f"{name} is out of date: {gone.rstrip('.')}", "gitagent memory review"
        )
    keep = _kept(proposal, keep)
    if proposal.stand is not Stand.ACCEPTED:
        wanted = replace(proposal, stand=Stand.ACCEPTED, because=because, keep=keep)
        proposal = _decided(repo, objects, place, wanted, key)
    ruling = change(repo, [_operation(proposal)], verify)
    for ruled in ruling.ruled:
        if not ruled.admitted:
            raise UserError(
                f"{name} is accepted, and the memory refuses it: {ruled.reason}",
                "see: gitagent memory review",
            )
    return proposal, ruling


def reject(
    repo: Repository,
    objects: Objects,
    name: str,
    *,
    because: str,
    key: Path | None = None,
) -> Proposal:
    """Reject a proposal in the name of who calls; again is no change.

    Raises:
        UserError: there is no such proposal, it was accepted, there is no reason, or
            nobody would believe the decision.
    """
    if not because.strip():
        raise UserError("a rejection needs a reason", "--because TEXT")
    place = _place(repo, objects)
    proposal = _find(repo, objects, place, name).proposal
    if proposal.stand is Stand.REJECTED:
        return proposal
    if proposal.stand is Stand.ACCEPTED:
        raise UserError(f"{name} was accepted by {proposal.by}")
    wanted = replace(proposal, stand=Stand.REJECTED, because=because.strip())
    return _decided(repo, objects, place, wanted, key)


def _decided(
    repo: Repository,
    objects: Objects,
    place: _Place,
    wanted: Proposal,
    key: Path | None,
) -> Proposal:
    sign = sign_with(repo, place.settings, key, "decisions")
    wanted = replace(wanted, decided=clock.stamp())
    return proposals.decide(repo, objects, wanted, author(repo), place.who, sign)


def _operation(proposal: Proposal) -> Operation:
    """Return what is to be done; whose word it is done on stands in the reason."""
    asked = proposal.operation
    if asked.op is Op.DECIDE and proposal.keep == asked.against:
        asked = replace(asked, slug=asked.against, against=asked.slug, of="")
    because = proposal.because or asked.because or proposal.sentence
    return replace(asked, because=because)


def _kept(proposal: Proposal, keep: str) -> str:
    asked = proposal.operation
    both = (asked.slug, asked.against)
    if asked.op is not Op.DECIDE:
        if keep:
            raise UserError(f"{proposal.id} decides no dispute", "leave out --keep")
        return ""
    if proposal.stand is Stand.ACCEPTED and not keep:
        return proposal.keep
    if keep not in both:
        raise UserError(
            f"{proposal.id} asks which one stays", f"--keep {both[0]}, or {both[1]}"
        )
    if proposal.stand is Stand.ACCEPTED and keep != proposal.keep:
        raise UserError(f"it was decided that {proposal.keep} stays")
    return keep


def _find(repo: Repository, objects: Objects, place: _Place, name: str) -> Known:
    known = proposals.read_all(repo, objects, place.who).get(name)
    if known is None:
        raise UserError(
            f'there is no proposal "{name}" here', "see: gitagent memory proposals"
        )
    if isinstance(known, UserError):
        raise known
    return known


def _place(repo: Repository, objects: Objects) -> _Place:
    found = held(repo, objects)
    path = found.settings.trust.allowed_signers
    who = trust.signers(objects, path, found.shelf.commit)
    return _Place(found.settings, found.shelf, who)


def _sound(known: dict[str, Known | UserError]) -> dict[str, Known]:
    return {name: x for name, x in known.items() if isinstance(x, Known)}


def _order(proposal: Proposal) -> tuple[str, str, str]:
    return proposal.operation.slug, proposal.at, proposal.id
