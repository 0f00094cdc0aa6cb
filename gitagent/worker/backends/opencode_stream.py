"""What ``opencode run --format json`` says, a JSON object a line.

A step is one answer of the model with the tools that it calls. The last step that ended
by itself holds the answer. A part is told when it is whole, and a tool when it is done.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gitagent.files import clean
from gitagent.worker.backends.stream import (
    ANSWER,
    Entry,
    Final,
    as_json,
    as_object,
    as_text,
    parsed,
    shortened,
)

# It becomes an argument of a command line.
SESSION = re.compile(r"ses_[A-Za-z0-9]{1,64}")

_KNOWN = ("step_start", "step_finish", "text", "reasoning", "tool_use", "error")
_GOES_ON = "tool-calls"
_ENDS = {
    "length": "The model's answer was cut off at its limit of tokens.",
    "content-filter": "The model's provider held its answer back.",
    "error": "The model's answer ended in an error.",
}
_IN_THE_MIDDLE = "opencode ended before the model had said its last words."
_TEXTS = 20  # of one step that are kept
_NOTED = 500  # characters of a line that is not understood


class OpencodeStream:
    """Reads one run."""

    def __init__(self) -> None:
        self._session = ""
        self._texts: list[str] = []  # of the newest step
        self._error = _IN_THE_MIDDLE
        self._turns = 0

    def feed(self, line: bytes) -> Iterable[Entry]:
        """Take a line; return what it tells."""
        values = parsed(line)
        if values is None or values.get("type") not in _KNOWN:
            text = line.decode(errors="replace").strip()
            return [Entry("note", shortened(text, _NOTED))] if text else []
        session = values.get("sessionID")
        if isinstance(session, str) and SESSION.fullmatch(session):
            self._session = session
        return list(self._told(values))

    def final(self) -> Final:
        """Return how it ended, as far as it said so."""
        return Final(
            answer="" if self._error else self._answer(),
            session=self._session,
            error=self._error,
            turns=self._turns,
        )

    def _answer(self) -> str:
        text = "\n\n".join(text for text in self._texts if text)
        return shortened(clean.visible(text), ANSWER)

    def _told(self, values: dict[str, Any]) -> Iterator[Entry]:
        part = as_object(values.get("part"))
        match values.get("type"):
            case "step_start":
                self._texts = []
                self._error = _IN_THE_MIDDLE
            case "step_finish":
                self._turns += 1
                self._finished(as_text(part.get("reason")))
            case "text":
                text = as_text(part.get("text")).strip()
                self._texts = [*self._texts, shortened(text, ANSWER)][-_TEXTS:]
                if text:
                    yield Entry("say", text)
            case "reasoning":
                text = as_text(part.get("text")).strip()
                if text:
                    yield Entry("think", text)
            case "tool_use":
                yield from _tool(part)
            case "error":
                self._error = f"opencode: {_reason(as_object(values.get('error')))}"
                yield Entry("error", self._error)
            case _:
                pass

    def _finished(self, reason: str) -> None:
        if reason == _GOES_ON:
            return
        self._error = _ENDS.get(reason, "")


def _tool(part: dict[str, Any]) -> Iterator[Entry]:
    state = as_object(part.get("state"))
    name = as_text(part.get("tool")) or "?"
    call = as_text(part.get("callID"))
    yield Entry("call", as_json(state.get("input")), name, call)
    failed = state.get("status") == "error"
    text = as_text(state.get("error" if failed else "output"))
    yield Entry("result", f"error: {text}" if failed else text, name, call)


def _reason(error: dict[str, Any]) -> str:
    data = as_object(error.get("data"))
    text = as_text(data.get("message")) or as_text(error.get("name")) or "an error"
    return clean.sentence(text, _NOTED)
