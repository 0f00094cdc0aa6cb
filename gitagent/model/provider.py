"""A language model as the loop sees it, whichever API its provider speaks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from gitagent.core.conversation import Call
from gitagent.host.cancel import Cancel


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is offered."""

    name: str
    description: str
    schema: dict[str, Any]  # JSON Schema of its arguments


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of a call, as the model reads it."""

    call: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the context: the user's words and results, or the model's turn."""

    role: str  # "user" or "assistant"
    text: str = ""
    results: tuple[Answered, ...] = ()  # user; they come before the text
    calls: tuple[Call, ...] = ()  # assistant
    api: str = ""  # assistant: the API whose form `raw` has
    raw: bytes = b""  # assistant: its own content blocks as JSON; b"": not kept


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()  # (): it may call none
    most: int = 8192  # tokens of the answer
    taken: frozenset[str] = frozenset()  # ids of calls out of the context too


class Stop(StrEnum):
    """Why an answer ended."""

    END = "end"
    CALLS = "calls"  # it wants tools
    LENGTH = "length"  # it was cut at `most`
    REFUSAL = "refusal"
    RUNAWAY = "runaway"  # cut off by us: an argument without end
    CANCELLED = "cancelled"  # cut off by us: a person stopped it


class Wrong(StrEnum):
    """Why there is no answer."""

    OVERFLOW = "overflow"  # the context is too long
    BUDGET = "budget"
    TOOLS = "capability_missing"  # tools are offered to one that knows none
    CUT = "cut"  # the answer did not come whole; asking again may help
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Turn:
    """A whole answer."""

    text: str
    calls: tuple[Call, ...] = ()
    stop: Stop = Stop.END
    raw: bytes = b""  # content blocks as JSON, for the same API; b"": cannot be reused
    counted: int = 0  # tokens of context and answer, by the provider; 0: not told


@dataclass(frozen=True, slots=True)
class NoTurn:
    """There is none."""

    wrong: Wrong
    sentence: str
    partial: str = ""  # text that had come
    failure: str = ""  # one of `core.failure.Failure`, if it was one of the provider's


@dataclass(frozen=True, slots=True)
class Heard:
    """Who is told of an answer while it comes."""

    text: Callable[[str], None] = field(default=lambda _: None)


class Provider(Protocol):
    """Asks one model; for one thread at a time."""

    tools: bool  # whether its model can be offered tools; see `failing.lacking`

    def ask(self, ask: Ask, heard: Heard, cancel: Cancel) -> Turn | NoTurn:
        """Ask and return the answer, or why there is none. Never raises for those."""
        ...

    def close(self) -> None:
        """Close its connections; more than once is harmless."""
        ...
