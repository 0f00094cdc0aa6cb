"""What an answer of a provider tells: what it used, and whether it is whole.

Source: Anthropic Messages API; OpenAI chat completions and responses APIs; the HTML
standard, section 9.2 (event streams).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from gitagent.core.exchange import Api

LARGEST_EVENT = 16 * 1024 * 1024  # bytes
_LARGEST = 10**12  # tokens; a provider that tells more means something else
_BYTES = 4  # of text a token has, where a provider has not told yet

_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens, as `core.usage.priced` takes them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Event(Enum):
    """What an event is, or a whole body."""

    PART = auto()  # of an answer
    LAST = auto()  # the answer is whole; more may follow
    USAGE = auto()  # of a chat: usage and nothing else
    NEUTRAL = auto()  # nothing of an answer, such as a ping
    ERROR = auto()
    GARBAGE = auto()  # not of the API


class Splitter:
    """Cuts a stream of server-sent events into events; their bytes stay as they are."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._looked = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the events that are whole, each with its blank line."""
        self._buffer += data
        while found := _BLANK.search(self._buffer, self._looked):
            if found.end() == len(self._buffer) and found[0].endswith(b"\r"):
                # The line feed of its line end may still come.
                return
            event = bytes(self._buffer[: found.end()])
            del self._buffer[: found.end()]
            self._looked = 0
            yield event
        self._looked = max(0, len(self._buffer) - 3)

    @property
    def size(self) -> int:
        """How many bytes belong to an event that is not whole."""
        return len(self._buffer)

    @property
    def rest(self) -> bytes:
        """Those bytes."""
        return bytes(self._buffer)


class Meter:
    """Reads one answer, event by event or as a whole body."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._told: Counts | None = None
        self._said = 0  # bytes of text
        self._closing = False  # of a chat: a reason for its end was told
        self.begun = False
        self.complete = False
        self.error = b""  # body of an error that came as an event

    def event(self, raw: bytes) -> Event:
        """Take one event of a stream."""
        text = _data(raw)
        if text is None:
            return Event.NEUTRAL
        if self._api is Api.CHAT and text.strip() == "[DONE]":
            if not self.begun:
                return Event.GARBAGE
            self.complete = True
            return Event.LAST
        value = _object(text)
        if value is None:
            return Event.GARBAGE
        what = _EVENTS[self._api](self, value)
        if what is Event.ERROR:
            self.error = text.encode("utf-8", "replace")
        elif what is Event.LAST:
            self.complete = True
        return what

    def whole(self, body: bytes) -> bool:
        """Take a body that is no stream; False: it is not of the API."""
        value = _object(body)
        if value is None or not _is_answer(self._api, value):
            return False
        self.begun = self.complete = True
        self._said = len(body)
        self._usage(value.get("usage"))
        return True

    def ended(self) -> None:
        """Take the end of a stream, which some servers of chats give without a mark."""
        self.complete = self.complete or self._closing

    def counts(self, most_in: int) -> Counts:
        """Return what was used so far; what is not told is put at what passed.

        ``most_in`` is the estimate of the input.
        """
        if self._api is Api.COUNT:
            return Counts()
        said = self._said // _BYTES
        if self._told is None:
            return Counts(most_in, said)
        told = self._told
        if self.complete:
            return told
        return Counts(
            told.input, max(told.output, said), told.cache_read, told.cache_write
        )

    def _messages(self, value: dict[str, Any]) -> Event:
        kind = value.get("type")
        if kind == "error":
            return Event.ERROR
        if kind == "ping":
            return Event.NEUTRAL
        if not self.begun:
            message = value.get("message")
            if kind != "message_start" or not isinstance(message, dict):
                return Event.GARBAGE
            self.begun = True
            self._usage(message.get("usage"))
        elif kind == "message_delta":
            self._usage(value.get("usage"))
        elif kind == "content_block_delta":
            self._hear(value.get("delta"), "text", "partial_json", "thinking")
        return Event.LAST if kind == "message_stop" else Event.PART

    def _chat(self, value: dict[str, Any]) -> Event:
        if value.get("error"):
            return Event.ERROR
        choices = value.get("choices")
        if not isinstance(choices, list):
            return Event.PART if self.begun else Event.GARBAGE
        self.begun = True
        self._usage(value.get("usage"))
        if not choices and isinstance(value.get("usage"), dict):
            return Event.USAGE
        for choice in choices:
            if not isinstance(choice, dict):
                continue
            self._closing = self._closing or bool(choice.get("finish_reason"))
            delta = choice.get("delta")
            self._hear(delta, "content", "reasoning_content", "reasoning")
            calls = delta.get("tool_calls") if isinstance(delta, dict) else None
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    self._hear(call.get("function"), "arguments")
        return Event.PART

    def _responses(self, value: dict[str, Any]) -> Event:
        kind = value.get("type")
        response = value.get("response")
        if isinstance(response, dict):
            self._usage(response.get("usage"))
        if kind in ("error", "response.failed"):
            return Event.ERROR
        if not isinstance(kind, str) or not (self.begun or kind.startswith("response")):
            return Event.GARBAGE
        self.begun = True
        self._hear(value, "delta")
        last = kind in ("response.completed", "response.incomplete")
        return Event.LAST if last else Event.PART

    def _hear(self, value: object, *names: str) -> None:
        if isinstance(value, dict):
            for name in names:
                text = value.get(name)
                if isinstance(text, str):
                    self._said += len(text.encode("utf-8", "replace"))

    def _usage(self, value: object) -> None:
        """Take a usage entry; a later one counts for what it names."""
        if not isinstance(value, dict):
            return
        old = self._told or Counts()
        if self._api is Api.MESSAGES:
            self._told = Counts(
                _number(value, "input_tokens", old.input),
                _number(value, "output_tokens", old.output),
                _number(value, "cache_read_input_tokens", old.cache_read),
                _number(value, "cache_creation_input_tokens", old.cache_write),
            )
            return
        words = ("prompt", "completion") if self._api is Api.CHAT else _IN_AND_OUT
        all_in = _number(value, f"{words[0]}_tokens", old.input + old.cache_read)
        details = value.get(f"{words[0]}_tokens_details")
        known = details if isinstance(details, dict) else {}
        cached = min(_number(known, "cached_tokens", old.cache_read), all_in)
        out = _number(value, f"{words[1]}_tokens", old.output)
        self._told = Counts(all_in - cached, out, cached)


_IN_AND_OUT = ("input", "output")
_EVENTS: Mapping[Api, Callable[[Meter, dict[str, Any]], Event]] = {
    Api.MESSAGES: Meter._messages,  # noqa: SLF001 - their table
    Api.CHAT: Meter._chat,  # noqa: SLF001
    Api.RESPONSES: Meter._responses,  # noqa: SLF001
}


def _is_answer(api: Api, value: dict[str, Any]) -> bool:
    match api:
        case Api.MESSAGES:
            return value.get("type") == "message"
        case Api.COUNT:
            return isinstance(value.get("input_tokens"), int)
        case Api.CHAT:
            return isinstance(value.get("choices"), list)
        case Api.RESPONSES:
            return value.get("object") == "response"
        case Api.EMBEDDINGS:
            return isinstance(value.get("data"), list)


def _data(raw: bytes) -> str | None:
    """Return the data of an event; None: it has none."""
    lines = [
        line[5:].removeprefix(" ")
        for line in re.split(r"\r\n|\n|\r", raw.decode("utf-8", "replace"))
        if line.startswith("data:")
    ]
    if not lines and not _is_stream(raw):
        return ""
    return "\n".join(lines) if lines else None


def _is_stream(raw: bytes) -> bool:
    """Whether each line is a comment or a field."""
    return all(
        not line or line.startswith((b":", b"event:", b"id:", b"retry:"))
        for line in re.split(rb"\r\n|\n|\r", raw)
    )


def _object(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _number(value: Mapping[str, Any], name: str, default: int) -> int:
    number = value.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        return default
    return min(number, _LARGEST)
