"""What earlier work teaches later work: items, where each is from, and when it counts.

An item is the file ``.agent/memory/<slug>.md`` on the target. It says one thing, and
quotes what it says it from. Whatever follows from Git alone (its evidence changed,
what it came from was rolled back) is no state of it but a mark, told anew each time.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gitagent.core.ident import id_problem
from gitagent.core.unseen import UNSEEN

LINE: Final = 160  # characters of an item's line
BODY: Final = 4000  # characters of its body
SOURCES: Final = 8
QUOTE: Final = 1200  # characters that one source quotes
COMMAND: Final = 400  # characters of the command that verifies it
BECAUSE: Final = 400  # characters of a reason
NAMES: Final = 16  # of items that it supersedes, or disputes


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


# What moves the cursor, is not seen, or reorders; other ends of lines; lone surrogates.
_HIDDEN: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{UNSEEN}]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_STAMP: Final = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z"
)
_LINES: Final = re.compile(r"(?P<first>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8}))?")
_NUMBER: Final = re.compile(r"[1-9]\d{0,8}")
_SHORT: Final = 12  # characters of an object id


def problems(item: Item) -> tuple[str, ...]:
    """Return why an item cannot be kept as it is, a sentence each; () if it can.

    Nothing is ever cut to fit. How large its file may be, `files.memoryfile` says.
    """
    return tuple(_problems(item))


def _problems(item: Item) -> Iterator[str]:
    if why := id_problem(item.slug):
        yield f"Its name cannot be {_named(item.slug)}: {why}."
    yield from _text("line", item.line, LINE, one_line=True)
    if not item.line.strip():
        yield "Its line says nothing."
    elif item.line != item.line.strip():
        yield "Its line begins or ends with a space."
    yield from _body(item)
    yield from _text("command", item.verify, COMMAND, one_line=True)
    yield from _text("reason", item.because, BECAUSE, one_line=True)
    yield from _text("work", item.work, 64, one_line=True)
    if item.status is Status.WITHDRAWN and not item.because.strip():
        yield "It is withdrawn, and does not say why."
    if not _STAMP.fullmatch(item.updated):
        yield "Its date is not of the form 2026-01-31T12:00:00Z."
    yield from _others("supersedes", item.supersedes, item.slug)
    yield from _others("disputes", item.disputes, item.slug)
    yield from _sources(item.sources)


def _body(item: Item) -> Iterator[str]:
    yield from _text("body", item.body, BODY)
    if item.body != item.body.strip("\n"):
        yield "Its body begins or ends with an empty line."
    elif item.body and not item.body.strip():
        yield "Its body says nothing."
    if not item.body and item.kind is Kind.DECISION and item.status in COUNTS:
        yield "It is a decision, and its body has to give the reasons."


def _text(what: str, text: str, most: int, *, one_line: bool = False) -> Iterator[str]:
    if len(text) > most:
        yield f"Its {what} has {len(text):,} characters, and {most:,} are the most."
    if one_line and ("\n" in text or "\t" in text):
        yield f"Its {what} has to be on one line, without tabs."
    if found := _HIDDEN.search(text):
        code = f"U+{ord(found[0]):04X}"
        mend = "; end its lines with LF alone" if "\r\n" in text else ""
        yield f"Its {what} has the character {code}, which nobody would see{mend}."


def _others(what: str, slugs: tuple[str, ...], own: str) -> Iterator[str]:
    if len(slugs) > NAMES:
        yield f"It {what} {len(slugs)} items, and {NAMES} are the most."
    if len(set(slugs)) < len(slugs):
        yield f"It {what} one item twice."
    for slug in slugs:
        if slug == own:
            yield f"It {what} itself."
        elif why := id_problem(slug):
            yield f"It {what} {_named(slug)}, which names no item: {why}."


def _sources(sources: tuple[Source, ...]) -> Iterator[str]:
    if not sources:
        yield "It has no source."
    elif len(sources) > SOURCES:
        yield f"It has {len(sources)} sources, and {SOURCES} are the most."
    for number, source in enumerate(sources, 1):
        yield from _odd(number, source)


def _odd(number: int, source: Source) -> Iterator[str]:
    """Say why one source cannot be kept; whether it resolves is asked elsewhere."""
    if len(source.quote) > QUOTE:
        yield (
            f"Its source {number} quotes {len(source.quote):,} characters, and"
            f" {QUOTE:,} are the most; name fewer lines."
        )
    if _SURROGATE.search(source.quote + source.name) or "\0" in source.name:
        yield f"Its source {number} is not UTF-8."
    if source.kind is From.LINES and not (
        source.oid and source.name and 1 <= source.first <= source.last
    ):
        yield f"Its source {number} names no lines of a committed file."


def written(source: Source) -> str:
    """Return a source as people write it; `read_source` reads it again."""
    match source.kind:
        case From.LINES:
            return f"{source.oid}:{source.name}:{source.first}-{source.last}"
        case From.RECEIPT:
            return f"receipt:{source.oid}"
        case From.LANDING:
            return f"landing:{source.name}"
        case From.DECISION:
            return f"decision:{source.name}:{source.first}"


def read_source(text: str) -> Source | str:
    """Return the source that a text names, without a quote, or why it names none.

    A commit is whatever was written for one, and a landing has no commit yet. The
    path may hold colons and spaces.
    """
    head, colon, rest = text.partition(":")
    match head if colon else "":
        case "receipt":
            if rest:
                return Source(From.RECEIPT, rest)
            return "a receipt is named by its object: receipt:BLOB"
        case "landing":
            if rest:
                return Source(From.LANDING, "", rest)
            return "a landing is named by its submission: landing:s-0123456789ab"
        case "decision":
            task, _, number = rest.rpartition(":")
            if task and _NUMBER.fullmatch(number):
                return Source(From.DECISION, "", task, int(number))
            return "a decision is an answer of a task: decision:TASK:1"
        case _:
            pass
    path, _, span = rest.rpartition(":")
    lines = _LINES.fullmatch(span)
    if not head or not path or lines is None:
        return "a source is COMMIT:PATH:FIRST-LAST, such as main:src/app.py:10-14"
    first = int(lines["first"])
    last = int(lines["last"] or first)
    if last < first:
        return f"its lines end before they begin: {first}-{last}"
    return Source(From.LINES, head, path, first, last)


def says(item: Item) -> tuple[object, ...]:
    """Return what an item says, to be compared; not from where, nor if it counts."""
    return item.kind, item.line, item.body, item.verify


def shown(item: Item, marks: Collection[Mark] = ()) -> str:
    """Return the one line in which an item is told, everywhere.

    An item without a blob or without a source is told nowhere: "".
    """
    if not item.blob or not item.sources:
        return ""
    status = str(item.status)
    if item.status is Status.DISPUTED and item.disputes:
        status += f" with {', '.join(item.disputes)}"
    more = f" +{len(item.sources) - 1}" if len(item.sources) > 1 else ""
    parts = (
        f"{item.slug}@{item.blob[:_SHORT]}",
        item.kind,
        short(item.sources[0]) + more,
        item.updated[:10],
        status,
        *(said(mark) for mark in marks),
    )
    return f"[{' · '.join(parts)}] {item.line}"


def short(source: Source) -> str:
    """Return a source in few words, for people and models."""
    match source.kind:
        case From.LINES:
            span = f"{source.first}-{source.last}"
            return f"{_visible(source.name)}:{span} at {source.oid[:_SHORT]}"
        case From.RECEIPT:
            return f"receipt {source.oid[:_SHORT]}"
        case From.LANDING:
            return f"landing {source.name}"
        case From.DECISION:
            return f"decision {source.name}#{source.first}"


def said(mark: Mark) -> str:
    """Return a mark in few words."""
    match mark.mark:
        case Marks.CHANGED:
            return f"evidence changed at {mark.at[:_SHORT]}"
        case Marks.SUSPECT:
            return f"suspect: rolled back at {mark.at[:_SHORT]}"
        case Marks.DERIVED:
            return f"derived from {mark.at}, which is withdrawn"
        case Marks.UNVERIFIED:
            return f"unverified: {mark.at}"


def _visible(text: str) -> str:
    return _HIDDEN.sub("?", text).replace("\n", "?").replace("\t", "?")


def _named(slug: str) -> str:
    return f'"{_visible(slug[:80])}"'
