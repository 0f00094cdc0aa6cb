"""What an attempt asks of the memory, as JSON: ``memory.json`` in its out folder.

Whoever wrote it may be anybody, so nothing in it is believed: what no operation can be
made of is dropped with the reason, and each of the others is examined as any is.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from gitagent.core.remembering import Op, Operation, Ruled
from gitagent.files import clean

NAME: Final = "memory.json"
LIMIT: Final = 512 * 1024  # bytes; some 60 operations of the largest size
MOST: Final = 50  # operations of one attempt

_LISTS: Final = frozenset({"sources", "supersedes"})
_KEYS: Final = tuple(each.name for each in fields(Operation))


@dataclass(frozen=True, slots=True)
class Proposed:
    """What an attempt asks for, in order."""

    operations: tuple[Operation, ...] = ()
    dropped: tuple[Ruled, ...] = ()  # before anybody ruled on them, with the reasons
    refused: tuple[Ruled, ...] = ()  # once, and waiting to be mended


NOTHING: Final = Proposed()


def ended(proposed: Proposed) -> Proposed:
    """Return what is asked for in the end: what nobody mended is dropped."""
    said = (*proposed.operations, *(each.operation for each in proposed.dropped))
    known = {each.slug for each in said}
    last = {each.operation.slug: each for each in proposed.refused}
    left = tuple(each for slug, each in last.items() if slug not in known)
    return Proposed(proposed.operations, (*proposed.dropped, *left))


def dump(proposed: Proposed) -> bytes:
    """Return the file."""
    values: dict[str, object] = {
        "operations": [_values(each) for each in proposed.operations]
    }
    for key, some in (("dropped", proposed.dropped), ("refused", proposed.refused)):
        if some:
            values[key] = [
                {"operation": _values(each.operation), "reason": each.reason}
                for each in some
            ]
    return json.dumps(values, ensure_ascii=False, indent=1).encode(errors="replace")


def parse(data: bytes) -> Proposed:
    """Return what a file asks for.

    A list is one of operations. An operation has the keys of `Operation`; what it does
    not need may be left out.

    Raises:
        ValueError: it is no such file; the message is a clause.
    """
    if len(data) > LIMIT:
        raise ValueError(f"it has {len(data):,} bytes, and {LIMIT:,} are the most")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if isinstance(values, list):
        values = {"operations": values}
    if not isinstance(values, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - as the others
    asked = _list(values, "operations")
    if len(asked) > MOST:
        raise ValueError(f"it has {len(asked)} operations, and {MOST} are the most")
    found = [operation(each) for each in asked]
    dropped = [_dropped(each) for each in _list(values, "dropped")[:MOST]]
    refused = [_dropped(each) for each in _list(values, "refused")[:MOST]]
    return Proposed(
        tuple(each for each in found if isinstance(each, Operation)),
        (*dropped, *(each for each in found if isinstance(each, Ruled))),
        tuple(refused),
    )


def operation(value: object) -> Operation | Ruled:
    """Return the operation that JSON's values ask for, or why there is none in them."""
    if not isinstance(value, dict):
        return _none({}, "It is no JSON object.")
    values = {key: each for key, each in value.items() if each is not None}
    if odd := [key for key in values if key not in _KEYS]:
        known = ", ".join(_KEYS)
        said = f"It has no key {clean.sentence(str(odd[0]), 40)}: known are {known}."
        return _none(values, said)
    for key, each in values.items():
        if key in _LISTS:
            if not _texts(each):
                return _none(values, f"Its {key} are no list of texts.")
        elif not isinstance(each, str):
            return _none(values, f"Its {key} is no text.")
    if values.get("op") not in set(Op):
        return _none(values, f"Its op is none of {', '.join(Op)}.")
    if not values.get("slug"):
        return _none(values, "It names no slug.")
    made: dict[str, Any] = {
        key: tuple(each) if key in _LISTS else each for key, each in values.items()
    }
    return Operation(**made | {"op": Op(values["op"])})


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _none(values: dict[str, Any], reason: str) -> Ruled:
    """Return that there is no operation; its slug is kept, as far as it is a text."""
    op, slug = values.get("op"), values.get("slug")
    kept = Operation(
        Op(op) if isinstance(op, str) and op in set(Op) else Op.ADD,
        clean.sentence(slug, 64) if isinstance(slug, str) else "",
    )
    return Ruled(kept, admitted=False, reason=reason)


def _dropped(value: object) -> Ruled:
    values = value if isinstance(value, dict) else {}
    made, reason = operation(values.get("operation")), values.get("reason")
    if isinstance(made, Ruled):
        return made
    said = reason if isinstance(reason, str) and reason else "It was dropped."
    return Ruled(made, admitted=False, reason=clean.sentence(said, 500))


def _list(values: dict[str, Any], key: str) -> Sequence[object]:
    found = values.get(key, [])
    if not isinstance(found, list):
        raise ValueError(f"{key} is no list")  # noqa: TRY004 - as the others
    return found


def _values(of: Operation) -> dict[str, Any]:
    """Return an operation as JSON's values, without what is empty."""
    return {key: each for key, each in asdict(of).items() if each}
