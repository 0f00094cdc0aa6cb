"""Questions that a task waits for, and what people answered."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LETTERS = "abcdefghijklmnopqrstuvwxyz"

STOP: Final = "stop"  # the answer to a budget's question that adds nothing

_WORD = re.compile(r"\s*(\d{1,4})\s*=(.*)", re.DOTALL)
_USD = re.compile(r"\$?\s*(\d{1,9}(?:\.\d{1,6})?|\.\d{1,6})\s*(?:usd|\$)?", re.ASCII)
_TOKENS = re.compile(r"(\d{1,12})\s*tokens?", re.ASCII)


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
    number: int = 0  # of the question on its card
    attempt: int = 0  # number of the attempt that asked


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """``.agent/tasks/answers/<task>.md``. One value per (task, blob)."""

    task: str
    blob: str  # object id of the file's content
    answers: tuple[tuple[int, str], ...] = ()  # number of a question, and what is said
    because: str = ""
    by: str = ""  # who committed it, "Name <email>"; "": not looked for


@dataclass(frozen=True, slots=True)
class Amount:
    """What a person adds to a task's budget; neither: the task is to stop."""

    usd: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Misfit:
    """An answer that cannot be taken, and why."""

    problem: str  # a clause
    mend: str
    form: bool = False  # whether it is no answer at all, whatever was asked


def parse(words: Iterable[str]) -> dict[int, str] | Misfit:
    """Return what words such as ``1=b`` say, by number; the order is kept."""
    said: dict[int, str] = {}
    for word in words:
        found = _WORD.fullmatch(word)
        shown = word[:40]
        if found is None:
            mend = "write a question's number, = and the text, such as 1=b"
            return Misfit(f'"{shown}" answers nothing', mend, form=True)
        number, text = int(found[1]), found[2].strip()
        if not text:
            return Misfit(f'"{shown}" says nothing', f"write {number}=…", form=True)
        if number in said:
            problem = f"question {number} is answered twice"
            return Misfit(problem, "say it once", form=True)
        said[number] = text
    return said


def lettered(question: Question) -> Mapping[str, str]:
    """Return the options by letter; one beyond z has none."""
    return dict(zip(LETTERS, question.options, strict=False))


def choose(question: Question, number: int, text: str) -> tuple[str, bool] | Misfit:
    """Return what a text answers, and whether it is an option, or no choice was given.

    The text of an option or its letter chooses it, in any case of letters. Any other
    text is an answer of its own; a single letter that is no option's is a slip.
    """
    if not question.options:
        return text, True
    folded = _folded(text)
    for option in question.options:
        if _folded(option) == folded:
            return option, True
    letters = lettered(question)
    if folded in letters:
        return letters[folded], True
    if len(folded) == 1 and folded in LETTERS:
        have = ", ".join(letters)
        return Misfit(
            f"question {number} has no option {text}",
            f"it has {have}; for another answer write more than a letter",
        )
    return text, False


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def amount(text: str) -> Amount | Misfit:
    """Return what an answer to a budget's question adds."""
    said = _folded(text)
    if said == STOP:
        return Amount()
    if (found := _TOKENS.fullmatch(said)) and int(found[1]) > 0:
        return Amount(tokens=int(found[1]))
    if (found := _USD.fullmatch(said)) and float(found[1]) > 0:
        return Amount(usd=float(found[1]))
    return Misfit(
        f'"{text[:40]}" is no amount',
        f"write how many usd, such as 2.50, or 200000 tokens, or {STOP}",
    )
