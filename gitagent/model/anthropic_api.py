"""The Anthropic Messages API, by its vendor's client, through the gateway.

What comes is kept as it came, block by block, so that it goes back the same: thoughts
are signed, and a kind of block that nobody here knows may matter to the model.

Source: the API's reference (streaming, prompt caching, tool use).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import anthropic
import httpx2

from gitagent.core.conversation import Call
from gitagent.core.models import ANTHROPIC
from gitagent.host.cancel import Cancel
from gitagent.model import arguments
from gitagent.model.failing import MALFORMED, broken, lacking, refused
from gitagent.model.hop import URL, Hop
from gitagent.model.provider import Ask, Heard, Message, NoTurn, Stop, Turn
from gitagent.model.runaway import PIECES, Guard

_CACHED = {"cache_control": {"type": "ephemeral"}}  # at most four of a request
_STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "pause_turn": Stop.END,
    "tool_use": Stop.CALLS,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "refusal": Stop.REFUSAL,
}
_COUNTED = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


class AnthropicProvider:
    """See `provider.Provider`."""

    tools = True

    def __init__(self, socket: str, token: str, model: str) -> None:
        self._model = model
        self._hop = Hop(socket)
        self._client = anthropic.Anthropic(
            api_key=token, base_url=URL, max_retries=0, http_client=self._hop.client
        )

    def close(self) -> None:
        """See `provider.Provider`."""
        self._hop.close()

    def ask(self, ask: Ask, heard: Heard, cancel: Cancel) -> Turn | NoTurn:
        """See `provider.Provider`."""
        missing = lacking(ask, self._model, tools=self.tools)
        if missing:
            return missing
        coming = _Coming(ask, heard)
        stop: Stop | None = None
        try:
            with self._hop.cutting(cancel):
                if not cancel.is_set():
                    stop = coming.read(self._events(ask), cancel)
            if stop is not None:
                return coming.turn(stop)
        except anthropic.APIStatusError as error:
            if not cancel.is_set():
                status, body = error.status_code, error.body
                return refused(ask, self._model, status, body, coming.text)
        except (anthropic.APIError, httpx2.HTTPError, *MALFORMED) as error:
            if not cancel.is_set():
                return broken(error, coming.text)
        if not cancel.is_set():
            return broken(EOFError("it ended before its end"), coming.text)
        return coming.turn(Stop.CANCELLED)

    def _events(self, ask: Ask) -> Iterator[Mapping[str, Any]]:
        stream = self._client.post(
            "/v1/messages",
            cast_to=object,
            content=arguments.body(request(ask, self._model)),
            stream=True,
            stream_cls=anthropic.Stream[object],
        )
        with stream:
            for event in stream:
                if isinstance(event, dict):
                    yield event


class _Coming:
    """An answer as it comes."""

    def __init__(self, ask: Ask, heard: Heard) -> None:
        self._heard = heard
        self._guard = Guard()
        self._taken = {*ask.taken, *(c.id for m in ask.messages for c in m.calls)}
        self._blocks: dict[int, dict[str, Any]] = {}  # as they go back
        self._given: dict[int, list[str]] = {}  # arguments in pieces
        self._whole: set[int] = set()  # those that have ended
        self._stop = ""
        self._counts: dict[str, int] = {}

    @property
    def text(self) -> str:
        """What it has said so far."""
        said = (b for _, b in sorted(self._blocks.items()) if b.get("type") == "text")
        return "".join(str(block.get("text") or "") for block in said)

    def read(self, events: Iterator[Mapping[str, Any]], cancel: Cancel) -> Stop | None:
        """Take all events; None: they ended before the answer did."""
        for event in events:
            if cancel.is_set():
                return Stop.CANCELLED
            match event.get("type"):
                case "message_start":
                    self._count(event["message"].get("usage"))
                case "content_block_start" | "content_block_delta":
                    if self._grows(event):
                        return Stop.RUNAWAY
                case "content_block_stop":
                    self._end(int(event["index"]))
                case "message_delta":
                    self._stop = event["delta"].get("stop_reason") or self._stop
                    self._count(event.get("usage"))
                case "message_stop":
                    return _STOPS.get(self._stop, Stop.END)
                case _:
                    pass  # "ping", and what is new
        return None

    def turn(self, stop: Stop) -> Turn:
        """Return what came, without what is only begun."""
        if stop is Stop.LENGTH:
            self._drop_cut_call()
        blocks = [
            block
            for index, block in sorted(self._blocks.items())
            if index in self._whole or block.get("type") == "text"
            if block.get("type") != "text" or str(block.get("text") or "").strip()
        ]
        calls = tuple(
            self._call(index, block)
            for index, block in sorted(self._blocks.items())
            if block.get("type") == "tool_use" and index in self._whole
        )
        if stop in (Stop.END, Stop.CALLS):
            stop = Stop.CALLS if calls else Stop.END
        return Turn(
            self.text,
            calls,
            stop,
            arguments.body({"content": blocks}) if blocks else b"",
            sum(self._counts.values()),
        )

    def _grows(self, event: Mapping[str, Any]) -> bool:
        """Take what comes; whether it is too much."""
        index = int(event["index"])
        if event["type"] == "content_block_delta":
            return self._add(index, event["delta"])
        return self._begin(index, event["content_block"])

    def _begin(self, index: int, block: dict[str, Any]) -> bool:
        """Take a new block; whether there are too many."""
        self._blocks[index] = dict(block)
        self._given[index] = []
        if block.get("type") == "tool_use":
            self._blocks[index]["id"] = arguments.ident(block.get("id"), self._taken)
            self._blocks[index]["name"] = arguments.name(block["name"])
        if block.get("type") == "text" and block.get("text"):
            self._heard.text(str(block["text"]))
        return len(self._blocks) > PIECES

    def _add(self, index: int, delta: Mapping[str, Any]) -> bool:
        """Take what comes next of a block; whether it has run away."""
        block = self._blocks[index]
        for name, value in delta.items():
            if name == "type":
                continue
            escaped = name == "partial_json"
            if isinstance(value, str) and self._guard.feed(
                f"{index} {name}", value, escaped=escaped
            ):
                return True
            if escaped:
                self._given[index].append(str(value))
            elif delta.get("type") == "citations_delta":
                block["citations"] = [*(block.get("citations") or []), value]
            elif isinstance(value, str):
                block[name] = (block.get(name) or "") + value
            else:
                block[name] = value
        if delta.get("type") == "text_delta":
            self._heard.text(delta["text"])
        return False

    def _end(self, index: int) -> None:
        self._whole.add(index)
        if given := "".join(self._given[index]):
            self._blocks[index]["input"] = arguments.sent(given)

    def _call(self, index: int, block: Mapping[str, Any]) -> Call:
        given = "".join(self._given[index]) or json.dumps(block.get("input") or {})
        return Call(str(block["id"]), str(block["name"]), given)

    def _drop_cut_call(self) -> None:
        last = max(self._blocks, default=-1)
        given = "".join(self._given.get(last, ()))
        if given and arguments.parsed(given) is None:
            del self._blocks[last]

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        for name in _COUNTED:
            count = (usage or {}).get(name)
            if isinstance(count, int):
                self._counts[name] = count


def request(ask: Ask, model: str) -> dict[str, Any]:
    """Return the body of a request."""
    messages = [
        {"role": message.role, "content": blocks}
        for message in ask.messages
        if (blocks := _blocks(message))
    ]
    # What comes next is asked with the same beginning: the newest message ends what is
    # stored now, the one before it what was stored by the request before.
    for message in [each for each in messages if each["role"] == "user"][-2:]:
        message["content"][-1] |= _CACHED  # type: ignore[index,operator]
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": ask.most,
        "messages": messages,
        "stream": True,
    }
    if ask.system.strip():
        body["system"] = [{"type": "text", "text": ask.system, **_CACHED}]
    if ask.tools:
        body["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.schema,
            }
            for tool in ask.tools
        ]
        body["tools"][-1] |= _CACHED
    return body


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        own = _own(message) if message.api == ANTHROPIC and message.raw else None
        if own is not None:
            return own
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": each.call,
            **({"content": each.text} if each.text.strip() else {}),
            **({"is_error": True} if each.failed else {}),
        }
        for each in message.results
    ]
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    blocks += (
        {
            "type": "tool_use",
            "id": each.id,
            "name": each.tool,
            "input": arguments.sent(each.given),
        }
        for each in message.calls
    )
    return blocks


def _own(message: Message) -> list[dict[str, Any]] | None:
    """Return the model's own blocks; None: they are not those of the message."""
    blocks: object = None
    with suppress(*MALFORMED):
        blocks = json.loads(message.raw).get("content")
    if not isinstance(blocks, list) or not all(isinstance(b, dict) for b in blocks):
        return None
    ids = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    return blocks if ids == [call.id for call in message.calls] else None
