"""How a request to a model can fail, and what is done about each kind.

The table is all there is to it: which kinds are tried again, whether the provider's own
word on how long to wait counts, and whether a model of ``model.fallback`` may stand in.
"""

from dataclasses import dataclass
from enum import StrEnum

TRIES = 3  # in all, of one request at one provider
FIRST_S = 2.0  # before the second try; doubled for each further one
LONGEST_S = 60.0
PATIENCE_S = 120.0  # a provider that asks for more is left alone, and so are others


class Failure(StrEnum):
    """What went wrong with a request."""

    RATE_LIMITED = "rate_limited"  # 429
    OVERLOADED = "overloaded"  # 529
    TIMEOUT = "timeout"  # 408
    SERVER = "server"  # any other 5xx
    UNREACHABLE = "unreachable"  # no connection, or it broke before an answer began
    HUNG = "hung"  # it stopped talking
    CUT = "cut"  # the stream ended before its end
    GARBAGE = "garbage"  # what came is not of the API
    OVERFLOW = "overflow"  # the context does not fit into the model
    AUTH = "auth"  # 401, 403: the key is missing, wrong, or may not do this
    FUNDS = "funds"  # 402, or a 400 that says so: nothing is left on the account
    INVALID = "invalid"  # any other 4xx


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done about a failure."""

    retry: bool  # before anything of an answer was passed on
    told: bool = False  # the provider's own word on how long to wait counts
    fallback: bool = False  # when tries are used up, another model may stand in
    holds: bool = False  # further attempts wait too, until the provider's word is over


RULES: dict[Failure, Rule] = {
    Failure.RATE_LIMITED: Rule(retry=True, told=True, fallback=True, holds=True),
    Failure.OVERLOADED: Rule(retry=True, told=True, fallback=True, holds=True),
    Failure.TIMEOUT: Rule(retry=True, fallback=True),
    Failure.SERVER: Rule(retry=True, told=True, fallback=True),
    Failure.UNREACHABLE: Rule(retry=True, fallback=True),
    Failure.HUNG: Rule(retry=False, fallback=True),
    Failure.CUT: Rule(retry=False),
    Failure.GARBAGE: Rule(retry=True, fallback=True),
    Failure.OVERFLOW: Rule(retry=False),
    Failure.AUTH: Rule(retry=False),
    Failure.FUNDS: Rule(retry=False),
    Failure.INVALID: Rule(retry=False),
}
