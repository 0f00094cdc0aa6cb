"""Operations on the memory: what is asked for, and what was ruled.

Rulings are the records of ``refs/gitagent/memory/operations``. A commit that changes
``.agent/memory`` is the memory executor's if it stands in one of them, or landed as
a submission that does.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Op(StrEnum):
    """What is asked for; to change nothing is to ask for nothing."""

    ADD = "add"
    UPDATE = "update"
    WITHDRAW = "withdraw"
    DISPUTE = "dispute"  # what ``against`` says and what ``slug`` says exclude another
    DECIDE = "decide"  # a dispute: ``slug`` stays, ``against`` goes


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, as it was asked for."""

    op: Op
    slug: str
    kind: str = ""  # ADD: one of `memory.Kind`; UPDATE: "" leaves it
    line: str = ""  # UPDATE: "" leaves it
    body: str = ""  # UPDATE: "" leaves it
    sources: tuple[str, ...] = ()  # as they are written; see `memory.Source`
    supersedes: tuple[str, ...] = ()
    verify: str = ""
    because: str = ""
    against: str = ""  # DISPUTE, DECIDE: slug of the other item
    of: str = ""  # UPDATE, WITHDRAW: blob of the item that it is about; "": whatever


@dataclass(frozen=True, slots=True)
class Ruled:
    """What became of one operation."""

    operation: Operation
    admitted: bool
    reason: str  # a sentence; of one that was admitted, what it rests on
    evidence: tuple[str, ...] = ()  # objects that its sources resolved to
    blob: str = ""  # of the item's file then
    slug: str = ""  # that it went by in the end; "": none, or the one asked for
    warning: str = ""  # that was given to the person who asked


@dataclass(frozen=True, slots=True)
class Filed:
    """A file that a ruling's commit put there, changed or took away."""

    slug: str  # of what a chapter has carried over: its path below the folder
    blob: str = ""  # "": it is gone


@dataclass(frozen=True, slots=True)
class Ruling:
    """What became of the operations of one task, or of one command."""

    at: str  # UTC
    by: str  # "Name <email>"
    task: str = ""  # whose attempt proposed them; "": a person's command
    attempt: int = 0
    ruled: tuple[Ruled, ...] = ()
    commit: str = ""  # that makes what was admitted; "": nothing was
    files: tuple[Filed, ...] = ()  # all that it changes; more than one a operation
    submission: str = ""  # by which it lands; "": it went onto the target at once
    oid: str = field(default="", compare=False)  # record commit it was read from
