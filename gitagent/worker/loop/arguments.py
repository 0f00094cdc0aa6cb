"""The arguments of a call, read so that a slip of the model shows what to mend."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gitagent.model.arguments import is_deep
from gitagent.worker.strictjson import BadForm, load, shown

LIMIT = 16 << 20  # bytes; a file to write is among them
DEEP = "its arguments are nested too deeply; write them flatter"
_NUMBER = 1 << 53  # beyond it not all readers of JSON have the same numbers

_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
}


def read(
    given: str, schema: Mapping[str, Any], *, strict: bool = True
) -> dict[str, Any]:
    """Return the arguments that a call gives; none at all are an empty object.

    An optional one that is null is left out, as some models write them all. Not
    ``strict``: it only has to be an object, since somebody else looks at the rest.

    Raises:
        BadForm: with one sentence, without its end, that says what to change.
    """
    data = (given.strip() or "{}").encode("utf-8", "backslashreplace")
    known = list(schema.get("properties", {}))
    values = load(data, LIMIT, known) if strict else _any(data)
    if is_deep(values):
        raise BadForm(DEEP)
    return _object(values, schema, "") if strict else values


def _any(data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise BadForm("its arguments are not JSON; write one object") from None
    if not isinstance(values, dict):
        raise BadForm("its arguments are no object; write one between { and }")
    return values


def _object(
    values: Mapping[str, Any], schema: Mapping[str, Any], where: str
) -> dict[str, Any]:
    known = schema.get("properties", {})
    needed = schema.get("required", ())
    kept = {
        key: value
        for key, value in values.items()
        if value is not None or key in needed
    }
    inside = f" of {where}" if where else ""
    for key in kept:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            mend = f"did you mean {near[0]}?" if near else f"known: {_list([*known])}"
            raise BadForm(f"{shown(key)}{inside} is not known; {mend}")
    for key in needed:
        if key not in kept:
            raise BadForm(f"`{key}`{inside} is missing; it has to be given")
    return {
        key: _value(value, known[key], f"`{key}`{inside}")
        for key, value in kept.items()
    }


def _value(value: object, schema: Mapping[str, Any], where: str) -> Any:  # noqa: ANN401
    kind = schema.get("type")
    if kind is not None:
        types, named = _KINDS[kind]
        mistaken = isinstance(value, bool) and kind != "boolean"
        if mistaken or not isinstance(value, types):
            raise BadForm(f"{where} has to be {named}, not {shown(value)}")
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        raise BadForm(f"{where} has to be one of {_list(allowed)}, not {shown(value)}")
    if isinstance(value, int) and abs(value) > _NUMBER:
        raise BadForm(f"{where} is too large a number")
    least = schema.get("minimum")
    if least is not None and isinstance(value, int | float) and value < least:
        raise BadForm(f"{where} has to be at least {least}, not {shown(value)}")
    if isinstance(value, dict) and "properties" in schema:
        return _object(value, schema, where)
    if isinstance(value, list):
        most = schema.get("maxItems")
        if most is not None and len(value) > most:
            raise BadForm(f"{where} has {len(value)} items; at most {most} are taken")
        items = schema.get("items", {})
        return [
            _value(item, items, f"item {number} of {where}")
            for number, item in enumerate(value, 1)
        ]
    return value


def _list(names: Sequence[object]) -> str:
    return ", ".join(map(str, names)) or "nothing"
