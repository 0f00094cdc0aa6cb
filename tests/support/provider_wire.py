"""The three APIs of models: how a request is read, and how an answer looks."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.provider_steps import Asked, Call, Say, Think, Tool

Event = tuple[str, Any]  # name ("": none) and data; data may be a plain string
Answer = Sequence[Say | Think | Call]

PATHS = {"messages": "messages", "chat/completions": "chat", "responses": "responses"}

_PIECE = 24
_CREATED = 1_700_000_000


def read(api: str, body: dict[str, Any]) -> Asked:
    """Return a request as a script sees it."""
    items = body.get("input" if api == "responses" else "messages") or []
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    said = [body.get("system"), body.get("instructions")]
    said += [
        item.get("content")
        for item in items
        if item.get("role") not in {None, "assistant"}
    ]
    return Asked(
        api=api,
        model=str(body.get("model", "")),
        body=body,
        stream=bool(body.get("stream")),
        text="\n".join(_text(each) for each in said),
        newest=_text(items[-1].get("content")) if items else "",
        results=_results(api, items),
        tools=tuple(_tools(body.get("tools") or [])),
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        part if isinstance(part, str) else _text(part.get("text", part.get("content")))
        for part in parts
    )


def _results(api: str, items: list[dict[str, Any]]) -> tuple[str, ...]:
    if api == "messages":
        last = items[-1]["content"] if items else ""
        blocks = last if isinstance(last, list) else []
        return tuple(
            _text(each.get("content"))
            for each in blocks
            if each["type"] == "tool_result"
        )
    found: list[str] = []
    for item in reversed(items):
        if api == "chat" and item.get("role") == "tool":
            found.insert(0, _text(item.get("content")))
        elif str(item.get("type", "")).endswith("call_output"):
            found.insert(0, _text(item.get("output")))
        else:
            break
    return tuple(found)


def _tools(listed: list[dict[str, Any]], namespace: str = "") -> Iterator[Tool]:
    for each in listed:
        kind = each.get("type")
        if kind == "namespace":
            yield from _tools(each.get("tools", []), str(each.get("name", "")))
            continue
        inner = each.get("function", each)
        schema = inner.get("input_schema") or inner.get("parameters") or {}
        yield Tool(
            str(inner.get("name", kind)),
            schema.get("properties") or {},
            tuple(schema.get("required") or ()),
            namespace,
            custom=kind == "custom",
        )


def tokens(text: bytes | str) -> int:
    """Return what a text is said to cost."""
    return max(1, len(text) // 4)


def usage(api: str, taken: int, answer: Answer) -> dict[str, Any]:
    """Return the usage of an answer, as the API counts it."""
    given = sum(
        tokens(_arguments(p) if isinstance(p, Call) else p.text) for p in answer
    )
    if api == "messages":
        return {
            "input_tokens": taken,
            "output_tokens": given,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
    names = (
        ("prompt_tokens", "completion_tokens")
        if api == "chat"
        else (
            "input_tokens",
            "output_tokens",
        )
    )
    details = f"{names[0]}_details", f"{names[1]}_details"
    return {
        names[0]: taken,
        names[1]: given,
        "total_tokens": taken + given,
        details[0]: {"cached_tokens": 0},
        details[1]: {"reasoning_tokens": 0},
    }


def whole(asked: Asked, answer: Answer, number: int, taken: int) -> dict[str, Any]:
    """Return an answer that is not streamed."""
    counted = usage(asked.api, taken, answer)
    if asked.api == "messages":
        return {
            **_message(asked, number),
            "content": [_block(p, f"{number}_{i}") for i, p in enumerate(answer)],
            "stop_reason": _stop(answer),
            "usage": counted,
        }
    if asked.api == "responses":
        items = [_item(p, f"{number}_{i}") for i, p in enumerate(answer)]
        return _response(asked, number, "completed", items, counted)
    made = [p for p in enumerate(answer) if isinstance(p[1], Call)]
    message = {
        "role": "assistant",
        "content": "".join(p.text for p in answer if isinstance(p, Say)) or None,
    }
    if made:
        message["tool_calls"] = [_chat_call(p, f"{number}_{i}") for i, p in made]
    reason = "tool_calls" if made else "stop"
    return {
        **_chat(asked, number, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": counted,
    }


def events(asked: Asked, answer: Answer, number: int, taken: int) -> Iterator[Event]:
    """Give the events of an answer that is streamed."""
    make = {"messages": _messages_events, "chat": _chat_events}.get(asked.api, _events)
    yield from make(asked, answer, number, taken)


def error(api: str, kind: str, message: str, code: str) -> dict[str, Any]:
    """Return an error in the form of the API."""
    if api == "messages":
        return {"type": "error", "error": {"type": kind, "message": message}}
    value = {"message": message, "type": kind, "param": None, "code": code or None}
    return {"error": value}


def _arguments(call: Call) -> str:
    given = call.arguments
    return given if isinstance(given, str) else json.dumps(given)


def _pieces(text: str, size: int = _PIECE) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _stop(answer: Answer) -> str:
    return "tool_use" if any(isinstance(p, Call) for p in answer) else "end_turn"


def _message(asked: Asked, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _block(part: Say | Think | Call, ident: str) -> dict[str, Any]:
    if isinstance(part, Say):
        return {"type": "text", "text": part.text}
    if isinstance(part, Think):
        return {"type": "thinking", "thinking": part.text, "signature": "c2lnbmVk"}
    try:
        given = json.loads(_arguments(part))
    except ValueError:
        given = {}
    return {
        "type": "tool_use",
        "id": f"toolu_{ident}",
        "name": part.tool,
        "input": given,
    }


def _messages_events(
    asked: Asked, answer: Answer, number: int, taken: int
) -> Iterator[Event]:
    counted = usage("messages", taken, answer)
    first = {**_message(asked, number), "usage": {**counted, "output_tokens": 1}}
    yield _named(type="message_start", message=first)
    yield _named(type="ping")
    for index, part in enumerate(answer):
        block = _block(part, f"{number}_{index}")
        size = _PIECE
        if isinstance(part, Say):
            kind, key, text, size = "text_delta", "text", part.text, part.piece
            block["text"] = ""
        elif isinstance(part, Think):
            kind, key, text = "thinking_delta", "thinking", part.text
            block |= {"thinking": "", "signature": ""}
        else:
            kind, key, text = "input_json_delta", "partial_json", _arguments(part)
            block["input"] = {}
        yield _named(type="content_block_start", index=index, content_block=block)
        deltas = [{"type": kind, key: piece} for piece in _pieces(text, size)]
        if isinstance(part, Think):
            deltas.append({"type": "signature_delta", "signature": "c2lnbmVk"})
        for delta in deltas:
            yield _named(type="content_block_delta", index=index, delta=delta)
        yield _named(type="content_block_stop", index=index)
    ended = {"stop_reason": _stop(answer), "stop_sequence": None}
    yield _named(type="message_delta", delta=ended, usage=counted)
    yield _named(type="message_stop")


def _named(**data: Any) -> Event:
    return data["type"], data


def _chat(asked: Asked, number: int, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number:08}",
        "object": kind,
        "created": _CREATED,
        "model": asked.model,
    }


def _chat_call(part: Call, ident: str) -> dict[str, Any]:
    function = {"name": part.tool, "arguments": _arguments(part)}
    return {"id": f"call_{ident}", "type": "function", "function": function}


def _chat_events(
    asked: Asked, answer: Answer, number: int, taken: int
) -> Iterator[Event]:
    head = _chat(asked, number, "chat.completion.chunk")
    wanted = bool((asked.body.get("stream_options") or {}).get("include_usage"))
    extra = {"usage": None} if wanted else {}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return "", {**head, "choices": [choice], **extra}

    yield chunk({"role": "assistant", "content": ""})
    index = 0
    for place, part in enumerate(answer):
        if isinstance(part, Say):
            for piece in _pieces(part.text, part.piece):
                yield chunk({"content": piece})
        elif isinstance(part, Call):
            call = _chat_call(part, f"{number}_{place}")
            call["function"]["arguments"] = ""
            yield chunk({"tool_calls": [{"index": index, **call}]})
            for piece in _pieces(_arguments(part)):
                delta = {"index": index, "function": {"arguments": piece}}
                yield chunk({"tool_calls": [delta]})
            index += 1
    yield chunk({}, "tool_calls" if index else "stop")
    if wanted:
        yield "", {**head, "choices": [], "usage": usage("chat", taken, answer)}
    yield "", "[DONE]"


def _response(
    asked: Asked,
    number: int,
    status: str,
    items: list[dict[str, Any]],
    counted: dict[str, Any] | None,
) -> dict[str, Any]:
    return {
        "id": f"resp_{number:08}",
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": asked.model,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": counted,
    }


def _item(part: Say | Think | Call, ident: str) -> dict[str, Any]:
    if isinstance(part, Say):
        content = {"type": "output_text", "text": part.text, "annotations": []}
        return {
            "id": f"msg_{ident}",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [content],
        }
    if isinstance(part, Think):
        summary = {"type": "summary_text", "text": part.text}
        return {"id": f"rs_{ident}", "type": "reasoning", "summary": [summary]}
    space = {"namespace": part.namespace} if part.namespace else {}
    kind, key = (
        ("custom_tool_call", "input")
        if part.custom
        else (
            "function_call",
            "arguments",
        )
    )
    return {
        "id": f"fc_{ident}",
        "type": kind,
        "status": "completed",
        "call_id": f"call_{ident}",
        "name": part.tool,
        key: _arguments(part),
        **space,
    }


def _events(asked: Asked, answer: Answer, number: int, taken: int) -> Iterator[Event]:
    count = 0

    def event(kind: str, **data: Any) -> Event:
        nonlocal count
        count += 1
        return kind, {"type": kind, "sequence_number": count - 1, **data}

    begun = _response(asked, number, "in_progress", [], None)
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    items = []
    for index, part in enumerate(answer):
        item = _item(part, f"{number}_{index}")
        items.append(item)
        at = {"item_id": item["id"], "output_index": index}
        for kind, data in _item_events(part, item, index, at):
            yield event(f"response.{kind}", **data)
    counted = usage("responses", taken, answer)
    done = _response(asked, number, "completed", items, counted)
    yield event("response.completed", response=done)


def _item_events(
    part: Say | Think | Call, item: dict[str, Any], index: int, at: dict[str, Any]
) -> Iterator[Event]:
    empty = {**item, "status": "in_progress"}
    if isinstance(part, Say):
        empty["content"] = []
    elif isinstance(part, Think):
        empty = {**item, "summary": []}
    else:
        empty["input" if part.custom else "arguments"] = ""
    yield "output_item.added", {"output_index": index, "item": empty}
    if isinstance(part, Say):
        at = {**at, "content_index": 0}
        full = item["content"][0]
        yield "content_part.added", {**at, "part": {**full, "text": ""}}
        for piece in _pieces(part.text, part.piece):
            yield "output_text.delta", {**at, "delta": piece}
        yield "output_text.done", {**at, "text": part.text}
        yield "content_part.done", {**at, "part": full}
    elif isinstance(part, Call):
        kind, key = (
            ("custom_tool_call_input", "input")
            if part.custom
            else (
                "function_call_arguments",
                "arguments",
            )
        )
        for piece in _pieces(_arguments(part)):
            yield f"{kind}.delta", {**at, "delta": piece}
        yield f"{kind}.done", {**at, key: _arguments(part)}
    yield "output_item.done", {"output_index": index, "item": item}
