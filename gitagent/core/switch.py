"""Whether the queue runs: what a person said last.

Newest commit of ``refs/gitagent/queue``; without one the queue runs.
"""

from collections.abc import Iterable
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
    accepted: tuple[str, ...] = ()  # commits past the lander that a person let be
    oid: str = field(default="", compare=False)  # record commit this was read from


RUNNING: Final = Switch()
RED_TARGET: Final = "The target is red"  # how the reason of those that it stops begins
REPAIR: Final = "Land a repair."  # what follows is about the submission alone


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


def frozen(direct: Iterable[str], switch: Switch) -> str | None:
    """Return why nothing goes on while the target holds what nobody accepted.

    ``direct`` are its commits that came past the lander, newest first.
    """
    unknown = [each for each in direct if each not in switch.accepted]
    if not unknown:
        return None
    more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    return (
        f"{unknown[0][:12]}{more} came to the target past the lander: put the target "
        "back, or accept it with `gitagent resume`."
    )
