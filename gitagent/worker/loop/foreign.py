"""What a server of others says of its tools, made fit to be shown to a model.

All of it is somebody's text that a model will read and a provider will check: what is
too long, hides something, or is no schema of an object is not offered, with a sentence
why.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gitagent.files import clean

DESCRIPTION = 2000  # characters
SCHEMA = 16 * 1024  # bytes as JSON
_DEPTH = 24
_NAME = 200  # characters of a tool's own name
_PROPERTY = 64  # characters; more is refused by providers
_TYPES = frozenset(
    ("array", "boolean", "integer", "null", "number", "object", "string")
)
_ONE = ("items", "additionalProperties", "not", "contains", "propertyNames")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions")
# Providers refuse them at the top, and with them the whole request.
_NOT_ON_TOP = ("anyOf", "oneOf", "allOf", "not", "enum")


class Unfit(ValueError):
    """Why a tool is not offered."""


def name_of(said: object) -> str:
    """Return a tool's own name. Raises Unfit."""
    name = said.get("name") if isinstance(said, dict) else None
    if not isinstance(name, str) or not name.strip():
        raise Unfit("it has no name")
    if len(name) > _NAME or clean.line(name) != name:
        raise Unfit("its name is too long, or hides something")
    return name


def description(said: Mapping[str, Any]) -> str:
    """Return what a tool says of itself, visible and cut."""
    text = said.get("description")
    shown = clean.visible(text).strip() if isinstance(text, str) else ""
    return shown if len(shown) <= DESCRIPTION else shown[: DESCRIPTION - 1] + "…"


def schema(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, its texts visible. Raises Unfit."""
    given = said.get("schema")
    if not isinstance(given, dict) or given.get("type") != "object":
        raise Unfit("its schema is none of an object")
    for word in _NOT_ON_TOP:
        if word in given:
            raise Unfit(f"its schema has {word} at its top")
    _check(given, 0)
    made = {"properties": {}, **_visible(given)}
    made.pop("$schema", None)
    if len(json.dumps(made).encode()) > SCHEMA:
        raise Unfit(f"its schema has more than {SCHEMA // 1024} KiB")
    return made


def _check(given: object, depth: int) -> None:
    """Raise Unfit for what is no schema, or leads out of itself."""
    if depth > _DEPTH:
        raise Unfit("its schema is nested too deeply")
    if isinstance(given, bool):
        return
    if not isinstance(given, dict):
        raise Unfit("its schema holds something that is none")
    if why := _wrong(given):
        raise Unfit(f"its schema has {why}")
    for inner in _inner(given):
        _check(inner, depth + 1)


def _wrong(given: Mapping[str, Any]) -> str:
    """Return what in one schema is not as it has to be, those in it aside."""
    kinds = given.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in _TYPES:
            return "a type that is none"
    required = given.get("required", [])
    if not isinstance(required, list) or not all(isinstance(x, str) for x in required):
        return "a `required` that is no list of names"
    if not isinstance(given.get("enum", []), list):
        return "an `enum` that is no list"
    place = given.get("$ref", "#")
    if not isinstance(place, str) or not place.startswith("#"):
        return "a reference that leads elsewhere"
    properties = given.get("properties", {})
    if isinstance(properties, dict) and not all(map(_is_name, properties)):
        return "a property with an odd name"
    return ""


def _inner(given: Mapping[str, Any]) -> Iterator[object]:
    """Yield the schemas in one. Raises Unfit."""
    yield from (given[word] for word in _ONE if word in given)
    for word in _MANY:
        several = given.get(word, [])
        if not isinstance(several, list):
            raise Unfit(f"its schema has a {word} that is no list")
        yield from several
    for word in _NAMED:
        named = given.get(word, {})
        if not isinstance(named, dict):
            raise Unfit(f"its schema has {word} that are none")
        yield from named.values()


def _is_name(name: str) -> bool:
    fit = len(name) <= _PROPERTY and name.isascii()
    return fit and bool(name) and all(char.isalnum() or char in "_.-" for char in name)


def _visible(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    if depth > 2 * _DEPTH:
        raise Unfit("its schema is nested too deeply")
    if isinstance(value, str):
        return clean.visible(value)
    if isinstance(value, list):
        return [_visible(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {
            clean.line(name): _visible(each, depth + 1) for name, each in value.items()
        }
    return value
