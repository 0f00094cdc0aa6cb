"""What an agent says about its work, in ``return.json``; a claim, never evidence.

Nothing has to be said. What is said has to have the form below, so that a slip of the
agent shows instead of being lost.
"""

import difflib
import json
from dataclasses import dataclass
from typing import Any

from gitagent.files import clean

NAME = "return.json"
LIMIT = 64 * 1024  # bytes

STATUSES = ("done", "nothing", "blocked")
_KEYS = ("status", "summary", "divergence", "evidence", "commands", "risks")
_TEXT = 8000  # characters of one text
_ITEMS = 50
_COMMANDS = 10

FORM = """\
{"status": "done",       // or "nothing" (there was nothing to do), or "blocked"
 "summary": "what was done, in a sentence or two; if blocked, what is missing",
 "divergence": "what differs from what was asked, each path by name, or None",
 "evidence": ["one line for each thing that was asked: how it is known to be met"],
 "commands": ["commands that pass now; they are run again on the merged result"],
 "risks": ["what a reviewer should look at"]}"""


class BadReturn(ValueError):
    """A return that has not the form; ``str()`` says what to change."""


@dataclass(frozen=True, slots=True)
class Return:
    """What an agent said."""

    status: str = "done"  # one of STATUSES
    summary: str = ""
    divergence: str = ""
    evidence: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()


def parse(data: bytes) -> Return:
    """Return what the bytes of a return file say.

    Raises:
        BadReturn: with one sentence that says what to change.
    """
    if len(data) > LIMIT:
        raise BadReturn(f"it has more than {LIMIT} bytes; say less")
    try:
        values = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError:
        raise BadReturn("it is not UTF-8; write it as UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadReturn(f"it is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise BadReturn("it is nested too deeply; write one flat object") from None
    if not isinstance(values, dict):
        raise BadReturn("it holds no object; write one between { and }")
    for key in values:
        if key not in _KEYS:
            raise BadReturn(_unknown(key))
    return Return(
        status=_status(values),
        summary=_text(values, "summary"),
        divergence=_text(values, "divergence"),
        evidence=_texts(values, "evidence", _ITEMS),
        commands=_command_list(values),
        risks=_texts(values, "risks", _ITEMS),
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadReturn(f"{_shown(twice)} is there twice; write it once")
    return values


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, _KEYS, 1)
    mend = f"did you mean {near[0]}?" if near else f"known are {', '.join(_KEYS)}"
    return f"it has no key {_shown(key)}; {mend}"


def _status(values: dict[str, Any]) -> str:
    status = values.get("status")
    if status not in STATUSES:
        known = ", ".join(f'"{each}"' for each in STATUSES)
        raise BadReturn(f"status has to be one of {known}, not {_shown(status)}")
    if status == "blocked" and not str(values.get("summary") or "").strip():
        raise BadReturn("status is blocked, so summary has to say what is missing")
    return str(status)


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadReturn(f"{key} has to be a text, not {_shown(value)}")
    if len(value) > _TEXT:
        raise BadReturn(f"{key} has {len(value)} characters; at most {_TEXT} are taken")
    return clean.visible(value).strip()


def _texts(values: dict[str, Any], key: str, limit: int) -> tuple[str, ...]:
    value = values.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadReturn(f"{key} has to be a list of texts, not {_shown(value)}")
    if len(value) > limit:
        raise BadReturn(f"{key} has {len(value)} entries; at most {limit} are taken")
    texts = (_text({key: each}, key) for each in value)
    return tuple(text for text in texts if text)


def _command_list(values: dict[str, Any]) -> tuple[str, ...]:
    commands = _texts(values, "commands", _COMMANDS)
    for command in commands:
        if "\n" in command:
            raise BadReturn(f"commands holds {_shown(command)}; one line a command")
    return commands


def _shown(value: object) -> str:
    return clean.sentence(json.dumps(value, ensure_ascii=False), 60)
