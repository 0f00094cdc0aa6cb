"""What is recalled for what is said: the few items that are close to it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from gitagent.core.exposure import Received
from gitagent.core.settings import Memory

if TYPE_CHECKING:
    from gitagent.memory.search import Hit
    from gitagent.memory.shelf import Shelf

SECONDS: Final = 3.0
_NONE: frozenset[str] = frozenset()


class Searched(Protocol):
    """What recall asks; see `memory.index`."""

    def search(
        self,
        query: str,
        *,
        kinds: Collection[str] = (),
        paths: Sequence[str] = (),
        most: int = 8,
        seconds: float = SECONDS,
    ) -> "Sequence[Hit]":
        """Return what is close to a query, the closest first."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What was recalled, or why nothing was."""

    told: str = ""
    received: tuple[Received, ...] = ()
    skipped: str = ""  # a sentence; "": something was recalled


def recall(
    index: Searched,
    shelf: "Shelf",
    text: str,
    paths: Sequence[str],
    memory: Memory,
    lately: Collection[str] = _NONE,
    seconds: float = SECONDS,
    *,
    withheld: Collection[str] = _NONE,
    tossed: bool = True,
) -> Recall:
    """Return what of the memory is close to a text. Never raises.

    ``lately`` are slugs that this conversation was given before. ``withheld`` and
    ``tossed`` are what the coin says; see `core.coin`.
    """
    raise NotImplementedError
