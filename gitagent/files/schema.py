"""The settings' own definitions, read: which table and which keys a path leads to."""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from gitagent.core.settings import SECONDS, Settings

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table."""

    name: str
    type: Any  # as annotated, without Annotated
    seconds: bool  # whether it is written as a duration
    doc: str
    required: bool
    default: Any  # None if required


@cache
def keys(table: type) -> dict[str, Key]:
    """Return the keys of a table's class, in order."""
    hints = get_type_hints(table, include_extras=True)
    return {field.name: _key(field, hints[field.name]) for field in fields(table)}


def table_at(path: Path) -> type | None:
    """Return the class of the table that ``path`` leads to, or None if it is none."""
    kind: Any = Settings
    for part in path:
        if is_dataclass(kind) and isinstance(part, str):
            key = keys(kind).get(part)  # type: ignore[arg-type]
            kind = key.type if key else None
        elif get_origin(kind) in (tuple, dict):
            kind = get_args(kind)[0 if isinstance(part, int) else 1]
        else:
            return None
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def paths_of(name: str, table: type = Settings, above: Path = ()) -> list[Path]:
    """Return where a key called ``name`` exists in the plain tables, top first."""
    here = [(*above, name)] if name in keys(table) else []
    for key in keys(table).values():
        if isinstance(key.type, type) and is_dataclass(key.type):
            here += paths_of(name, key.type, (*above, key.name))
    return here


def _key(field: Any, hint: Any) -> Key:  # noqa: ANN401 - types of types
    marks: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *marks_found = get_args(hint)
        marks = tuple(marks_found)
    factory = field.default_factory
    absent = type(field.default).__name__ == "_MISSING_TYPE"
    made = type(factory).__name__ != "_MISSING_TYPE"
    return Key(
        name=field.name,
        type=hint,
        seconds=SECONDS in marks,
        doc=field.metadata.get("doc", ""),
        required=absent and not made,
        default=factory() if made else None if absent else field.default,
    )
