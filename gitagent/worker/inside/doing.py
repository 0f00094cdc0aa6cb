"""One call that is carried out inside, and how its output gets out.

A writer sends what all calls have to say. Output that comes in drops is joined, so
that a program that prints single characters does not cost a message for each.
"""

import base64
import queue
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitagent.host.cancel import Cancel
from gitagent.host.channel import Channel, Message

Given = dict[str, Any]
Said = tuple[bytes, str]  # last words of a call, and how it ended

DONE, FAILED, INTERRUPTED, UNCERTAIN = "done", "failed", "interrupted", "uncertain"

OUTPUT = 16 << 20  # bytes of a call's output that are sent
LAST = 64 << 10  # of them for its last words, which say how it ended
_PIECE = 64 << 10  # bytes of one message
_JOINED_S = 0.05  # for more output to come, before it is sent


class Slip(Exception):
    """A sentence to the model: what was wrong with its call."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where calls are carried out."""

    root: Path  # the worktree, without links
    confined: bool  # False: nothing but gitagent itself keeps them in it


class Mouth:
    """Sends what calls say; for any thread."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._waiting: deque[tuple[int, bytes | Message]] = deque()
        self._change = threading.Condition()
        self._urgent = False

    def say(self, number: int, what: bytes | Message) -> None:
        """Let a call's output, or a message of it, be sent soon and in this order."""
        with self._change:
            self._waiting.append((number, what))
            self._urgent = self._urgent or not isinstance(what, bytes)
            self._change.notify()

    def serve(self) -> None:
        """Send until nobody listens any more."""
        try:
            while True:
                with self._change:
                    self._change.wait_for(lambda: self._waiting)
                    self._change.wait_for(lambda: self._urgent, _JOINED_S)
                    batch, self._waiting = self._waiting, deque()
                    self._urgent = False
                for message in _messages(batch):
                    self._channel.send(message)
        except OSError:
            self._channel.close()


def _messages(batch: deque[tuple[int, bytes | Message]]) -> list[Message]:
    found: list[Message] = []
    pieces: dict[int, bytearray] = {}

    def flush(number: int) -> None:
        data = pieces.pop(number, b"")
        found.extend(
            {"id": number, **_output(bytes(data[at : at + _PIECE]))}
            for at in range(0, len(data), _PIECE)
        )

    for number, what in batch:
        if isinstance(what, bytes):
            pieces.setdefault(number, bytearray()).extend(what)
        else:
            flush(number)
            found.append({"id": number, **what})
    for number in [*pieces]:
        flush(number)
    return found


def _output(data: bytes) -> Message:
    try:
        return {"out": data.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode()}


class Doing:
    """What the body of a tool knows of its call."""

    def __init__(self, call: Message, place: Place, mouth: Mouth) -> None:
        self.number: int = call["id"]
        self.seconds = float(call["seconds"])
        self.key = str(call.get("key", ""))
        self.token = str(call.get("token", ""))
        self.place = place
        self.cancel = Cancel()
        self._mouth = mouth
        self._room = OUTPUT - LAST
        self._dropped = 0
        self._answers: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()

    def say(self, data: bytes) -> None:
        """Print; what is too much is counted."""
        kept = data[: self._room]
        self._room -= len(kept)
        self._dropped += len(data) - len(kept)
        if kept:
            self._mouth.say(self.number, kept)

    def end(self, words: bytes, how: str) -> None:
        """Say the last words and how it ended, once."""
        if len(words) > LAST:
            self.say(words)
            words = b""
        if words:
            self._mouth.say(self.number, words)
        self._mouth.say(self.number, {"end": how, "dropped": self._dropped})
        self.answer("The call is over.", ok=False)

    def ask(self, number: int, token: str, tool: str, given: Given) -> tuple[str, bool]:
        """Have another call made by the executor; return what comes of it.

        For one thread of the call at a time.
        """
        asked = {"ask": number, "token": token, "tool": tool, "given": given}
        self._mouth.say(self.number, asked)
        return self._answers.get()

    def answer(self, text: str, *, ok: bool) -> None:
        """Give `ask` its answer."""
        self._answers.put((text, ok))


def text(given: Given, key: str, default: str | None = None) -> str:
    """Return a text of the arguments. Raises Slip."""
    value = given.get(key, default)
    if value is None:
        raise Slip(f"`{key}` is missing.")
    if not isinstance(value, str):
        raise Slip(f"`{key}` has to be a text.")
    if "\0" in value and key != "content":
        raise Slip(f"`{key}` has a NUL byte in it.")
    return value


def number(given: Given, key: str, default: int, most: int) -> int:
    """Return a whole number from 1 to ``most`` of the arguments. Raises Slip."""
    value = given.get(key)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 1:
        raise Slip(f"`{key}` has to be a whole number from 1 on.")
    return int(min(value, most))


def utf8(words: str) -> bytes:
    """Return UTF-8; names that are none are the bytes that they were.

    Half a character, which a model can write and no file can hold, becomes its escape.
    """
    try:
        return words.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return words.encode("utf-8", "backslashreplace")


def count(how_many: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{how_many:,} {what}{'' if how_many == 1 else 's'}"
