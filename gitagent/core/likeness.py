"""Whether two requests to a model are the same but for what no two runs share.

Times, durations, ports, temporary paths, and ids that are made up anew or follow from
the time (sessions, commits) differ in every run of the same agent.
"""

import json
import re

from gitagent.core.exchange import Api
from gitagent.core.manifest import split

_SHOWN = 60  # characters of each side of a difference
_BLANK = "…"

_VOLATILE = re.compile(
    r"""
    \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b             # uuid
    | (?<![0-9A-Za-z])(?:ses|session|thread|sess|user)_[0-9A-Za-z_-]{8,}
    | \b(?=[a-f]*[0-9])[0-9a-f]{7,64}\b                         # object id, digest
    | \b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[ ]?[+-]\d\d:?\d\d)?)?
    | \b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?[ ])?
      (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[ ]+\d{1,2}\b
      (?:,?[ ]\d{4}\b)?
    | \b\d{1,2}/\d{1,2}/\d{4}\b
    | \b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:[ ]?[AP]M)?\b        # time of day
    | \b\d+(?:\.\d+)?[ ]?(?:ms|s|seconds?|milliseconds?)\b
    | (?<=127\.0\.0\.1:)\d+ | (?<=localhost:)\d+ | (?<=\[::1\]:)\d+
    | /(?:var/)?tmp/[^\s"'\\:,;)\]}]*
    """,
    re.VERBOSE,
)


def normal(text: str) -> str:
    """Return a text with all that differs from run to run left blank."""
    return _VOLATILE.sub(_BLANK, text)


def normal_body(body: bytes) -> str:
    """Return a request with what differs from run to run left blank.

    So is the name of its model: another one may have stood in.
    """
    try:
        value = json.loads(body)
        if isinstance(value, dict):
            value.pop("model", None)
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (ValueError, RecursionError):
        text = body.decode(errors="replace")
    return normal(text)


def messages(body: bytes) -> int:
    """Return how many messages a request has."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return 0
    if not isinstance(value, dict):
        return 0
    found = value.get("messages", value.get("input"))
    return len(found) if isinstance(found, list) else 1


def difference(recorded: bytes, now: bytes, api: Api) -> str:
    """Return where two requests begin to differ, in words."""
    old, new = _pieces(recorded, api), _pieces(now, api)
    for path in dict.fromkeys([*new, *old]):
        one, other = old.get(path), new.get(path)
        if one == other:
            continue
        if one is None:
            return f"{path} is new: {_short(other or '', 0)}"
        if other is None:
            return f"{path} is not there: {_short(one, 0)}"
        at = next(
            (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
            min(len(one), len(other)),
        )
        return f"{path} was {_short(one, at)} and is {_short(other, at)}"
    return "what is around its messages"


def _pieces(body: bytes, api: Api) -> dict[str, str]:
    return {
        span.path: normal(body[span.start : span.end].decode(errors="replace"))
        for span in split(body, api)
        if span.kind
    }


def _short(text: str, at: int) -> str:
    begin = max(0, at - _SHOWN // 3)
    part = text[begin : begin + _SHOWN]
    head, tail = "…" * bool(begin), "…" * (begin + _SHOWN < len(text))
    return f"`{head}{part}{tail}`"
