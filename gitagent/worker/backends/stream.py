"""What the structured output of an agent's program is turned into, whatever program.

A reader is fed the lines of standard output. They are hostile: a line that cannot be
used becomes a note, and nothing is believed but how the program itself says it ended.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gitagent.core.question import Question

TEXT = 20_000  # characters of one entry; the exchanges have everything
ANSWER = 8000  # characters of the last words

Kind = Literal["say", "think", "call", "result", "note", "error"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a transcript."""

    kind: Kind
    text: str
    name: str = ""  # of the tool that is called
    call: str = ""  # id of the call, where a result is told by it

    def line(self) -> bytes:
        """Return it as a line of JSON, without what is empty."""
        values = {"kind": self.kind, "text": shortened(self.text, TEXT)}
        values |= {"name": self.name} if self.name else {}
        values |= {"call": self.call} if self.call else {}
        return json.dumps(values, ensure_ascii=False).encode(errors="replace") + b"\n"


@dataclass(frozen=True, slots=True)
class Final:
    """How the program says that it ended."""

    answer: str = ""  # its last words; "": there are none
    session: str = ""  # name of its saved conversation
    error: str = ""  # a sentence; "": it says that it ended well
    turns: int = 0
    program: str = ""  # its version, if it says so
    questions: tuple[Question, ...] = ()  # that it ended with
    timed_out: bool = False  # by its own clock


class Stream(Protocol):
    """Reads the output of one run of one program."""

    def feed(self, line: bytes) -> Iterable[Entry]:
        """Take a line without its end; return what it tells. Never raises."""
        ...

    def final(self) -> Final:
        """Return how it ended, as far as the lines so far tell."""
        ...


def shortened(text: str, limit: int) -> str:
    """Return the text, with its middle left out if it is too long."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line; None: it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_json(value: object) -> str:
    """Return a value that came as JSON as JSON."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"


def as_object(value: object) -> dict[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str:
    """Return the value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""
