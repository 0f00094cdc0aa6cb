"""How the entries of a conversation look: lines of text, each with a style.

Whatever they hold was written by others, so all of it is made harmless here.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gitagent.core import chats, forking
from gitagent.core.conversation import Call, CallState, Ended, Entry, Kind, Origin
from gitagent.files import clean

QUEUED: Final = " (queued)"

# Words of ours to the model, of something that people see anyway.
_TO_MODEL = frozenset({chats.STOPPED, forking.OPENING})
_OWN = "[gitagent] "  # how words to a model that are ours begin
_ASIDE = 300  # characters of what is not the conversation itself
_CALL = 120  # characters of a call
_WORD = re.compile(r"[\w./@:+=,-]+\Z")
_PLACES = frozenset({"path", "id", "view", "url", "host"})  # shown without quotes
_SILENT = frozenset({"", Ended.DONE, Ended.CLOSED})


@dataclass(frozen=True, slots=True)
class Line:
    """Text without a line feed, and what it is: "", "person", "dim" or "warn"."""

    text: str
    style: str = ""


def text_lines(text: str, style: str = "", prefix: str = "") -> Iterator[Line]:
    """Yield the lines of a text, all but the first one set in by the prefix's width."""
    indent = " " * len(prefix)
    for number, line in enumerate(clean.visible(text).rstrip("\n").split("\n")):
        yield Line(f"{indent if number else prefix}{line}", style)


def entry_lines(entry: Entry) -> Iterator[Line]:
    """Yield how an entry is shown; nothing for what people need not see."""
    match entry.kind:
        case Kind.INPUT if entry.origin is Origin.PERSON and not entry.places:
            text = entry.text + QUEUED * entry.waits
            yield from text_lines(text, "person", f"[{entry.number}] ")
        case Kind.SAY:
            if entry.text.strip():
                yield from text_lines(entry.text)
            yield from call_lines(entry)
        case Kind.RESULT:
            yield _result(entry)
        case _:
            told = clean.sentence(_aside(entry), _ASIDE)
            if told:
                failed = entry.kind is Kind.END
                yield Line(f"[{told}]", "warn" if failed else "dim")


def call_lines(entry: Entry) -> Iterator[Line]:
    """Yield the calls of a turn."""
    for call in entry.calls:
        yield Line(f"  > {call_text(call)}", "dim")


def call_text(call: Call) -> str:
    """Return a call as a short line such as ``grep "foo" src``."""
    try:
        given = json.loads(call.given or "{}")
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, dict):
        words = [
            _argument(n, key, value) for n, (key, value) in enumerate(given.items())
        ]
    else:
        words = [call.given]
    return clean.sentence(" ".join([call.tool, *words]), _CALL)


def first_words(entry: Entry, limit: int = 60) -> str:
    """Return how an entry begins, in one line."""
    if entry.text.strip():
        return clean.sentence(entry.text, limit)
    return clean.sentence(", ".join(call.tool for call in entry.calls), limit)


def size(count: int) -> str:
    """Return a number of bytes for people."""
    return f"{count} bytes" if count < 1024 else f"{count / 1024:.1f} KiB"


def _argument(position: int, key: str, value: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        plain = key in _PLACES and _WORD.match(value)
        shown = value if plain else json.dumps(value, ensure_ascii=False)
    else:
        shown = json.dumps(value, ensure_ascii=False)
    return shown if position < 2 and isinstance(value, str) else f"{key}={shown}"


def _aside(entry: Entry) -> str:
    """Return what is said of an entry that no person and no model said."""
    match entry.kind:
        case Kind.INPUT if entry.places:
            return f"{entry.number}: now {entry.places} is told to the model"
        case Kind.INPUT if entry.text in _TO_MODEL:
            return ""
        case Kind.INPUT:
            told = entry.text.removeprefix(_OWN) or entry.what
            return f"{entry.number}: {entry.origin}: {told}"
        case Kind.SUMMARY:
            return f"entries {entry.first} to {entry.last} are summed up for the model"
        case Kind.REWIND:
            return f"back to entry {entry.last}"
        case Kind.BEGIN:
            return entry.text
        case Kind.END if entry.ended == Ended.STOPPED:
            return entry.ended
        case Kind.END if entry.ended not in _SILENT:
            return f"{entry.ended}: {entry.text}" if entry.text else entry.ended
        case _:
            return ""


def _result(entry: Entry) -> Line:
    name = " ".join(filter(None, [entry.tool, entry.what]))
    name = clean.sentence(name, _CALL)
    told = clean.sentence(entry.text, _ASIDE)
    proposed = (entry.tool, entry.state) == (chats.PROPOSE, CallState.DONE)
    if proposed or (entry.state is CallState.NEEDS_DECISION and not entry.via):
        ways = f"/yes {entry.number} or /no {entry.number}"
        return Line(f"  ? {name}: {told} ({ways})", "warn")
    match entry.state:
        case CallState.DONE | None:
            count = entry.size or len(entry.text.encode(errors="replace"))
            return Line(f"  = {name}: {size(count)}", "dim")
        case CallState.DENIED:
            return Line(f"  ! {name} denied: {told}", "warn")
        case CallState.NEEDS_DECISION:
            return Line(f"  ! {name} needs a decision: {told}", "warn")
        case CallState.FAILED:
            return Line(f"  = {name} failed: {told}", "dim")
        case CallState.INTERRUPTED:
            return Line(f"  ! {name} interrupted", "warn")
        case CallState.UNCERTAIN:
            return Line(f"  ! {name}: nobody knows whether it was done", "warn")
