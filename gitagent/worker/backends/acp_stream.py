"""What our client says of an ACP agent, a JSON object a line; see `inside.acp`.

The model's words come in pieces, and are told when something else comes. The last words
are the answer, if nothing but them came at the end.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gitagent.files import clean
from gitagent.worker.backends.stream import (
    ANSWER,
    TEXT,
    Entry,
    Final,
    Kind,
    as_json,
    as_object,
    as_text,
    parsed,
    shortened,
)

_KNOWN = ("agent", "session", "update", "note", "error", "stop")
_SPOKEN: dict[str, Kind] = {
    "agent_message_chunk": "say",
    "agent_thought_chunk": "think",
}

_ENDS = {
    "end_turn": "",
    "max_tokens": "The model's answer was cut off at its limit of tokens.",
    "max_turn_requests": "The agent made as many requests as it may in one turn.",
    "refusal": "The model refused to go on.",
    "cancelled": "The agent was told to stop.",
}
_IN_THE_MIDDLE = "The agent ended in the middle of its turn."
_NOTED = 500  # characters of what is not understood, and of a reason
_CALLS = 256  # tools under way that are remembered
_DONE = ("completed", "failed")


@dataclass(slots=True)
class _Call:
    name: str
    asked: str = ""
    result: str = ""
    told: bool = False


class AcpStream:
    """Reads one turn."""

    def __init__(self) -> None:
        self._program = ""
        self._session = ""
        self._error = _IN_THE_MIDDLE
        self._kind: Kind = "say"  # of the pieces
        self._pieces: list[str] = []
        self._size = 0
        self._last = ""  # words after which nothing else came
        self._calls: dict[str, _Call] = {}

    def feed(self, line: bytes) -> Iterable[Entry]:
        """Take a line; return what it tells."""
        values = parsed(line)
        if values is None or values.get("type") not in _KNOWN:
            text = line.decode(errors="replace").strip()
            return [Entry("note", shortened(text, _NOTED))] if text else []
        return list(self._told(values))

    def final(self) -> Final:
        """Return how it ended, as far as it said so."""
        return Final(
            answer="" if self._error else shortened(clean.visible(self._last), ANSWER),
            session=self._session,
            error=self._error,
            program=self._program,
        )

    def _told(self, values: dict[str, Any]) -> Iterator[Entry]:
        match values["type"]:
            case "agent":
                both = (as_text(values.get("name")), as_text(values.get("version")))
                self._program = clean.sentence(" ".join(both), 80)
            case "session":
                name = as_text(values.get("id"))
                if name.isprintable() and len(name) <= 200:
                    self._session = name
            case "update":
                yield from self._update(as_object(values.get("update")))
            case "note":
                yield Entry("note", as_text(values.get("text")))
            case "error":
                yield from self._flush()
                text = clean.sentence(as_text(values.get("text")), _NOTED)
                self._error = f"The agent's program: {text or 'an error'}"
                yield Entry("error", self._error)
            case _:
                yield from self._flush()
                reason = as_text(values.get("reason"))
                unknown = f"The agent stopped: {clean.sentence(reason)}"
                self._error = _ENDS.get(reason, unknown)

    def _update(self, update: dict[str, Any]) -> Iterator[Entry]:
        what = update.get("sessionUpdate")
        if what in ("tool_call", "tool_call_update"):
            yield from self._flush()
            self._last = ""
            yield from self._call(update)
            return
        kind = _SPOKEN.get(what) if isinstance(what, str) else None
        if kind is None:
            return
        if kind != self._kind or self._size > TEXT:
            yield from self._flush()
        if kind != self._kind:
            self._kind, self._last = kind, ""
        text = as_text(as_object(update.get("content")).get("text"))
        self._pieces.append(text)
        self._size += len(text)

    def _flush(self) -> Iterator[Entry]:
        text = "".join(self._pieces).strip()
        self._pieces, self._size = [], 0
        if not text:
            return
        if self._kind == "say":
            self._last = shortened(f"{self._last}\n{text}".strip(), TEXT)
        yield Entry(self._kind, text)

    def _call(self, update: dict[str, Any]) -> Iterator[Entry]:
        ident = as_text(update.get("toolCallId"))[:200]
        title = clean.sentence(as_text(update.get("title")), 80)
        call = self._calls.get(ident)
        if call is None:
            call = self._calls[ident] = _Call(
                title or as_text(update.get("kind")) or "?"
            )
            if len(self._calls) > _CALLS:
                del self._calls[next(iter(self._calls))]
        if update.get("rawInput") is not None:
            call.asked = shortened(as_json(update["rawInput"]), TEXT)
        call.result = shortened(_result(update), TEXT) or call.result
        status = update.get("status")
        if status not in (None, "pending") and not call.told:
            call.told = True
            yield Entry("call", call.asked or title, call.name, ident)
        if status in _DONE:
            failed = "error: " if status == "failed" else ""
            yield Entry("result", f"{failed}{call.result}", call.name, ident)
            self._calls.pop(ident, None)


def _result(update: dict[str, Any]) -> str:
    found = []
    content = update.get("content")
    for each in content if isinstance(content, list) else []:
        part = as_object(each)
        if part.get("type") == "diff":
            found.append(f"changed {as_text(part.get('path'))}")
        else:
            found.append(as_text(as_object(part.get("content")).get("text")))
    text = "\n".join(part for part in found if part)
    raw = update.get("rawOutput")
    if text or raw is None:
        return text
    return raw if isinstance(raw, str) else as_json(raw)
