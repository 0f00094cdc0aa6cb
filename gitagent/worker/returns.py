"""What an agent says about its work, in ``return.json``; a claim, never evidence.

Nothing has to be said. What is said has to have the form below, so that a slip of the
agent shows instead of being lost.
"""

from dataclasses import dataclass
from typing import Any

from gitagent.files import clean
from gitagent.worker.strictjson import BadForm as BadReturn
from gitagent.worker.strictjson import load, shown

__all__ = ["FORM", "LIMIT", "NAME", "STATUSES", "BadReturn", "Return", "parse"]

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
    values = load(data, LIMIT, _KEYS)
    return Return(
        status=_status(values),
        summary=_text(values, "summary"),
        divergence=_text(values, "divergence"),
        evidence=_texts(values, "evidence", _ITEMS),
        commands=_command_list(values),
        risks=_texts(values, "risks", _ITEMS),
    )


def _status(values: dict[str, Any]) -> str:
    status = values.get("status")
    if status not in STATUSES:
        known = ", ".join(f'"{each}"' for each in STATUSES)
        raise BadReturn(f"status has to be one of {known}, not {shown(status)}")
    if status == "blocked" and not str(values.get("summary") or "").strip():
        raise BadReturn("status is blocked, so summary has to say what is missing")
    return str(status)


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadReturn(f"{key} has to be a text, not {shown(value)}")
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
        raise BadReturn(f"{key} has to be a list of texts, not {shown(value)}")
    if len(value) > limit:
        raise BadReturn(f"{key} has {len(value)} entries; at most {limit} are taken")
    texts = (_text({key: each}, key) for each in value)
    return tuple(text for text in texts if text)


def _command_list(values: dict[str, Any]) -> tuple[str, ...]:
    commands = _texts(values, "commands", _COMMANDS)
    for command in commands:
        if "\n" in command:
            raise BadReturn(f"commands holds {shown(command)}; one line a command")
    return commands
