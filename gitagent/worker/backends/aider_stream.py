"""What ``aider`` says: lines for people, and among them its events as JSON.

The words of the model stand between the event that a request begins and the one that it
is over. The events bear a name that the model does not know, so it cannot write them.
The program ends with exit code 0 whatever became of a request.
"""

import re
from collections.abc import Iterable, Iterator

from gitagent.core.question import Question
from gitagent.files import clean
from gitagent.worker.asked import asked
from gitagent.worker.backends.stream import (
    ANSWER,
    TEXT,
    Entry,
    Final,
    as_object,
    as_text,
    parsed,
    shortened,
)

SESSION = "chat"  # there is one for each HOME

_IN_THE_MIDDLE = "aider ended before the model had answered."
_UNUSABLE = (
    "The model's edits could not be applied: they were not of the form it needs."
)

_MALFORMED = "The LLM did not conform to the edit format."
_EMPTY = "Empty response received from LLM."
_USED = "Tokens: "
_AGAIN = re.compile(r"Retrying in [\d.]+ seconds\.\.\.")
_THOUGHT = "► **THINKING**"
_ANSWERED = "► **ANSWER**"
_RULE = re.compile(r"-{3,}")

_NOTED = 500  # characters of a line for people
_KEPT = 4 * TEXT  # characters of an answer, counted while it comes


class AiderStream:
    """Reads one run."""

    def __init__(self) -> None:
        self._name = ""  # of the run, in its events
        self._open = False  # a request is under way
        self._lines: list[str] = []  # since it began
        self._size = 0
        self._answer = ""
        self._questions: tuple[Question, ...] = ()
        self._error = _IN_THE_MIDDLE
        self._turns = 0
        self._noted = ""  # the newest line for people

    def feed(self, line: bytes) -> Iterable[Entry]:
        """Take a line; return what it tells."""
        values = parsed(line) if line.startswith(b'{"event"') else None
        name = as_text(values.get("user_id")) if values else ""
        if values and name and name == (self._name or name):
            self._name = name
            kind = as_text(values.get("event"))
            return list(self._event(kind, as_object(values.get("properties"))))
        return list(self._line(line.decode(errors="replace").rstrip()))

    def final(self) -> Final:
        """Return how it ended, as far as it said so."""
        error = self._error
        if not self._turns and self._noted:
            error = _sentence(self._noted)  # why it did not even begin
        return Final(
            answer="" if error else self._answer,
            session=SESSION if self._turns else "",
            error=error,
            turns=self._turns,
            questions=() if error else self._questions,
        )

    def _event(self, kind: str, properties: dict[str, object]) -> Iterator[Entry]:
        match kind:
            case "message_send_starting":
                self._open = True
                self._lines, self._size = [], 0
                self._answer, self._questions = "", ()
                self._error = _IN_THE_MIDDLE
                self._turns += 1
            case "message_send" if self._open:
                self._open = False
                self._error = ""
                yield from self._said()
            case "message_send_exception":
                self._open = False
                self._error = _sentence(as_text(properties.get("exception")))
                yield Entry("error", self._error)
            case "exit" if self._open:
                self._open = False
                self._error = _sentence(self._last())
                yield Entry("error", self._error)
            case _:
                pass

    def _line(self, text: str) -> Iterator[Entry]:
        if self._open:
            if self._size <= _KEPT:
                self._lines.append(shortened(text, TEXT))
                self._size += len(text) + 1
            return
        if text.startswith(_MALFORMED):
            self._error = _UNUSABLE
        if text.strip():
            self._noted = shortened(text, _NOTED)
            yield Entry("note", self._noted)

    def _said(self) -> Iterator[Entry]:
        lines = self._lines
        for number, line in enumerate(lines):
            if _AGAIN.fullmatch(line):
                lines = self._lines[number + 1 :]
        while lines and (not lines[-1].strip() or lines[-1].startswith(_USED)):
            lines = lines[:-1]
        thought, words = _parted(lines)
        if thought:
            yield Entry("think", thought)
        if words.startswith(_EMPTY):
            yield Entry("note", shortened(words, _NOTED))
            return
        self._answer = shortened(clean.visible(words), ANSWER)
        self._questions = asked(words)
        if words:
            yield Entry("say", words)

    def _last(self) -> str:
        """Return the last words of the program about a request that failed."""
        lines = [each for each in self._lines if each.strip()]
        lines = [each for each in lines if not _AGAIN.fullmatch(each)]
        return " ".join(lines[-2:])


def _parted(lines: list[str]) -> tuple[str, str]:
    """Return what the model thought and what it said."""
    if _THOUGHT not in lines or _ANSWERED not in lines:
        return "", "\n".join(lines).strip()
    begin, end = lines.index(_THOUGHT), lines.index(_ANSWERED)
    thought = [each for each in lines[begin + 1 : end] if not _RULE.fullmatch(each)]
    return "\n".join(thought).strip(), "\n".join(lines[end + 1 :]).strip()


def _sentence(text: str) -> str:
    return f"aider: {clean.sentence(text or 'an error', _NOTED)}"
