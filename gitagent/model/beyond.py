"""What a request wants besides an answer of its model, and what of that is refused.

A provider can do more than answer: run a search, open an address, use a stored
conversation, ask another model. Each would be a way past the sandbox, past the pinned
model, or past the budget. Readers differ in how they match names, so a field that only
differs from a known one by its case is refused as well.

Source: Anthropic Messages API; OpenAI chat completions and responses APIs; the bodies
that OpenRouter, LiteLLM, vLLM and Gemini take; Go's encoding/json, which folds case.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitagent.core.exchange import Api

_OPENAI = frozenset(
    {
        *("function", "custom", "namespace", "tool_search", "local_shell", "shell"),
        *("apply_patch", "computer", "computer_use_preview"),
    }
)
_ANTHROPIC = ("bash_", "computer_", "memory_", "text_editor_", "tool_search_tool_")
_GOOGLE = frozenset({"googlesearch", "googlesearchretrieval", "urlcontext"})  # fields

# Of the provider's doing, and what it does reaches further than the sandbox.
_SERVED = ("mcp_servers", "container", "web_search_options", "plugins", "data_sources")
# Of another model, or at another address.
_OTHERS = ("models", "fallbacks", "route", "api_base", "base_url", "api_key")
_STORED = ("previous_response_id", "conversation", "prompt")

_USUAL = {
    "service_tier": ("auto", "default", "standard", "standard_only", "flex"),
    "speed": ("standard",),
}

# What of a request holds pieces that hold pieces; the input of a call does not.
_INNER = ("content", "output", "source", "image_url", "tools")
_ADDRESSES = ("url", "image_url", "video_url", "audio_url", "file_url")
_FOLDED = frozenset({*_INNER, *_ADDRESSES, "type", "file_id", "environment"})


def refused(api: Api, value: Mapping[str, Any], *, server_tools: bool) -> str:
    """Return why a request is not passed on, as a sentence; "": nothing speaks so.

    ``server_tools`` allows what the provider does itself, past the sandbox.
    """
    odd = next((name for name in value if name != name.casefold()), "")
    if odd:
        return f"The field {_ascii(odd)} of the request has to be in lower case."
    for name in _OTHERS:
        if value.get(name):
            return f"{name} of the request is not passed on: its model is the only one."
    if api is Api.RESPONSES and (name := next(filter(value.get, _STORED), "")):
        return (
            f"{name} of the request is not passed on: what the provider has stored is "
            "neither recorded nor metered."
        )
    for name, usual in _USUAL.items():
        if value.get(name) is not None and value[name] not in usual:
            return f"{name} of the request is not passed on: it costs another price."
    if any(map(_is_kept_long, _all(api, value))):
        return "A cache of more than five minutes is not passed on: it costs more."
    if _compacts(value):
        return "A context is not compacted by the provider: nobody meters that."
    return _served(api, value, server_tools=server_tools)


def pieces(api: Api, value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects that the messages of a request are made of."""
    names = ("input",) if api is Api.RESPONSES else ("system", "messages")
    return _walked(value.get(name) for name in names)


def _all(api: Api, value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield value
    yield from pieces(api, value)
    yield from _walked([value.get("tools")])


def _walked(values: Iterable[object]) -> Iterator[dict[str, Any]]:
    waiting = list(values)
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            yield each
            waiting += (each[name] for name in _INNER if name in each)


def _served(api: Api, value: Mapping[str, Any], *, server_tools: bool) -> str:
    name = next(filter(value.get, _SERVED), "")
    if name and not server_tools:
        return _past(name)
    for each in _all(api, value):
        odd = next((name for name in each if _is_odd(name)), "")
        if odd:
            return f"The field {_ascii(odd)} has to be in lower case."
        if server_tools:
            continue
        what = _fetched(each)
        others = (t for t in _list(each.get("tools")) if not _is_of_the_agent(api, t))
        what = what or next(map(_tool, others), "")
        if what:
            return _past(what)
    return ""


def _is_odd(name: str) -> bool:
    return name.casefold() != name and name.casefold() in _FOLDED


def _past(what: str) -> str:
    return (
        f"{what} is not passed on: the provider would do that, past the sandbox; an "
        'agent whose `may` has "network" is allowed to.'
    )


def _is_of_the_agent(api: Api, tool: object) -> bool:
    """Whether a tool is carried out by who asks, and not by the provider."""
    if not isinstance(tool, dict):
        return False
    kind = tool.get("type")
    if any(name.casefold().replace("_", "") in _GOOGLE for name in tool):
        return False
    if kind is None:
        return "input_schema" in tool or "function" in tool
    if api in (Api.MESSAGES, Api.COUNT):
        plain = isinstance(kind, str)
        return plain and (kind == "custom" or kind.startswith(_ANTHROPIC))
    if kind == "shell":
        place = tool.get("environment")
        return place is None or (
            isinstance(place, dict) and place.get("type") == "local"
        )
    return isinstance(kind, str) and kind in _OPENAI


def _tool(tool: object) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return f"The tool {_ascii(str(kind))}" if kind else "A tool without a type"


def _fetched(piece: Mapping[str, Any]) -> str:
    """Return what of a piece the provider would fetch, or has stored; "": nothing."""
    for name in _ADDRESSES:
        found = piece.get(name)
        if isinstance(found, dict):
            found = found.get("url")
        if isinstance(found, str) and not found.startswith("data:"):
            return f"An address in {name}"
    if isinstance(piece.get("file_id"), str):
        return "A stored file"
    inner = piece.get("file")
    if isinstance(inner, dict) and isinstance(inner.get("file_id"), str):
        return "A stored file"
    return ""


def _is_kept_long(piece: Mapping[str, Any]) -> bool:
    found = piece.get("cache_control")
    return isinstance(found, dict) and found.get("ttl") not in (None, "5m")


def _compacts(value: Mapping[str, Any]) -> bool:
    found = value.get("context_management")
    edits = found.get("edits") if isinstance(found, dict) else found
    return any(
        not isinstance(each, dict) or not str(each.get("type")).startswith("clear_")
        for each in _list(edits)
    )


def _list(value: object) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    return [value]


def _ascii(text: str) -> str:
    return text[:80].encode("ascii", "backslashreplace").decode()
