"""A conversation goes on at a provider of another kind with all that it had."""

import json
from dataclasses import replace

import pytest

from gitagent.core.carried import obligations
from gitagent.core.conversation import CallState, Entry, Kind, Origin
from gitagent.core.models import ANTHROPIC, OPENAI
from gitagent.host.cancel import Cancel
from gitagent.model.provider import Ask, Heard, Stop, Tool
from gitagent.worker.loop import dialogue
from tests.model.asking import scripted
from tests.support.provider import Call, Say, Think

TASK = "# Task it: mend\n\nscript: it\n- `make test` passes \n\tand  nothing else"
DECIDED = "Keep the old name; ends with spaces  "
TODO = {"items": [{"text": "Mend the door\u2028twice", "state": "doing"}]}
TOOLS = tuple(
    Tool(
        name, f"To {name}.", {"type": "object", "properties": {"a": {"type": "string"}}}
    )
    for name in ("todo", "ask", "read")
)


class Record:
    """A conversation in memory, led as the loop does."""

    def __init__(self):
        self.entries = []
        self.blobs = {}

    def add(self, kind, **fields):
        number = len(self.entries) + 1
        self.entries.append(replace(Entry(kind, **fields), number=number))

    def lead(self, asking, api):
        said = dialogue.messages(self.entries, self.blobs.__getitem__, api)
        taken = dialogue.taken(self.entries)
        ask = Ask("Be brief.", said, TOOLS, taken=taken)
        turn = asking.provider.ask(ask, Heard(), Cancel())
        self.blobs[oid := f"b{len(self.entries)}"] = turn.raw
        self.add(Kind.SAY, text=turn.text, calls=turn.calls, api=api, raw=oid)
        return turn

    def answer(self, call, text, **fields):
        fields = {"state": CallState.DONE, "tool": call.tool, **fields}
        self.add(Kind.RESULT, call=call.id, text=text, **fields)


def texts(body):
    """All texts of a request, those of the user as they are."""
    for message in body["messages"]:
        content = message["content"]
        for each in content if isinstance(content, list) else [message]:
            yield each.get("text") or each.get("content") or ""


def tools(body):
    for each in body["tools"]:
        inner = each.get("function", each)
        schema = inner.get("parameters") or inner.get("input_schema")
        yield Tool(inner["name"], inner["description"], schema)


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize(("one", "other"), [(ANTHROPIC, OPENAI), (OPENAI, ANTHROPIC)])
def test_obligations_and_tools_are_the_same_at_the_other(tmp_path, one, other, summed):
    for name in ("one", "other", "back"):
        (tmp_path / name).mkdir()
    record = Record()
    record.add(Kind.INPUT, text=TASK, origin=Origin.TASK, binding=True)
    first = [Think("Hm."), Say("I begin."), Call("todo", TODO), Call("ask", "{no")]
    with scripted(tmp_path / "one", one, first) as (asking, server):
        turn = record.lead(asking, one)
        here = server.requests[-1].json
    record.answer(turn.calls[0], "Noted.")
    record.answer(turn.calls[1], DECIDED, origin=Origin.PERSON)
    if summed:
        record.add(Kind.SAY, text="I go on.", origin=Origin.MODEL)
        record.add(Kind.SUMMARY, first=1, last=4, text="A door was looked at.")
    with scripted(tmp_path / "other", other, [Say("On."), Call("read", "")]) as (
        asking,
        server,
    ):
        further = record.lead(asking, other)
        there = server.requests[-1].json
    record.answer(further.calls[0], "text")
    with scripted(tmp_path / "back", one, Say("Done.")) as (asking, server):
        end = record.lead(asking, one)
        last = server.requests[-1].json

    owed = obligations(record.entries)
    assert (TASK, DECIDED, TODO["items"][0]["text"]) == owed
    for body in (there, last):
        seen = "\n".join(texts(body))
        assert [] == [each for each in (TASK, DECIDED) if each not in seen]
        assert owed[2] in seen or TODO in _given(body)
    assert [*TOOLS] == [*tools(here)] == [*tools(there)]
    assert (Stop.CALLS, Stop.END, "Done.") == (further.stop, end.stop, end.text)
    assert summed or {"arguments": "{no"} in _given(there)
    if one == ANTHROPIC:
        # Its own thoughts are for it alone.
        assert "Hm." not in json.dumps(there)
        assert summed is ("Hm." not in json.dumps(last))


def _given(body):
    """The arguments of all calls of a request."""
    for message in body["messages"]:
        for each in message.get("tool_calls", ()):
            yield json.loads(each["function"]["arguments"])
        content = message["content"] if isinstance(message["content"], list) else ()
        yield from (each["input"] for each in content if each["type"] == "tool_use")
