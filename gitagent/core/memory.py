"""What earlier work teaches later work: items, where each is from, and when it counts.

An item is the file ``.agent/memory/<slug>.md`` on the target. It says one thing, and
quotes what it says it from. Whatever follows from Git alone (its evidence changed,
what it came from was rolled back) is no state of it but a mark, told anew each time.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

LINE: Final = 160  # characters of an item's line
BODY: Final = 4000  # characters of its body
SOURCES: Final = 8
QUOTE: Final = 1200  # characters that one source quotes


class Kind(StrEnum):
    """What an item says."""

    DECISION = "decision"  # what was chosen; its body gives the reasons
    FACT = "fact"
    LESSON = "lesson"  # what to do, or to leave, another time


class Status(StrEnum):
    """Whether an item counts."""

    ACTIVE = "active"
    DISPUTED = "disputed"  # another item says otherwise, and nobody has decided yet
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"  # another item stands in its place


COUNTS: Final = frozenset({Status.ACTIVE, Status.DISPUTED})  # against the limit, too


class From(StrEnum):
    """What a source is."""

    LINES = "lines"  # of a committed file
    RECEIPT = "receipt"  # of a run of a check
    LANDING = "landing"
    DECISION = "decision"  # a person's answer to a question of a task


@dataclass(frozen=True, slots=True)
class Source:
    """Where something is known from; what does not apply to its kind is empty.

    Written ``COMMIT:PATH:FIRST-LAST``, ``receipt:BLOB``, ``landing:SUBMISSION`` or
    ``decision:TASK:NUMBER``; see `files.memoryfile`.
    """

    kind: From
    oid: str  # LINES: commit; RECEIPT: its blob; LANDING: commit; DECISION: record
    name: str = ""  # LINES: path; LANDING: submission; DECISION: task
    first: int = 0  # LINES: first line, from 1; DECISION: number of the answer, from 1
    last: int = 0  # LINES
    quote: str = ""  # what it says there: all of it, without the last line's end


@dataclass(frozen=True, slots=True)
class Item:
    """What one file says."""

    slug: str  # the file's stem; see ident.id_problem
    kind: Kind
    line: str
    updated: str  # UTC, ISO 8601 with Z
    status: Status = Status.ACTIVE
    sources: tuple[Source, ...] = ()
    supersedes: tuple[str, ...] = ()  # slugs
    disputes: tuple[str, ...] = ()  # slugs of the items that say otherwise
    verify: str = ""  # command that passes as long as it is true; "": none
    work: str = ""  # task whose attempt proposed it; "": a person wrote it
    because: str = ""  # why it is withdrawn, disputed or superseded
    body: str = ""
    blob: str = field(default="", compare=False)  # object id of the file's content


class Marks(StrEnum):
    """What Git says of an item beyond its file."""

    CHANGED = "evidence changed"  # the cited lines are not there any more
    SUSPECT = "suspect"  # the landing that it came from was rolled back
    DERIVED = "derived"  # by work that had received what was withdrawn since
    UNVERIFIED = "unverified"  # its sources do not resolve here


@dataclass(frozen=True, slots=True)
class Mark:
    """One of them."""

    mark: Marks
    at: str  # CHANGED, SUSPECT: commit; DERIVED: slug; UNVERIFIED: what is missing
