"""Proposals of the memory's review: what speaks against an item, and who decided.

A proposal is the newest commit of ``refs/gitagent/memory/proposals/<id>``.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from gitagent.core.remembering import Operation


class Why(StrEnum):
    """What kind of finding it is."""

    CHANGED = "changed"  # the lines that it cites say something else now
    SUSPECT = "suspect"  # the landing that it came from was rolled back
    DERIVED = "derived"  # by work that had received what was withdrawn since
    UNVERIFIED = "unverified"  # its sources do not resolve here
    VERIFY = "verify"  # its command fails now
    WORK = "work"  # the work that it came from failed later
    HARM = "harm"  # attempts that received it ended worse, or never better
    DISPUTE = "dispute"  # nobody has decided for long
    RESTORED = "restored"  # a chapter that was restored had withdrawn it


class Stand(StrEnum):
    """Where a proposal stands."""

    WAITING = "waiting"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MOOT = "moot"  # the item changed meanwhile, or nothing speaks against it any more


@dataclass(frozen=True, slots=True)
class Proposal:
    """One finding, and what became of it."""

    id: str
    why: Why
    operation: Operation
    sentence: str  # what speaks against the item
    evidence: tuple[str, ...]  # object ids, one at least
    at: str  # UTC; when it was found first
    stand: Stand = Stand.WAITING
    by: str = ""  # "Name <email>" of who decided
    decided: str = ""  # UTC
    because: str = ""
    keep: str = ""  # of a dispute that was decided: slug of what stays
    oid: str = field(default="", compare=False)  # record commit it was read from
