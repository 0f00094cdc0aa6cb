"""What a chat and whoever looks at it say to each other, a line of JSON a message.

A client connects to the chat's socket and sends `Hello`; then both speak when they have
something to say. Whoever connects sees the same conversation.

`Hello` is answered with a `Greeting`, the entries from `Greeting.first` on, each as
`Told`, and, while a turn of the model is under way, one `Delta` with its text so far.
The server sends a `Greeting` again, followed by the same, when the profile or the side
chat changes, and in place of what a client did not read in time (`UNREAD`).

A turn is told as `Delta`s and then `Told` with all of its text: what a client shows of
the deltas is not what counts.

`Say` is answered with `Sent` once its INPUT entry is durable, or with `Refused`. When
the turn that it was for is over, `Answered` follows. The same request again is
recorded once: `Sent`, and `Answered` too if that turn is over already.

`Rewind` that is not sure is answered with `Undone` alone. What else cannot be done is
answered with `Trouble`. A client may go at any time; the turn goes on.
"""

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from gitagent.core.conversation import Entry
from gitagent.core.plain import made, plain

LINE: Final = 1024 * 1024  # bytes of a message with its line feed
TEXT: Final = 80_000  # characters of what a person says at once; each up to 12 bytes
REQUEST: Final = 200  # characters of a request's id
UNREAD: Final = 100  # frames that wait for a client; with more it gets a greeting anew
NEWEST: Final = 60  # entries that a greeting is followed by, at most
END: Final = 2**53 - 1  # `Hello.since` of who wants no entries

_CUT: Final = "\n[cut: the whole is in the record]"


class MalformedError(ValueError):
    """A line is no message: why, in one sentence."""


class When(StrEnum):
    """What becomes of words that come while a turn runs."""

    FOLLOWUP = "followup"  # they begin the next turn
    STEER = "steer"  # the model gets them with the results of its next calls
    REJECT = "reject"  # they are refused


class State(StrEnum):
    """What a chat is doing."""

    IDLE = "idle"
    ASKING = "asking"  # the model
    WORKING = "working"  # a tool


@dataclass(frozen=True, slots=True)
class Hello:
    """What the client has already: entries up to ``since`` of the same side chat.

    0: none, and it wants the newest. A server whose side chat is another one sends the
    newest too.
    """

    since: int = 0
    side: int = 0


@dataclass(frozen=True, slots=True)
class Say:
    """Words of a person; ``request`` is made up by the client, once for these words."""

    text: str
    request: str
    when: When = When.FOLLOWUP


@dataclass(frozen=True, slots=True)
class Stop:
    """End the turn that runs; what is queued after it stays queued."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Turn the profile "plan" on or off."""

    on: bool


@dataclass(frozen=True, slots=True)
class Side:
    """Begin a side chat from here."""


@dataclass(frozen=True, slots=True)
class SideEnd:
    """End the side chat; ``inject``: a summary of it goes into the conversation."""

    inject: bool


@dataclass(frozen=True, slots=True)
class Rewind:
    """Go back to the entry ``to``; not ``sure``: only tell what cannot be undone."""

    to: int
    sure: bool = False


@dataclass(frozen=True, slots=True)
class Decide:
    """Confirm or turn down what the entry ``number`` proposes."""

    number: int
    yes: bool


@dataclass(frozen=True, slots=True)
class Bye:
    """The client goes."""


Request = Hello | Say | Stop | Plan | Side | SideEnd | Rewind | Decide | Bye


@dataclass(frozen=True, slots=True)
class Greeting:
    """Where the conversation is."""

    id: str
    entries: int  # number of the newest; 0: none
    state: State = State.IDLE
    profile: str = ""
    side: int = 0  # number of the side chat; 0: none
    first: int = 1  # number of the first entry that follows; entries + 1: none does


@dataclass(frozen=True, slots=True)
class Told:
    """An entry was recorded."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Delta:
    """The model says more; not in the record yet."""

    text: str


@dataclass(frozen=True, slots=True)
class Doing:
    """The state is another one now."""

    state: State


@dataclass(frozen=True, slots=True)
class Sent:
    """The words of a request are durable, as the entry ``number``."""

    request: str
    number: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The words of a request are not recorded, and will not be."""

    request: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The turn that a request was for is over."""

    request: str
    number: int  # of the SAY entry that answers; 0: there is none
    text: str = ""  # of that entry
    sentence: str = ""  # without an answer: why, for people


@dataclass(frozen=True, slots=True)
class Undone:
    """What going back to the entry ``to`` would not undo, each for people."""

    to: int
    effects: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something did not work; a sentence for people."""

    sentence: str


Frame = Greeting | Told | Delta | Doing | Sent | Refused | Answered | Undone | Trouble

_OPS: Final[dict[str, type]] = {
    "hello": Hello,
    "say": Say,
    "stop": Stop,
    "plan": Plan,
    "side": Side,
    "side_end": SideEnd,
    "rewind": Rewind,
    "decide": Decide,
    "bye": Bye,
}
_FRAMES: Final[dict[str, type]] = {
    "hello": Greeting,
    "entry": Told,
    "delta": Delta,
    "state": Doing,
    "sent": Sent,
    "refused": Refused,
    "answered": Answered,
    "effects": Undone,
    "error": Trouble,
}
# Their one field stands for all of them.
_BARE: Final[dict[type, str]] = {
    Told: "entry",
    Delta: "text",
    Doing: "state",
    Trouble: "sentence",
}
_NAMES: Final = {
    kind: name for names in (_OPS, _FRAMES) for name, kind in names.items()
}


def values_of(message: Request | Frame) -> dict[str, Any]:
    """Return a message as the JSON object that it is sent as."""
    values: dict[str, Any] = plain(message)
    name = _NAMES[type(message)]
    if isinstance(message, Request):
        return {"op": name} | values
    bare = _BARE.get(type(message))
    return {name: values if bare is None else values[bare]}


def request_of(values: dict[str, Any]) -> Request:
    """Return the client's message that an object is. Raises MalformedError."""
    rest = dict(values)
    name = rest.pop("op", None)
    kind = _OPS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise MalformedError(f"op is none of {', '.join(_OPS)}")
    request: Request = _of(kind, rest)
    _bounded(request)
    return request


def frame_of(values: dict[str, Any]) -> Frame:
    """Return the server's message that an object is. Raises MalformedError."""
    if len(values) != 1:
        raise MalformedError("a frame has one key")
    ((name, value),) = values.items()
    kind = _FRAMES.get(name)
    if kind is None:
        raise MalformedError(f"a frame is none of {', '.join(_FRAMES)}")
    if kind in _BARE:
        value = {_BARE[kind]: value}
    if not isinstance(value, dict):
        raise MalformedError(f"{name} is no object")
    frame: Frame = _of(kind, value)
    return frame


def encode_request(request: Request) -> bytes:
    """Return a client's message as a line. Raises MalformedError if it is too long."""
    _bounded(request)
    return _line(values_of(request))


def decode_request(line: bytes) -> Request:
    """Return the client's message that a line is. Raises MalformedError."""
    return request_of(_object(line))


def encode_frame(frame: Frame) -> bytes:
    """Return a server's message as a line; a text that is too long is cut."""
    try:
        return _line(values_of(frame))
    except MalformedError:
        return _line(values_of(_cut(frame)))


def decode_frame(line: bytes) -> Frame:
    """Return the server's message that a line is. Raises MalformedError."""
    return frame_of(_object(line))


def _bounded(request: Request) -> None:
    match request:
        case Say(text=text, request=known):
            if not text.strip():
                raise MalformedError("there are no words")
            if len(text) > TEXT:
                raise MalformedError(f"a text has at most {TEXT} characters")
            if not 0 < len(known) <= REQUEST:
                raise MalformedError(f"a request has 1 to {REQUEST} characters")
            # They cannot be written as UTF-8, into no record and to no model.
            if any("\ud800" <= each <= "\udfff" for each in text + known):
                raise MalformedError("a text holds half a character")
        case _:
            pass


def _cut(frame: Frame) -> Frame:
    most = LINE // 16  # a character takes at most 12 bytes, as two escaped halves
    match frame:
        case Told(entry=entry):
            kept = max(0, most // (len(entry.calls) + 2))
            calls = tuple(
                replace(c, given=_clipped(c.given, kept)) for c in entry.calls
            )
            shorter = replace(entry, text=_clipped(entry.text, kept), calls=calls)
            return Told(replace(shorter, what=_clipped(entry.what, 200)))
        case Delta(text=text):
            return Delta(_clipped(text, most))
        case Answered(text=text):
            return replace(frame, text=_clipped(text, most))
        case Undone(effects=effects):
            return replace(frame, effects=tuple(e[:200] for e in effects[:100]))
        case Refused(sentence=sentence) | Trouble(sentence=sentence):
            return replace(frame, sentence=_clipped(sentence, 2000))
        case _:
            return frame


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + _CUT


def _line(values: dict[str, Any]) -> bytes:
    try:
        data = json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # lone surrogates
        data = json.dumps(values).encode()
    if len(data) >= LINE:
        raise MalformedError(f"a message has at most {LINE} bytes")
    return data + b"\n"


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > LINE:
        raise MalformedError(f"a message has at most {LINE} bytes")
    try:
        values = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise MalformedError("a message is a line of JSON") from None
    if not isinstance(values, dict):
        raise MalformedError("a message is an object")
    return values


def _of(kind: type, values: dict[str, Any]) -> Any:  # noqa: ANN401 - of that kind
    try:
        # A record can gain keys, and a newer release lead the chat.
        return made(kind, values, lenient=(Entry,))
    except ValueError as error:
        raise MalformedError(str(error)) from None
