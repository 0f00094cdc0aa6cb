"""How much of a conversation a summary has kept, asked of the context itself.

Obligations are carried by code, so that all of them have to be there. Facts are what a
later turn may need: what was written, run and fetched. A model's summary keeps of those
what it thinks fit, and how much that is can only be measured.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gitagent.core.carried import obligations
from gitagent.core.conversation import Entry, Kind, in_force
from gitagent.core.effect import Effects

_FACTS = frozenset(Effects) - {Effects.READ}  # what was only read is read again


class About(StrEnum):
    """What a probe asks for."""

    OBLIGATION = "obligation"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Probe:
    """A question whose answer stands in the context, or does not."""

    about: About
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Score:
    """How many of the probes a context answers."""

    obligations: float  # from 0 to 1; 1 where there are none
    facts: float
    missing: tuple[Probe, ...] = ()


def probes(entries: Sequence[Entry]) -> tuple[Probe, ...]:
    """Return what is to be asked of every later context of these entries."""
    force = in_force(entries)
    found = [
        Probe(About.OBLIGATION, f"What is obligation {number}, word for word?", text)
        for number, text in enumerate(obligations(force), start=1)
    ]
    facts = dict.fromkeys(
        (each.effect, each.what)
        for each in force
        if each.kind is Kind.RESULT and each.effect in _FACTS and each.what
    )
    found += [
        Probe(About.FACT, f"On what was there an effect of the kind {effect}?", what)
        for effect, what in facts
    ]
    return tuple(found)


def score(asked: Iterable[Probe], context: str) -> Score:
    """Return how many of the answers stand in a context, byte for byte."""
    asked = tuple(asked)
    missing = tuple(each for each in asked if each.answer not in context)
    return Score(
        _share(About.OBLIGATION, asked, missing),
        _share(About.FACT, asked, missing),
        missing,
    )


def _share(about: About, asked: Sequence[Probe], missing: Sequence[Probe]) -> float:
    total = sum(each.about is about for each in asked)
    lost = sum(each.about is about for each in missing)
    return 1.0 if not total else (total - lost) / total
