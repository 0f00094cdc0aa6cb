"""Evidence: whether an operation on the memory rests on what it cites.

One examination for people's commands and for agents' proposals. Nothing that an
operation says of its sources is believed: they are read from Git again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from gitagent.core.memory import Item, Source
from gitagent.core.remembering import Operation, Ruled
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.memory.examination import EARLY, STEPS, Examination, Verify
from gitagent.memory.sources import look_up

__all__ = ["Examined", "Holds", "Verify", "examine", "resolve"]


class Holds(Protocol):
    """What of a shelf an examination reads."""

    @property
    def items(self) -> Mapping[str, Item]:
        """Every item, whatever its status, by slug."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What an examination found."""

    ruled: Ruled
    item: Item | None = None  # as its file is to say, under the slug asked for
    warning: str = ""  # what a person is told who may do it all the same


def resolve(repo: Repository, objects: Objects, target: str, text: str) -> Source | str:
    """Return the source that ``text`` names, with what it says, or why there is none.

    ``target`` is a commit of the target; the source has to be part of its history, or
    of gitagent's records. Why not is a clause, as `memory.read_source` gives it.

    Raises:
        GitError: Git cannot be read.
    """
    found = look_up(repo, objects, target, text)
    return found if isinstance(found, str) else found.source


def examine(
    repo: Repository,
    objects: Objects,
    target: str,
    shelf: Holds,
    operation: Operation,
    *,
    now: str,
    verify: Verify | None = None,
    strict: bool = False,
    work: str = "",
    failed: str = "",
    limit: int = 0,
    waits: Collection[str] = (),
) -> Examined:
    """Examine an operation against the commit ``target``; nothing is written.

    ``now`` (UTC) is when it would be made. ``strict`` is for an agent's proposals: what
    its quotes do not support is refused, where a person is warned; and what a person
    took away it does not bring back. ``work`` is the task that it comes from,
    ``failed`` why that has not passed its verdict. ``limit`` is how many items may
    count, 0 any number. Without ``verify`` nothing that names a command is admitted.
    Where sources wait for work to land, only what holds whatever they say is asked.

    The item is that of the slug that was asked for; of ADD on a slug whose item says
    something else, of DISPUTE and of DECIDE, the executor says what becomes of both.

    Raises:
        GitError: Git cannot be read.
    """
    examination = Examination(
        repo=repo,
        objects=objects,
        target=target,
        items=shelf.items,
        asked=operation,
        now=now,
        verify=verify,
        strict=strict,
        work=work,
        failed=failed,
        limit=limit,
        waits=frozenset(waits),
    )
    for step in EARLY if waits else STEPS:
        if why := step(examination):
            return Examined(examination.ruled(why, admitted=False))
    ruled = examination.ruled(examination.basis(), admitted=True)
    return Examined(ruled, examination.item, examination.warning)
