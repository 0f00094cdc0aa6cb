"""A request to a model cut into pieces that, put together, are its very bytes.

A piece is one thing that somebody put there: a system prompt, the list of tools, a
block of a message. What is between them is syntax, and kept too. A body that is not
the JSON of its API, or has more than ``MOST``, is one piece.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from gitagent.core.exchange import Api

MOST = 10_000  # pieces of a body; a longer conversation fits into no model

SYNTAX = ""  # what is between the pieces that mean something
SYSTEM = "system"
TOOLS = "tools"
TEXT = "text"
THINKING = "thinking"
CALL = "tool_use"
RESULT = "tool_result"

_KINDS = {
    "input_text": TEXT,
    "output_text": TEXT,
    "redacted_thinking": THINKING,
    "reasoning": THINKING,
}
_NAME = re.compile(r"[a-z0-9_]{1,40}")
_SPACES = " \t\n\r"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_INSTRUCTING = frozenset({"system", "developer"})  # roles


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a body."""

    start: int  # byte
    end: int  # byte after its last one
    path: str = ""  # JSON pointer of the value
    kind: str = SYNTAX
    role: str = ""  # of the message that it is in
    call: str = ""  # id of the tool call that it is, or is the result of
    producer: str = ""  # who put it there; see `producers`
    value: Any = field(default=None, compare=False, repr=False)  # decoded


def split(body: bytes, api: Api) -> tuple[Span, ...]:
    """Return the pieces of a request's body, none empty, in order and without a gap."""
    try:
        text = body.decode()
        found = _Request(text, api).pieces()
        if len(found) > MOST:
            raise ValueError("too many pieces")  # noqa: TRY301 - as what is not JSON
    except (ValueError, RecursionError):
        return (Span(0, len(body)),) if body else ()
    places = [at for each in found for at in (each.start, each.end)]
    offsets = _byte_offsets(text, places)
    made, end = [], 0
    for each, start, stop in zip(found, offsets[::2], offsets[1::2], strict=True):
        if start > end:
            made.append(Span(end, start))
        made.append(each.span(start, stop))
        end = stop
    if end < len(body):
        made.append(Span(end, len(body)))
    return tuple(made)


def shares(sizes: Sequence[int], total: int) -> list[int]:
    """Return ``total`` divided up by size; the parts add up to it."""
    whole = sum(sizes) or 1
    ends = [total * sofar // whole for sofar in accumulate(sizes)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def text_of(value: Any) -> str | None:  # noqa: ANN401 - JSON
    """Return the words of a block; None if it is something else."""
    found = value.get("text") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


class Cursor:
    """Walks a JSON text without making values of what it walks through.

    Every method can raise ValueError; then the text is not JSON.
    """

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at

    def peek(self) -> str:
        """Return the next character that is no white space, and stand at it."""
        char = self.text[self.at : self.at + 1]
        if char not in _SPACES:
            return char
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def take(self, char: str) -> bool:
        """Go past ``char`` if it is next."""
        if self.peek() != char:
            return False
        self.at += 1
        return True

    def expect(self, char: str) -> None:
        """Go past ``char``."""
        if not self.take(char):
            raise ValueError(f"no {char} at {self.at}")

    def value(self) -> Any:  # noqa: ANN401 - JSON
        """Go past a value and return it."""
        self.peek()
        found, self.at = _DECODER.raw_decode(self.text, self.at)
        return found

    def members(self) -> Iterator[str]:
        """Go through an object; at each key its value has to be gone past."""
        self.expect("{")
        if self.take("}"):
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise ValueError(f"no key at {self.at}")  # noqa: TRY004 - not JSON
            self.expect(":")
            yield key
            if not self.take(","):
                break
        self.expect("}")

    def items(self) -> Iterator[int]:
        """Go through an array; each item has to be gone past."""
        self.expect("[")
        if self.take("]"):
            return
        number = 0
        while True:
            yield number
            number += 1
            if not self.take(","):
                break
        self.expect("]")


@dataclass(slots=True)
class _Found:
    """A piece whose message is not known to its end yet; offsets are characters."""

    start: int
    end: int
    path: str
    kind: str
    value: Any
    role: str = ""
    call: str = ""

    def span(self, start: int, end: int) -> Span:
        """Return it, now at these bytes."""
        return Span(
            start,
            end,
            self.path,
            self.kind,
            self.role,
            self.call or _call(self.value),
            value=self.value,
        )


class _Request(Cursor):
    """A body, and the pieces found in it."""

    def __init__(self, text: str, api: Api) -> None:
        super().__init__(text)
        self._api = api
        self._found: list[_Found] = []

    def pieces(self) -> list[_Found]:
        responses = self._api is Api.RESPONSES
        for key in self.members():
            path = f"/{key}"
            if key == TOOLS:
                self._piece(path, TOOLS)
            elif key == "instructions" and responses:
                self._piece(path, SYSTEM)
            elif key == SYSTEM and self._api in {Api.MESSAGES, Api.COUNT}:
                self._blocks(path, SYSTEM)
            elif key == ("input" if responses else "messages"):
                self._messages(path)
            else:
                self.value()
        if self.peek():
            raise ValueError(f"more at {self.at}")
        return self._found

    def _piece(self, path: str, kind: str = "") -> Any:  # noqa: ANN401 - JSON
        self.peek()
        start, value = self.at, self.value()
        if value is not None:
            found = _Found(start, self.at, path, kind or _kind(value), value)
            self._found.append(found)
        return value

    def _blocks(self, path: str, kind: str = "") -> list[Any]:
        if self.peek() != "[":
            return [self._piece(path, kind)]
        return [self._piece(f"{path}/{n}", kind) for n in self.items()]

    def _messages(self, path: str) -> None:
        if self.peek() != "[":
            self._piece(path)
            return
        for number in self.items():
            if self.peek() == "{":
                self._message(f"{path}/{number}")
            else:
                self._piece(f"{path}/{number}")

    def _message(self, path: str) -> None:
        start, first = self.at, len(self._found)
        values: dict[str, Any] = {}
        for key in self.members():
            if key in {"content", "tool_calls"}:
                kind = CALL if key == "tool_calls" else ""
                values[key] = self._blocks(f"{path}/{key}", kind)
            elif key == "reasoning_content":
                values[key] = self._piece(f"{path}/{key}", THINKING)
            else:
                values[key] = self.value()
        if values.get("type", "message") != "message":  # an item of another kind
            whole = _Found(start, self.at, path, _kind(values), values)
            self._found[first:] = [whole]
        role = str(values.get("role", ""))
        for each in self._found[first:]:
            each.role = role
            if role == "tool" and each.kind == TEXT:
                each.kind, each.call = RESULT, str(values.get("tool_call_id", ""))
            elif role in _INSTRUCTING and each.kind == TEXT:
                each.kind = SYSTEM


def _kind(value: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return TEXT
    name = value.get("type") if isinstance(value, dict) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "block"
    if name.endswith(("_result", "_output")):
        return RESULT
    if name.endswith(("_call", "_use")):
        return CALL
    return _KINDS.get(name, name)


def _call(value: Any) -> str:  # noqa: ANN401 - JSON
    if not isinstance(value, dict):
        return ""
    found = value.get("tool_use_id") or value.get("call_id") or value.get("id")
    return found if isinstance(found, str) else ""


def _byte_offsets(text: str, places: list[int]) -> list[int]:
    """Return places in a text, in order, as places in its bytes."""
    if text.isascii():
        return places
    pairs = zip([0, *places], places, strict=False)
    return list(accumulate(len(text[one:other].encode()) for one, other in pairs))
