"""JSON that an agent wrote, read so that a slip of it shows instead of being lost."""

import difflib
import json
from collections.abc import Sequence
from typing import Any

from gitagent.files import clean


class BadForm(ValueError):
    """A file that has not its form; ``str()`` says what to change."""


def load(data: bytes, limit: int, keys: Sequence[str]) -> dict[str, Any]:
    """Return the object that a file of at most ``limit`` bytes holds.

    Raises:
        BadForm: it is none, or has another key than ``keys``; with one sentence that
            says what to change.
    """
    if len(data) > limit:
        raise BadForm(f"it has more than {limit} bytes; say less")
    try:
        values = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique)
    except BadForm:
        raise
    except UnicodeDecodeError:
        raise BadForm("it is not UTF-8; write it as UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadForm(f"it is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise BadForm("it is nested too deeply; write one flat object") from None
    except ValueError:  # a number with thousands of digits
        raise BadForm("it holds a number that is too long; write it shorter") from None
    return known(values, keys)


def known(values: object, keys: Sequence[str]) -> dict[str, Any]:
    """Return the value as an object that has no key but ``keys``, or raise BadForm."""
    if not isinstance(values, dict):
        raise BadForm("it holds no object; write one between { and }")
    for key in values:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            mend = f"did you mean {near[0]}?" if near else f"known are {_list(keys)}"
            raise BadForm(f"it has no key {shown(key)}; {mend}")
    return values


def shown(value: object) -> str:
    """Return a value as part of a sentence."""
    return clean.sentence(json.dumps(value, ensure_ascii=False), 60)


def _list(keys: Sequence[str]) -> str:
    return ", ".join(keys)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadForm(f"{shown(twice)} is there twice; write it once")
    return values
