"""What the hooks of an agent noted in ``hooks.jsonl``: hostile, and never evidence."""

import json
from collections import Counter

from gitagent.files import clean

NAME = "hooks.jsonl"
LIMIT = 64 * 1024  # bytes; the hooks write no more
LATE = 16 * 1024  # of them, which only the hook at the end may use
_LINE = 2048  # bytes that a line can have

PRE_TOOL = "pre-tool"
STOP = "stop"
_SAID = {
    PRE_TOOL: {"allow": "allowed", "deny": "denied", "not_evaluated": "not evaluated"},
    STOP: {"passed": "passed", "failed": "failed", "not_evaluated": "not evaluated"},
}


def summary(data: bytes | None, *, installed: bool) -> str:
    """Return in a sentence what the hooks said; "" if none were installed.

    ``data`` is the log's content, None if it is missing or could not be taken.
    """
    if not installed:
        return ""
    counts, odd = _counts(data or b"")
    if not counts:
        why = "holds nothing that can be read" if odd else "is missing"
        return f"Hooks: not evaluated; their log {why}."
    parts = [
        f"{what} {_tally(counts, hook)}"
        for what, hook in (("tool calls", PRE_TOOL), ("accept commands", STOP))
        if any(each == hook for each, _ in counts)
    ]
    if odd:
        parts.append(f"{odd} unreadable")
    if len(data or b"") > LIMIT - LATE - _LINE:
        parts.append("the log is full, so more may have been looked at")
    return f"Hooks: {'; '.join(parts)}."


def _tally(counts: Counter[tuple[str, str]], hook: str) -> str:
    return ", ".join(
        f"{said} {counts[hook, verdict]}"
        for verdict, said in _SAID[hook].items()
        if counts[hook, verdict]
    )


def _counts(data: bytes) -> tuple[Counter[tuple[str, str]], int]:
    """Return how often each hook came to each verdict, and how many lines are odd."""
    keys = [_key(line) for line in data[:LIMIT].splitlines()]
    counts = Counter(key for key in keys if key is not None)
    return counts, keys.count(None)


def _key(line: bytes) -> tuple[str, str] | None:
    try:
        values = json.loads(line)
        hook, verdict = values["hook"], values["verdict"]
        return (hook, verdict) if verdict in _SAID[hook] else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def entry(
    hook: str,
    verdict: str,
    *,
    what: str = "",
    said: str = "",
    at: str = "",
    **more: int | bool,
) -> bytes:
    """Return one line of the log."""
    values = {
        "at": at,
        "hook": hook,
        "verdict": verdict,
        "what": clean.sentence(what, 160),
        "said": clean.sentence(said, 240),
        **more,
    }
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"
