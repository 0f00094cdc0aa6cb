"""Questions that a task waits for, and what people answered."""

from dataclasses import dataclass
from enum import StrEnum

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Asker(StrEnum):
    """Why a task asks."""

    AGENT = "agent"  # its agent wants to know something
    BUDGET = "budget"  # what it may spend is spent


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a card; its number is its place, from 1."""

    text: str
    options: tuple[str, ...] = ()  # lettered a, b, c; () : any text answers it


@dataclass(frozen=True, slots=True)
class Card:
    """What has to be answered before a task goes on."""

    asker: Asker
    questions: tuple[Question, ...]
    since: str  # UTC


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to a question."""

    question: str  # its text
    text: str  # of the option, if one was chosen
    by: str = ""  # "Name <email>"
    at: str = ""  # UTC
    because: str = ""
