"""Evidence: what a source says where it lies, and whether an operation rests on it.

Nothing that an operation quotes is believed: the bytes are read from Git again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gitagent.core.memory import Item, Source
from gitagent.core.remembering import Operation, Ruled
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository

Verify = Callable[[str, str], str]  # (command, tree) -> "" it passed, else why not


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

    ``target`` is a commit of the target; the source has to be part of its history.
    """
    return "not built yet"


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
    passed: str = "",
    limit: int = 0,
) -> Examined:
    """Examine an operation against the commit ``target``; nothing is written.

    ``now`` (UTC) is when it would be made. ``strict`` is for an agent's proposals: a
    line that its quotes do not support is refused, where a person is warned. ``work``
    is the task that it comes from, ``passed`` why that has not passed its verdict.
    ``limit`` is how many items may count, 0 any number.

    The item is that of the slug that was asked for; of ADD on a slug whose item says
    something else, of DISPUTE and of DECIDE, the executor says what becomes of both.
    """
    return Examined(Ruled(operation, admitted=False, reason="Not built yet."))
