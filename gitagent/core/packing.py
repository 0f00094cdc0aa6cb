"""What fits into a budget of tokens, the more important first.

A block goes in whole or not at all: what was clipped says something else. One that is
too large is named, and what comes after it still has its place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

# Of prose a token has at least so many on average; fewer are guessed too dear, more
# overrun the budget.
BYTES: Final = 3


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of text that is told whole or not at all."""

    name: str
    text: str
    priority: int = 0  # higher first
    most: int = 0  # tokens that it may have; 0: as many as there are


@dataclass(frozen=True, slots=True)
class Packed:
    """What became of blocks."""

    kept: tuple[Block, ...] = ()  # by priority, then in the order given
    left_out: tuple[Block, ...] = ()  # so too
    tokens: int = 0  # that the kept ones have


def tokens(text: str) -> int:
    """Return about how many tokens a text and the end of its line have, or more."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES + 1


def pack(blocks: Iterable[Block], budget: int) -> Packed:
    """Return the blocks that fit, and those that do not.

    One is left out only if it is over its own limit, or does not fit beside those of
    higher priority and the earlier ones of its own.
    """
    kept, left_out = [], []
    room = max(0, budget)
    for each in sorted(blocks, key=lambda block: -block.priority):
        size = tokens(each.text)
        if size > room or (each.most and size > each.most):
            left_out.append(each)
        else:
            kept.append(each)
            room -= size
    return Packed(tuple(kept), tuple(left_out), max(0, budget) - room)


def listed(names: Sequence[str], budget: int) -> str:
    """Return names with commas between, as many as fit, and how many more there are.

    "" if there is nothing to name, or no room even to count it.
    """
    whole = ", ".join(names[: budget * BYTES])
    if len(names) <= budget * BYTES and tokens(whole) <= budget:
        return whole
    best = ""
    for number in range(len(names)):
        more = f"{len(names) - number} more"
        shown = ", ".join(names[:number])
        text = f"{shown} and {more}" if shown else more
        if tokens(text) > budget:
            break
        best = text
    return best
