"""What of the memory an attempt was given, and what a coin has withheld from it.

Whether memory helps is told from these and from how the attempts ended.
"""

from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
    """How an item came into a conversation."""

    BRIEF = "brief"
    RECALL = "recall"
    LOOKUP = "lookup"
    SEARCH = "search"
    ALL = "all"  # with all others, for who tends the memory


@dataclass(frozen=True, slots=True)
class Received:
    """An item that was given."""

    slug: str
    blob: str  # of its file, as it was given
    way: Way


@dataclass(frozen=True, slots=True)
class Exposure:
    """What one attempt was given."""

    received: tuple[Received, ...] = ()  # in order, each once
    rate: float = 0.0  # `memory.withhold` then
    withheld: tuple[str, ...] = ()  # slugs that the coin kept back
    recalled: bool = True  # False: the coin kept recall back
    skipped: str = ""  # why nothing was recalled, a sentence; "": something was
    left_out: tuple[str, ...] = ()  # slugs for which the brief had no room


NOTHING = Exposure()


@dataclass(frozen=True, slots=True)
class Told:
    """A piece of text for a conversation, with who put it there."""

    producer: str
    text: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """What an attempt begins with."""

    told: tuple[Told, ...] = ()
    exposure: Exposure = NOTHING
