"""Whether the queue runs: what a person said last.

Newest commit of ``refs/gitagent/queue``; without one the queue runs.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Position(StrEnum):
    """What happens to the queue."""

    RUNNING = "running"
    PAUSED = "paused"  # nothing lands and no check starts; those under way end
    DRAINING = "draining"  # what came before goes on, what comes after waits


@dataclass(frozen=True, slots=True)
class Switch:
    """The position, and who chose it."""

    position: Position = Position.RUNNING
    since: str = ""  # UTC with microseconds; what was created later waits
    by: str = ""  # "Name <email>"
    why: str = ""
    oid: str = field(default="", compare=False)  # record commit this was read from


RUNNING: Final = Switch()
RED_TARGET: Final = "The target is red"  # how the reason of those that it stops begins


def stopped(switch: Switch) -> str:
    """Return why nothing lands as a sentence; empty while the queue runs."""
    who = switch.by.partition(" <")[0] or "A person"
    why = f": {switch.why.rstrip('.')}" if switch.why else ""
    match switch.position:
        case Position.PAUSED:
            return f"{who} paused the queue{why}; `gitagent resume` lets it go on."
        case Position.DRAINING:
            return f"{who} drains the queue{why}; `gitagent resume` lets it go on."
        case _:
            return ""
