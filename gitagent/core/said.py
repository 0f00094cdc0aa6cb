"""What a model said in an answer, to be known again in later requests."""

import json
from collections.abc import Iterator
from typing import Any

from gitagent.core.manifest import text_of

_DATA = b"data:"


def said(answer: bytes) -> frozenset[str]:
    """Return ids of tool calls and texts of a whole answer, streamed or not.

    What is garbage says nothing.
    """
    found: set[str] = set()
    pieces: dict[object, list[str]] = {}
    for event in _events(answer):
        _learn(event, found, pieces)
    found |= {"".join(parts) for parts in pieces.values()}
    return frozenset(each for each in found if each)


def _events(answer: bytes) -> Iterator[dict[str, Any]]:
    lines = answer.splitlines() if _DATA in answer else [_DATA + answer]
    for line in lines:
        if not line.startswith(_DATA):
            continue
        try:
            value = json.loads(line[len(_DATA) :])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _learn(
    event: dict[str, Any], found: set[str], pieces: dict[object, list[str]]
) -> None:
    """Take one event, or a whole answer, of any of the APIs."""
    for block in (*_list(event, "content"), event.get("content_block")):
        _add(block, found)
    delta = event.get("delta")
    text = text_of(delta) if event.get("type") == "content_block_delta" else None
    if text is not None:
        pieces.setdefault(("block", str(event.get("index"))), []).append(text)
    for choice in _list(event, "choices"):
        part = choice.get("delta") or choice.get("message") or {}
        if not isinstance(part, dict):
            continue
        for call in _list(part, "tool_calls"):
            _add(call, found)
        if isinstance(part.get("content"), str):
            number = str(choice.get("index"))
            pieces.setdefault(("choice", number), []).append(part["content"])
    response = event.get("response")
    items = _list(response, "output") if isinstance(response, dict) else []
    for item in (*_list(event, "output"), *items, event.get("item")):
        _add(item, found)
        for block in _list(item, "content") if isinstance(item, dict) else ():
            _add(block, found)


def _list(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    items = value.get(key)
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, dict)]


def _add(block: Any, found: set[str]) -> None:  # noqa: ANN401 - JSON
    if not isinstance(block, dict):
        return
    for each in (text_of(block), block.get("id"), block.get("call_id")):
        if isinstance(each, str):
            found.add(each)
