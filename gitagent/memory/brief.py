"""What an attempt is told at its start of what earlier work has shown.

One line each of items, landings and episodes; the bodies are behind a tool. Everything
said can be looked up by the object that its line names.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gitagent.core.episode import Episode
from gitagent.core.exposure import Received
from gitagent.core.settings import Memory
from gitagent.core.task import TaskFile, TaskRecord
from gitagent.memory.landed import Landed

if TYPE_CHECKING:
    from gitagent.memory.shelf import Shelf

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a brief."""

    text: str
    why: str  # it is there, a clause
    slugs: tuple[str, ...] = ()  # of the items that it tells; both of a dispute
    oid: str = ""  # object that it can be looked up by: a blob or a commit


@dataclass(frozen=True, slots=True)
class Brief:
    """What is told, and what there was no room for."""

    text: str = ""  # "": there is nothing to tell
    received: tuple[Received, ...] = ()
    left_out: tuple[str, ...] = ()  # slugs
    lines: tuple[Line, ...] = ()
    unsaid: tuple[str, ...] = ()  # landings and episodes without room


NOTHING = Brief()


def paths_of(task: TaskFile, record: TaskRecord | None = None) -> tuple[str, ...]:
    """Return the globs and paths that a task is about, as far as its file says."""
    raise NotImplementedError


def brief(
    shelf: "Shelf",
    landings: Sequence[Landed],
    episodes: Sequence[Episode],
    memory: Memory,
    withheld: Collection[str] = _NONE,
    *,
    now: datetime,
    paths: Sequence[str] = (),
    agent: str = "",
) -> Brief:
    """Return what an attempt is told at its start, within ``memory.brief`` tokens.

    ``paths`` are globs or paths that it is about, ``agent`` the definition it has.
    Withheld slugs are neither told nor listed.
    """
    raise NotImplementedError
