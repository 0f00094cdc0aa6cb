"""Values as plain JSON and back, strictly: of messages between processes.

Records have a reader of their own, `files.record`, made for thousands of them.
"""

from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

MOST: Final = 2**53 - 1  # of a number; beyond it readers of JSON differ

_Read = Callable[[Any, str], Any]  # of a value and its name; raises ValueError


def plain(value: Any) -> Any:  # noqa: ANN401 - a value of ours to JSON
    """Return a dataclass as a dict, a tuple as a list, a word of an enum as a str."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value.value if isinstance(value, StrEnum) else value


def made(kind: type, values: dict[str, Any], lenient: Collection[type] = ()) -> Any:  # noqa: ANN401
    """Return the dataclass ``kind`` that JSON values stand for.

    What is not there has its default. Numbers are from 0 to MOST. Keys that are not
    known are passed over in the ``lenient`` ones only.

    Raises:
        ValueError: They are of no such value; the message is one line.
    """
    readers = _readers(kind, tuple(lenient))
    if kind not in lenient and (strange := values.keys() - readers.keys()):
        raise ValueError(f"there is no {min(strange)[:40]!r} in a {kind.__name__}")
    given = {
        name: read(values[name], name)
        for name, read in readers.items()
        if name in values
    }
    try:
        return kind(**given)
    except TypeError:
        raise ValueError(f"a {kind.__name__} is not whole") from None


@cache
def _readers(kind: type, lenient: tuple[type, ...]) -> dict[str, _Read]:
    hints = get_type_hints(kind)
    return {each.name: _reader(hints[each.name], lenient) for each in fields(kind)}


def _reader(hint: Any, lenient: tuple[type, ...]) -> _Read:  # noqa: ANN401 - a type
    if get_origin(hint) is UnionType:
        (inner,) = [each for each in get_args(hint) if each is not NoneType]
        known = _reader(inner, lenient)
        return lambda value, name: None if value is None else known(value, name)
    if get_origin(hint) is tuple:
        item = _reader(get_args(hint)[0], lenient)
        return lambda value, name: tuple(
            item(each, name) for each in _typed(value, name, list)
        )
    if get_origin(hint) is dict:
        each_of = _reader(get_args(hint)[1], lenient)
        return lambda value, name: {
            key: each_of(each, f"{name}.{key}")
            for key, each in _typed(value, name, dict).items()
        }
    if is_dataclass(hint):
        return lambda value, name: made(
            hint,  # type: ignore[arg-type]
            _typed(value, name, dict),
            lenient,
        )
    if issubclass(hint, StrEnum):
        return lambda value, name: _member(hint, value, name)
    if hint is float:
        return lambda value, name: float(_typed(value, name, float, int))
    if hint is int:
        return _number
    return lambda value, name: _typed(value, name, hint)


def _typed(value: Any, name: str, *kinds: type) -> Any:  # noqa: ANN401 - of these
    if type(value) not in kinds:
        raise ValueError(f"{name} has the wrong type")
    return value


def _member(kind: type[StrEnum], value: Any, name: str) -> StrEnum:  # noqa: ANN401
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{name} is none of {', '.join(kind)}") from None


def _number(value: Any, name: str) -> int:  # noqa: ANN401 - JSON
    number: int = _typed(value, name, int)
    if not 0 <= number <= MOST:
        raise ValueError(f"{name} is out of range")
    return number
