"""How a request to a model can fail, and what is done about each kind.

Two tables are all there is to it. `SIGNS` tells a failure by what came. `RULES` says
which kinds are tried again, whether the provider's own word on how long to wait counts,
and whether a model of ``model.fallback`` may stand in.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

TRIES = 3  # in all, of one request at one provider
FIRST_S = 2.0  # before the second try; doubled for each further one
LONGEST_S = 60.0
PATIENCE_S = 120.0  # a provider that asks for more is left alone, and so are others

_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


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
    FUNDS = "funds"  # 402, or a 400 or 429 that says so: the account is empty
    NO_MODEL = "no_model"  # the provider has no model of that name
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
    Failure.NO_MODEL: Rule(retry=False),
    Failure.INVALID: Rule(retry=False),
}


@dataclass(frozen=True, slots=True)
class Sign:
    """What an answer that is none looks like; the first that fits counts."""

    failure: Failure
    statuses: frozenset[int] = frozenset()  # empty: any
    names: frozenset[str] = frozenset()  # the error's type or code; empty: any
    words: tuple[str, ...] = ()  # one of them is in its message; empty: any


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A status says less than the error's name: openai tells by 429 that an account is
# empty, anthropic by 400. The last rows are for providers that name nothing.
SIGNS: tuple[Sign, ...] = (
    Sign(
        Failure.FUNDS,
        names=_names("insufficient_quota billing_error billing_not_active"),
    ),
    Sign(Failure.FUNDS, words=("credit balance is too low",)),
    Sign(Failure.FUNDS, statuses=frozenset({402})),
    Sign(
        Failure.OVERFLOW,
        names=_names(
            "context_length_exceeded request_too_large exceed_context_size_error"
        ),
    ),
    Sign(
        Failure.OVERFLOW,
        statuses=frozenset({200, 400, 413, 422, 500}),
        words=(
            "prompt is too long",
            "maximum context length",
            "exceed context limit",
            "context window",
            "available context size",
        ),
    ),
    Sign(Failure.OVERFLOW, statuses=frozenset({413})),
    Sign(Failure.OVERLOADED, statuses=frozenset({529})),
    Sign(Failure.OVERLOADED, names=_names("overloaded_error server_is_overloaded")),
    Sign(Failure.RATE_LIMITED, statuses=frozenset({429})),
    Sign(Failure.RATE_LIMITED, names=_names("rate_limit_error rate_limit_exceeded")),
    Sign(Failure.TIMEOUT, statuses=frozenset({408})),
    Sign(
        Failure.AUTH,
        names=_names("authentication_error permission_error invalid_api_key"),
    ),
    Sign(Failure.AUTH, statuses=frozenset({401, 403})),
    Sign(Failure.SERVER, statuses=frozenset(range(500, 600))),
    Sign(Failure.NO_MODEL, names=_names("model_not_found")),
    Sign(Failure.NO_MODEL, statuses=frozenset({404}), words=("model",)),
    Sign(Failure.INVALID, statuses=frozenset(range(300, 500))),
    Sign(Failure.TIMEOUT, names=_names("timeout_error timeout")),
    Sign(
        Failure.INVALID,
        names=_names("invalid_request_error not_found_error"),
    ),
    Sign(Failure.SERVER),
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a provider says of an error."""

    names: frozenset[str] = frozenset()  # its type and code
    message: str = ""


def said(body: bytes) -> Said:
    """Return what an error's body says, in any of the forms that providers use."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Said()
    names: set[str] = set()
    message = ""
    # The error is the body, or in it, or in the response that failed.
    for _ in range(3):
        if isinstance(value, str):
            message = value
        if not isinstance(value, dict):
            break
        found = (value.get("type"), value.get("code"))
        names |= {each for each in found if isinstance(each, str)}
        text = value.get("message") or value.get("detail")
        message = text if isinstance(text, str) else message
        value = value.get("error") or value.get("response")
    return Said(frozenset(names), message)


def classify(status: int, what: Said) -> Failure:
    """Return what went wrong by an answer's status (200: an event of a stream)."""
    message = what.message.lower()
    for sign in SIGNS:
        if (
            (not sign.statuses or status in sign.statuses)
            and (not sign.names or sign.names & what.names)
            and (not sign.words or any(each in message for each in sign.words))
        ):
            return sign.failure
    return Failure.SERVER


def told(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that a provider asks to wait; None: it says nothing.

    Names of headers are in lower case.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "").strip()
        if _SECONDS.fullmatch(value):
            return float(value) / unit
    value = headers.get("retry-after", "").strip()
    try:
        # The C locale's names of days and months, which Python has unless told else.
        date = datetime.strptime(value, "%a, %d %b %Y %H:%M:%S GMT")  # noqa: DTZ007
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=UTC) - now).total_seconds())


def pause(rule: Rule, tried: int, asked: float | None) -> float | None:
    """Return the seconds before the next try; None: there is none.

    ``tried`` counts the tries made, ``asked`` is the provider's word.
    """
    if not rule.retry or tried >= TRIES:
        return None
    if rule.told and asked:
        return None if asked > PATIENCE_S else asked
    doubled: float = FIRST_S * 2 ** (tried - 1)
    return min(LONGEST_S, doubled)
