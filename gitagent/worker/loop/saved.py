"""A summary that was answered, though its process ended before it was kept.

The exchange with the model is recorded before the answer is passed on. What was asked
then is made anew from the conversation, and has to be the very same.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gitagent.core import compaction, summing
from gitagent.core.compaction import Plan
from gitagent.core.conversation import Entry
from gitagent.core.exchange import Exchange, State
from gitagent.core.layout import EXCHANGES
from gitagent.core.manifest import SYNTAX, SYSTEM, TEXT, TOOLS, split, text_of
from gitagent.core.settings import Loop
from gitagent.errors import GitagentError
from gitagent.git import records
from gitagent.git.objects import Objects
from gitagent.worker import exchanges
from gitagent.worker.loop.record import Conversation

_NEWEST = 50  # records of exchanges that are looked at; a summary is among the last

_ENDED = frozenset({"end_turn", "stop_sequence", "stop", "completed"})


@dataclass(frozen=True, slots=True)
class Saved:
    """A summary from the record of exchanges."""

    plan: Plan  # what it covers
    text: str


def find(
    conversation: Conversation, plan: Plan, loop: Loop, model: str
) -> Saved | None:
    """Return a summary that was answered and does nearly what ``plan`` would.

    The same words to the same model; what cannot be read is passed over.
    """
    with suppress(GitagentError), conversation.repo.objects() as objects:
        for each in _answered(objects, conversation.name, model):
            with suppress(GitagentError):
                found = _match(objects, each, conversation.entries, plan, loop)
                text = _said(exchanges.answer(objects, each)) if found else ""
                if found and text:
                    return Saved(found, text)
    return None


def _answered(objects: Objects, name: str, model: str) -> Iterator[Exchange]:
    """Yield the newest exchanges that asked this model without any tool."""
    tip = objects.ref(EXCHANGES + name)
    chain = records.history(objects, tip) if tip else iter(())
    for commit in islice(chain, _NEWEST):
        each = exchanges.read(objects, commit.oid)
        tools = any(block.kind == TOOLS for block in each.blocks)
        if each.state is State.DONE and each.model == model and not tools:
            yield each


def _match(
    objects: Objects,
    exchange: Exchange,
    entries: tuple[Entry, ...],
    plan: Plan,
    loop: Loop,
) -> Plan | None:
    asked = _asked(exchanges.body(objects, exchange), exchange)
    named = summing.covered(asked[1]) if asked else None
    if named is None:
        return None
    found = compaction.plan(entries, 0, last=named[1])
    if found is None or summing.request(found, summing.limit(loop)) != asked:
        return None
    missed = (each for each in plan.entries if each.number > found.last)
    return found if sum(map(compaction.tokens, missed)) <= loop.keep else None


def _asked(body: bytes, exchange: Exchange) -> tuple[str, str] | None:
    """Return the system prompt and the one text of a request that has no more."""
    spans = [each for each in split(body, exchange.api) if each.kind != SYNTAX]
    found = {SYSTEM: "", TEXT: ""}
    for each in spans:
        text = text_of(each.value)
        if found.get(each.kind) != "" or text is None:
            return None
        found[each.kind] = text
    return found[SYSTEM], found[TEXT]


def _said(answer: bytes) -> str:
    """Return the text of a streamed answer that came to its proper end, else ""."""
    text, ended = [], False
    for event in _events(answer):
        delta = event.get("delta")
        if event.get("type") == "response.output_text.delta":
            text.append(str(delta))
        elif isinstance(delta, dict):
            text.append(text_of(delta) or "")
            ended = ended or delta.get("stop_reason") in _ENDED
        for choice in _dicts(event.get("choices")):
            content = (choice.get("delta") or {}).get("content")
            text.append(content if isinstance(content, str) else "")
            ended = ended or choice.get("finish_reason") in _ENDED
        response = event.get("response")
        if isinstance(response, dict):
            ended = ended or response.get("status") in _ENDED
    return "".join(text).strip() if ended else ""


def _events(answer: bytes) -> Iterator[dict[str, Any]]:
    for line in answer.splitlines():
        if not line.startswith(b"data:"):
            continue
        with suppress(ValueError, RecursionError):
            value = json.loads(line[len(b"data:") :])
            if isinstance(value, dict):
                yield value


def _dicts(value: object) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]
