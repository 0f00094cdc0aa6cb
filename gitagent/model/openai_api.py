"""The OpenAI chat completions API, by its vendor's client, through the gateway.

Many servers speak it, each in its own way: calls without ids or with the same ones
again, another name for the limit of an answer, fields of their own in a call that they
want back.

Source: the API's reference (chat completions, streaming, function calling).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx2
import openai

from gitagent.core.conversation import Call
from gitagent.core.models import OPENAI
from gitagent.host.cancel import Cancel
from gitagent.model import arguments
from gitagent.model.failing import MALFORMED, broken, lacking, refused
from gitagent.model.hop import URL, Hop
from gitagent.model.provider import Ask, Heard, Message, NoTurn, Stop, Turn
from gitagent.model.runaway import PIECES, Guard

_STOPS = {
    "stop": Stop.END,
    "tool_calls": Stop.CALLS,
    "function_call": Stop.CALLS,
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
}
# The first is the name that the vendor's newest models take alone; servers that do not
# know it say so.
_LIMITS = ("max_completion_tokens", "max_tokens")


class OpenAiProvider:
    """See `provider.Provider`."""

    tools = True

    def __init__(self, socket: str, token: str, model: str) -> None:
        self._model = model
        self._limit = _LIMITS[0]
        self._hop = Hop(socket)
        self._client = openai.OpenAI(
            api_key=token,
            base_url=f"{URL}/v1",
            max_retries=0,
            http_client=self._hop.client,
        )

    def close(self) -> None:
        """See `provider.Provider`."""
        self._hop.close()

    def ask(self, ask: Ask, heard: Heard, cancel: Cancel) -> Turn | NoTurn:
        """See `provider.Provider`."""
        missing = lacking(ask, self._model, tools=self.tools)
        if missing:
            return missing
        found = self._ask(ask, heard, cancel)
        if (
            isinstance(found, NoTurn)
            and self._limit == _LIMITS[0]
            and self._limit in found.sentence
        ):
            self._limit = _LIMITS[1]
            found = self._ask(ask, heard, cancel)
        return found

    def _ask(self, ask: Ask, heard: Heard, cancel: Cancel) -> Turn | NoTurn:
        coming = _Coming(ask, heard)
        stop: Stop | None = None
        try:
            with self._hop.cutting(cancel):
                if not cancel.is_set():
                    stop = coming.read(self._events(ask), cancel)
            if stop is not None:
                return coming.turn(stop)
        except (openai.APIError, httpx2.HTTPError, *MALFORMED) as error:
            if not cancel.is_set():
                return self._wrong(ask, error, coming.text)
        if not cancel.is_set():
            return broken(EOFError("it ended before its end"), coming.text)
        return coming.turn(Stop.CANCELLED)

    def _wrong(self, ask: Ask, error: Exception, partial: str) -> NoTurn:
        match error:
            case openai.APIStatusError():
                return refused(ask, self._model, error.status_code, error.body, partial)
            case openai.APIConnectionError():
                return broken(error.__cause__ or error, partial)
            case openai.APIError():  # an event of the stream
                return refused(ask, self._model, 200, error.body, partial)
            case _:
                return broken(error, partial)

    def _events(self, ask: Ask) -> Iterator[Mapping[str, Any]]:
        stream = self._client.post(
            "/chat/completions",
            cast_to=object,
            content=arguments.body(request(ask, self._model, self._limit)),
            stream=True,
            stream_cls=openai.Stream[object],
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
        self._said: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}  # as they go back, but for:
        self._given: dict[int, list[str]] = {}  # arguments in pieces
        self._kept: dict[str, Any] = {}  # fields of the server's own
        self._stop = ""
        self._counted = 0

    @property
    def text(self) -> str:
        """What it has said so far."""
        return "".join(self._said or self._refusal)

    def read(self, events: Iterator[Mapping[str, Any]], cancel: Cancel) -> Stop | None:
        """Take all events; None: they ended before the answer did."""
        for event in events:
            if cancel.is_set():
                return Stop.CANCELLED
            if usage := event.get("usage"):
                both = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
                self._counted = int(usage.get("total_tokens") or both)
            for choice in event.get("choices") or ():
                self._stop = choice.get("finish_reason") or self._stop
                if self._add(choice.get("delta") or {}):
                    return Stop.RUNAWAY
        if not self._stop:
            return None
        if self._refusal:
            return Stop.REFUSAL
        return _STOPS.get(self._stop, Stop.END)

    def turn(self, stop: Stop) -> Turn:
        """Return what came, without what is only begun."""
        whole = stop not in {Stop.RUNAWAY, Stop.CANCELLED}
        calls: list[Call] = []
        own: list[dict[str, Any]] = []
        for index, kept in sorted(self._calls.items()):
            # A call has no end of its own: one is whole when the next one has begun.
            last = index == max(self._calls)
            given = "".join(self._given[index]) or "{}"
            cut = stop is Stop.LENGTH and arguments.parsed(given) is None
            if last and (cut or not whole):
                continue
            name = arguments.name(kept["function"]["name"])
            call = Call(kept["id"], name, given)
            calls.append(call)
            own.append({**kept, "function": {"name": name, **_given(call)}})
        if stop in (Stop.END, Stop.CALLS):
            stop = Stop.CALLS if calls else Stop.END
        message: dict[str, Any] = {"content": self.text or None, **self._kept}
        if own:
            message["tool_calls"] = own
        said = bool(own or self.text.strip())
        return Turn(
            self.text,
            tuple(calls),
            stop,
            arguments.body(message) if said else b"",
            self._counted,
        )

    def _add(self, delta: Mapping[str, Any]) -> bool:
        """Take what comes next; whether it has run away."""
        for name, value in delta.items():
            if isinstance(value, str):
                # Thoughts come as texts under several names; not all servers that send
                # them take them back.
                if self._guard.feed(name, value):
                    return True
                if name == "content" and value:
                    self._said.append(value)
                    self._heard.text(value)
                elif name == "refusal" and value:
                    self._refusal.append(value)
            elif name == "tool_calls":
                if any(self._add_call(each) for each in value or ()):
                    return True
            elif isinstance(value, list) and value:
                self._kept[name] = [*self._kept.get(name, []), *value]
        return False

    def _add_call(self, delta: Mapping[str, Any]) -> bool:
        index = self._index(delta)
        kept = self._calls.get(index)
        if kept is None:
            kept = self._calls[index] = {
                "id": arguments.ident(delta.get("id"), self._taken),
                "type": "function",
                "function": {"name": ""},
            }
            self._given[index] = []
            if len(self._calls) > PIECES:
                return True
        own = {k: v for k, v in delta.items() if k not in _OF_A_CALL and v is not None}
        kept |= own
        function = delta.get("function") or {}
        # Some servers say the name again with each piece.
        kept["function"]["name"] = (
            kept["function"]["name"] or function.get("name") or ""
        )
        given = function.get("arguments") or ""
        if isinstance(given, dict):
            given = json.dumps(given)
        self._given[index].append(given)
        return self._guard.feed(f"call {index}", given, escaped=True)

    def _index(self, delta: Mapping[str, Any]) -> int:
        """Return which call it is of; without an index, a new id or name begins one."""
        given = delta.get("index")
        if given is not None:
            return int(given)
        last = max(self._calls, default=-1)
        begins = delta.get("id") or (delta.get("function") or {}).get("name")
        return last + 1 if begins or last < 0 else last


_OF_A_CALL = frozenset({"index", "id", "type", "function"})


def _given(call: Call) -> dict[str, str]:
    """Return the arguments of a call as a server that reads them can take them."""
    whole = arguments.parsed(call.given)
    text = call.given.strip() or "{}"
    if whole is None:
        text = json.dumps(arguments.sent(call.given), ensure_ascii=False)
    return {"arguments": text}


def request(ask: Ask, model: str, limit: str = _LIMITS[0]) -> dict[str, Any]:
    """Return the body of a request."""
    messages: list[dict[str, Any]] = []
    if ask.system.strip():
        messages.append({"role": "system", "content": ask.system})
    for message in ask.messages:
        messages += _messages(message)
    body: dict[str, Any] = {
        "model": model,
        limit: ask.most,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if ask.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                },
            }
            for tool in ask.tools
        ]
    return body


def _messages(message: Message) -> Iterator[dict[str, Any]]:
    said = message.text if message.text.strip() else None
    if message.role == "assistant":
        own = _own(message) if message.api == OPENAI and message.raw else None
        calls = [
            {
                "id": each.id,
                "type": "function",
                "function": {"name": each.tool, **_given(each)},
            }
            for each in message.calls
        ]
        more = {"tool_calls": calls} if calls else {}
        if own or said or calls:
            yield {"role": "assistant", **(own or {"content": said, **more})}
        return
    for each in message.results:
        yield {"role": "tool", "tool_call_id": each.call, "content": each.text}
    if said is not None:
        yield {"role": "user", "content": said}


def _own(message: Message) -> dict[str, Any] | None:
    """Return the model's own message; None: it is not what was said."""
    with suppress(*MALFORMED):
        own = json.loads(message.raw)
        ids = [each["id"] for each in own.get("tool_calls", ())]
        if ids == [call.id for call in message.calls]:
            return dict(own)
    return None
