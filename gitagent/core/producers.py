"""Who put each piece of a request there, in words."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from gitagent.core.manifest import (
    CALL,
    RESULT,
    SYNTAX,
    SYSTEM,
    TEXT,
    THINKING,
    TOOLS,
    Cursor,
    Span,
    text_of,
)

_NAME = 80  # characters; names are the model's, and can be anything
OURS = "gitagent's MCP server"

_THEIRS = "the agent's program"
# As the programs name a tool of an MCP server that is called gitagent.
_OUR_TOOL = re.compile(r"(?:mcp_+)?gitagent_+(?P<name>[a-z]+(?:_[a-z]+)*)")
# A pair of surrogates is one character.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|.)"
)


def attribute(
    spans: Sequence[Span],
    body: bytes,
    *,
    program: str = "",
    parts: Sequence[tuple[str, str]] = (),
    said: Mapping[str, str] | None = None,
) -> tuple[Span, ...]:
    """Return the pieces with their producers, some of them cut finer.

    ``program`` is the agent's, such as "claude". ``parts`` are producer and text of
    what we gave it: a block that has such a text is cut around it. ``said`` says of
    call ids and texts which request they were the answer to, such as "request 3".
    """
    theirs = f"the program {program}" if program else _THEIRS
    tools = {span.call: _tool_name(span.value) for span in spans if span.kind == CALL}
    made: list[Span] = []
    for span in spans:
        who = _producer(span, theirs, tools, said or {})
        if who == theirs and span.kind in {TEXT, SYSTEM}:
            made += _cut(span, body, theirs, parts)
        else:
            made.append(_by(span, who))
    return tuple(made)


def _by(span: Span, who: str) -> Span:
    # `replace` would be most of what hundreds of blocks cost.
    return Span(
        span.start,
        span.end,
        span.path,
        span.kind,
        span.role,
        span.call,
        who,
        span.value,
    )


def _producer(
    span: Span, theirs: str, tools: Mapping[str, str], said: Mapping[str, str]
) -> str:
    if span.kind == SYNTAX:
        return theirs
    if span.kind == TOOLS:
        return _offered(span.value, theirs)
    if span.kind == RESULT:
        name = tools.get(span.call, "")[:_NAME]
        tool = f"tool {name}" if name else "a tool"
        return f"{tool}, call {span.call[:_NAME]}" if span.call else tool
    if span.role == "assistant" or span.kind in {CALL, THINKING}:
        known = said.get(span.call) or said.get(text_of(span.value) or "")
        return f"the model, {known}" if known else "the model"
    return theirs


def _offered(value: Any, theirs: str) -> str:  # noqa: ANN401 - JSON
    """Return whose tools there are, and which of them are ours."""
    names = [_tool_name(each) for each in value] if isinstance(value, list) else []
    ours = [found["name"] for name in names if (found := _OUR_TOOL.fullmatch(name))]
    count = len(names) - len(ours)
    parts = [f"{theirs}: {count} tool{'' if count == 1 else 's'}"] if count else []
    parts += [f"{OURS}: {', '.join(sorted(ours))}"] if ours else []
    return "; ".join(parts) or theirs


def _tool_name(value: Any) -> str:  # noqa: ANN401 - JSON
    if not isinstance(value, dict):
        return ""
    inner = value.get("function")
    name = value.get("name") or (inner.get("name") if isinstance(inner, dict) else "")
    return name if isinstance(name, str) else str(value.get("type", ""))


def _cut(
    span: Span, body: bytes, theirs: str, parts: Sequence[tuple[str, str]]
) -> list[Span]:
    """Cut a block around the texts that are ours."""
    words = text_of(span.value) or ""
    found: list[tuple[int, int, str]] = []
    for producer, text in sorted(parts, key=lambda part: -len(part[1])):
        at = words.find(text) if text else -1
        # A short one can also be a piece of a long one.
        while at >= 0 and any(at < e and s < at + len(text) for s, e, _ in found):
            at = words.find(text, at + 1)
        if at >= 0:
            found.append((at, at + len(text), producer))
    found.sort()
    for n, ((_, end, _), (start, _, _)) in enumerate(pairwise(found)):
        if not words[end:start].strip():  # the gap between two of ours
            found[n] = (found[n][0], start, found[n][2])
    whole = _by(span, theirs)
    if not found:
        return [whole]
    places = _places(
        span, body, [at for start, stop, _ in found for at in (start, stop)]
    )
    made, last = [], span.start
    for (_, _, producer), start, stop in zip(
        found, places[::2], places[1::2], strict=True
    ):
        if start > last:
            made.append(replace(whole, start=last, end=start))
        made.append(replace(whole, start=start, end=stop, producer=producer))
        last = stop
    return [*made, replace(whole, start=last)]


def _places(span: Span, body: bytes, wanted: list[int]) -> list[int]:
    """Return where characters of a block's words are in the body, escaped there."""
    raw = body[span.start : span.end].decode()
    at = _begin_of_words(raw) + 1
    made, decoded = [], 0
    left = iter(_ESCAPE.finditer(raw, at))
    escape = next(left, None)
    for place in wanted:
        while escape and decoded + escape.start() - at < place:
            decoded += escape.start() - at + 1
            at = escape.end()
            escape = next(left, None)
        made.append(at + place - decoded)
    return [span.start + len(raw[:place].encode()) for place in made]


def _begin_of_words(raw: str) -> int:
    """Return where the string begins that `text_of` gives."""
    cursor, begin = Cursor(raw), 0
    if cursor.peek() == '"':
        return cursor.at
    for key in cursor.members():
        cursor.peek()
        begin = cursor.at if key == "text" else begin
        cursor.value()
    return begin
