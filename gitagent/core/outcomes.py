"""What became of the tasks whose coin was tossed, a row each, by receipts alone."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord


@dataclass(frozen=True, slots=True)
class Row:
    """One task: what the coin said, and what became of it."""

    task: str
    at: str  # UTC; when its first attempt began
    rate: float  # of the coin
    recalled: bool  # False: the coin kept recall from it
    given: frozenset[str]  # items that counted then, and were not withheld
    withheld: frozenset[str]  # items that counted then, and were
    first_try: bool  # its first try landed, and receipts say that it passed
    retries: int
    tokens: int | None  # None: it talks to no model that is counted
    oid: str = ""  # record that says so


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows, and what is none of them."""

    rows: tuple[Row, ...] = ()  # oldest first
    left_out: Mapping[str, int] = field(default_factory=dict)  # by the reason, a clause


def rows(
    records: Iterable[TaskRecord],
    submissions: Iterable[Submission],
    sound: Collection[str],
    counted: Mapping[str, frozenset[str]],
) -> Rows:
    """Return a row for each task that tells something of the memory.

    ``sound`` are places of receipts that are there and say that a check passed;
    ``counted`` the slugs of the items that counted, by commit of the target.
    """
    raise NotImplementedError
