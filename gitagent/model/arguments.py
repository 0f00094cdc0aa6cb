"""The arguments and the id of a call, as they come from a model and go back to one.

Arguments that are no JSON object reach the executor as they came: it says what is wrong
with them. But no API takes them back like that, and a gateway refuses a body that
readers understand differently; so what goes back is an object in every case.
"""

import json
import re
import secrets
from typing import Any, NoReturn

_DEEPEST = 100  # levels; a reader of JSON gives up at some depth, and each at another
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME = 64  # characters of a name that every API takes


def parsed(given: str) -> dict[str, Any] | None:
    """Return the arguments of a call; None: they are no JSON object."""
    if not given.strip():
        return {}
    try:
        value = json.loads(
            given, object_pairs_hook=_object, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not is_deep(value) else None


def sent(given: str) -> dict[str, Any]:
    """Return an object for arguments that go back to a model, whatever they are."""
    value = parsed(given)
    return {"arguments": given} if value is None else value


def ident(wanted: object, taken: set[str]) -> str:
    """Return an id for a call that its conversation has not had, and take it.

    Some providers number the calls of each answer anew, and some give no ids.
    """
    if isinstance(wanted, str) and _ID.fullmatch(wanted) and wanted not in taken:
        found = wanted
    else:
        found = f"call_{secrets.token_hex(12)}"
    taken.add(found)
    return found


def name(wanted: object) -> str:
    """Return the name of a tool that a call can go back with, whatever it calls.

    An API refuses any other, and with it the whole conversation from then on.
    """
    return _NO_NAME.sub("_", str(wanted).strip()[:_NAME]) or "unnamed"


def body(value: dict[str, Any]) -> bytes:
    """Return a request as it is sent; half a surrogate pair becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has one key twice")
    return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def is_deep(value: object) -> bool:
    """Whether a value is nested so deeply that who reads or writes it may give up."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
