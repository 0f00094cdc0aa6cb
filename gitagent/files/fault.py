"""What is wrong with a setting, and the judges that all tables share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gitagent.files.fields import Problem, found
from gitagent.files.schema import Path

_MANY = 1024  # of anything counted that this machine has to hold at once


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one key."""

    path: Path
    problem: str  # follows the key's name: "is …"
    mend: str


def text(path: Path, value: str, problem: Problem) -> Iterator[Fault]:
    """Judge a text that has to be there."""
    why = problem(value) if value.strip() else "write what it is"
    if why:
        yield Fault(path, f"is {found(value)}", why)


def optional(path: Path, value: str, problem: Problem) -> Iterator[Fault]:
    """Judge a text that may be empty."""
    if value:
        yield from text(path, value, problem)


def each(path: Path, values: Iterable[str], problem: Problem) -> Iterator[Fault]:
    """Judge the texts of a list."""
    for value in values:
        why = problem(value) if value.strip() else "leave it out"
        if why:
            yield Fault(path, f"contains {found(value)}", why)


def count(path: Path, value: int, low: int, high: int = _MANY) -> Iterator[Fault]:
    """Judge a whole number."""
    if not low <= value <= high:
        mend = f"write a whole number from {low} to {high}"
        yield Fault(path, f"is {found(value)}", mend)


def line_problem(text: str) -> str | None:
    """Return how to mend a text that has to be on one line."""
    return None if text.isprintable() else "write it on one line"


def address_problem(address: str) -> str | None:
    """Return how to mend an address of the web."""
    if address.startswith(("https://", "http://")) and address.isprintable():
        return None
    return "write an address that begins with https://"
