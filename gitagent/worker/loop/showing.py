"""What of gitagent's own JSON is for a model: what is said, without what is empty."""

import json
from collections.abc import Mapping
from typing import Any, Final

_SETTLED: Final = 20  # tasks and submissions that have ended
_TEXT: Final = 2000  # characters of one value
_LEFT_OUT: Final = frozenset(
    {"version", "daemon", "findings", "direct", "inbox", "record", "blob", "oid", "key"}
)
_ENDED: Final = frozenset(
    {"landed", "done", "failed", "stopped", "refused", "rejected", "withdrawn"}
)


def shown(values: Mapping[str, Any]) -> str:
    """Return it as JSON, a line for each item of its lists."""
    lines = []
    for name, value in values.items():
        kept = _kept(_newest(value))
        if name in _LEFT_OUT or kept is None:
            continue
        if isinstance(kept, list):
            items = ",\n  ".join(_json(each) for each in kept)
            lines.append(f'"{name}": [\n  {items}\n ]')
        else:
            lines.append(f'"{name}": {_json(kept)}')
    return "{" + ",\n ".join(lines) + "}"


def _newest(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Leave out of a list what ended long ago."""
    if not isinstance(value, list):
        return value
    kept, ended = [], 0
    for each in value:
        over = isinstance(each, dict) and each.get("state") in _ENDED
        ended += over
        if not over or ended <= _SETTLED:
            kept.append(each)
    return kept


def _kept(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a value without what is empty; None: all of it is."""
    match value:
        case dict():
            kept = {
                name: inner
                for name, each in value.items()
                if name not in _LEFT_OUT and (inner := _kept(each)) is not None
            }
            return kept or None
        case list():
            return [
                inner for each in value if (inner := _kept(each)) is not None
            ] or None
        case str() if len(value) > _TEXT:
            return value[:_TEXT] + " […]"
        case "" | None:
            return None
        case _:
            return value


def _json(value: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(value, ensure_ascii=False)
