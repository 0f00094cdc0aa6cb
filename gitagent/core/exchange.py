"""One request to a model and its answer, as they are recorded.

Records of ``refs/gitagent/exchanges/<task>``, one chain a task: a step when a request
is about to go to a provider, and one when it is over. A request that has no second step
was under way when the daemon died; what it had reserved counts as spent.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from gitagent.core.usage import NOTHING, Usage


class Api(StrEnum):
    """What is asked for, by the path of the request."""

    MESSAGES = "messages"  # POST /v1/messages
    COUNT = "count_tokens"  # POST /v1/messages/count_tokens
    CHAT = "chat"  # POST /v1/chat/completions
    RESPONSES = "responses"  # POST /v1/responses
    EMBEDDINGS = "embeddings"  # POST /v1/embeddings; of the search, never an agent's


class State(StrEnum):
    """How far an exchange has come."""

    SENT = "sent"  # no end is recorded
    DONE = "done"  # a whole answer was passed on
    FAILED = "failed"  # see `failure`
    LEFT = "left"  # the agent went away before the end of the answer


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a request; all of them, in order, are its bytes."""

    oid: str  # blob
    size: int  # bytes
    path: str = ""  # JSON pointer of the value, such as "/messages/2/content/0"
    kind: str = ""  # "system", "tools", "text", "tool_use", "tool_result"; "": syntax
    producer: str = ""  # who put it there, for people
    tokens: int = 0  # its share of what the provider counted, by size


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer."""

    task: str
    attempt: int
    number: int  # from 1 within the attempt
    api: Api
    asked: str  # model that the agent asked for
    model: str  # "provider:model" that was asked in the end
    state: State
    started: str  # UTC
    ended: str = ""  # UTC; "" while it is under way
    failure: str = ""  # one of `core.failure.Failure`, "" if it did not fail
    reason: str = ""  # a sentence about the failure
    status: int | None = None  # HTTP status of the answer; None: none came
    tries: int = 0  # requests made of providers
    fallback: str = ""  # model before it that could not be had, and why
    reserved: Usage = NOTHING  # at most this was expected to be used
    usage: Usage = NOTHING  # from the provider's own usage entries
    blocks: tuple[Block, ...] = ()
    answer: str = ""  # blob of the answer's body as it was passed on; "": none
    content_type: str = ""  # of the answer
    # Of the task, up to and with this exchange; of requests that are under way, what
    # was reserved for them.
    spent: Usage = NOTHING
    day: str = ""  # UTC date that its usage belongs to
    spent_day: Usage = NOTHING  # of the task on that date, up to and with this one
    oid: str = field(default="", compare=False)  # record commit this was read from
