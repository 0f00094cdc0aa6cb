"""What the process of the built-in agent is told, as one line of JSON on its input."""

import json
from dataclasses import dataclass, field

from gitagent.core import plain
from gitagent.core.exposure import Received
from gitagent.core.question import Answer
from gitagent.core.reach import Facts
from gitagent.core.settings import Hook, Loop, Mcp
from gitagent.host.confinement import Confinement


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of the prompt, with who put it there."""

    producer: str
    text: str


@dataclass(frozen=True, slots=True)
class Way:
    """How a model is reached: through the gateway's socket, which has the key."""

    api: str  # core.models.ANTHROPIC or OPENAI
    model: str  # name that is asked for
    shown: str  # "provider:model"
    socket: str  # path on the host
    token: str  # of this attempt
    mends: dict[str, str] = field(default_factory=dict)  # for a person, by failure


@dataclass(frozen=True, slots=True)
class Spec:
    """One stretch of one conversation: an attempt at a task, or an open chat."""

    repository: str  # path of the common Git directory
    conversation: str  # below `layout.CONVERSATIONS`: the task, or "_<id>" of a chat
    attempt: int
    agent: str
    way: Way
    owner: str  # of what the engine starts; see `LocalEngine`
    confinement: Confinement  # what the bodies of tools see
    facts: Facts  # what the gate judges by
    loop: Loop
    profile: str = ""  # "" or the name of one of `core.profile.PROFILES`
    tools: tuple[str, ...] = ()  # of the definition; empty: all that the grants allow
    decide: tuple[str, ...] = ()  # effects that a person has to allow each time
    mcp: dict[str, Mcp] = field(default_factory=dict)
    hooks: tuple[Hook, ...] = ()
    system: tuple[Words, ...] = ()  # what stands before the conversation
    prompt: tuple[Words, ...] = ()  # what this stretch begins with; binding
    items: tuple[Received, ...] = ()  # of the memory, that the prompt tells
    goes_on: bool = False  # whether what was said before stays in the context
    answers: tuple[Answer, ...] = ()  # of people, that decide what the gate asks
    untrusted: tuple[str, ...] = ()  # origins of others' words that it goes on from
    seconds: int = 1800  # that it may take
    given: str = ""  # host folder of what the daemon hands over
    out: str = ""  # host folder for return.json and question.json
    chat: str = ""  # path of the socket to serve people on; "": an attempt at a task


def dump(spec: Spec) -> bytes:
    """Return it as a line, without its end."""
    return json.dumps(plain.plain(spec)).encode()


def load(line: bytes) -> Spec:
    """Return what `dump` made a line of."""
    made: Spec = plain.made(Spec, json.loads(line))
    return made
