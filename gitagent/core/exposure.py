"""What of the memory an attempt was given, and what a coin has withheld from it.

Whether memory helps is told from these and from how the attempts ended.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

_APART: Final = "\n\n"


class Way(StrEnum):
    """How an item came into a conversation."""

    BRIEF = "brief"
    RECALL = "recall"
    LOOKUP = "lookup"
    SEARCH = "search"
    ALL = "all"  # with all others, for who tends the memory
    CORRECTION = "correction"  # what it says now, or that it counts no more


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
    ends: str = _APART  # what stands between it and the next


@dataclass(frozen=True, slots=True)
class Delivery:
    """What an attempt begins with."""

    told: tuple[Told, ...] = ()
    exposure: Exposure = NOTHING
    handoff: str = ""  # where the work stands that others have begun


def producer(slug: str, blob: str) -> str:
    """Return who put words there that are an item's."""
    return f"memory: {slug}@{blob[:12]}" if blob else f"memory: {slug}"


def received(answer: Mapping[str, Any]) -> tuple[Received, ...]:
    """Return what an answer of the memory gives: slug, blob and way of each item."""
    return tuple(
        Received(slug, blob, Way(way)) for slug, blob, way in answer.get("items", ())
    )


def cut(text: str, pieces: Iterable[tuple[str, str]], whose: str) -> tuple[Told, ...]:
    """Return a text as pieces, each with who put it there; the rest is ``whose``.

    ``pieces`` are producer and text of parts of it, in order. Put together again it is
    the same text, without empty lines at both ends.
    """
    found: list[Told] = []
    at = 0
    for who, part in pieces:
        start = text.find(part, at)
        if not part or start < 0:
            continue
        _add(found, whose, text[at:start])
        found.append(Told(who, part, ""))
        at = start + len(part)
    _add(found, whose, text[at:])
    return (*found[:-1], replace(found[-1], ends=_APART)) if found else ()


def _add(found: list[Told], who: str, text: str) -> None:
    """Add what stands between two pieces; line feeds alone are the former's end."""
    words = text.strip("\n")
    lead = text[: text.index(words)] if words else text
    if found:
        found[-1] = replace(found[-1], ends=found[-1].ends + lead)
    else:
        words = text.rstrip("\n")
        lead = ""
    if words:
        found.append(Told(who, words, text[len(lead) + len(words) :]))
