"""The executor: gate, intent, body, receipt, whatever goes wrong in between."""

import json
import os
import threading
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin, pending
from gitagent.core.effect import Effect, Effects
from gitagent.core.question import Answer
from gitagent.core.reach import Facts
from gitagent.core.settings import Hook, Loop
from gitagent.errors import GitagentError, UserError
from gitagent.git import refs
from gitagent.git.repository import discover
from gitagent.host import clock
from gitagent.host.cancel import Cancel
from gitagent.worker.executor import Executor
from gitagent.worker.loop import record
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.form import Form, Who
from gitagent.worker.loop.gating import Gate
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.table import TABLE

FACTS = Facts(task="fix", tree="/workspace")
REF = "refs/gitagent/conversations/fix"


class At(NamedTuple):
    """A call that a body is asked to carry out."""

    tool: str
    given: dict
    way: Way


class Body:
    """A body that does what a test says, and remembers what it was told."""

    def __init__(self, does=lambda _: Output(b"done")):
        self.does = does
        self.calls = []
        self.order = []

    def execute(self, tool, given, way):
        self.calls.append((tool, dict(given)))
        self.order.append(f"+{tool}")
        try:
            return self.does(At(tool, given, way))
        finally:
            self.order.append(f"-{tool}")


class Knowing(Body):
    """One that can tell after a crash."""

    def probe(self, tool, given, way):
        self.calls.append(("probe", dict(given), way.key))
        return self.does(At(tool, given, way))


@pytest.fixture
def make(repo):
    """Return what makes an executor of a conversation, on one body for all tools."""
    opened = discover(repo.path)

    def make(body, facts=FACTS, **more):
        gate = more.pop("gate", Gate(facts))
        offer = more.pop("offer", None) or Offer(facts)
        conversation = Conversation.open(opened, "fix")
        bodies = {each.name: body for each in TABLE} | {"hook": more.pop("hook", body)}
        loop = more.pop("loop", Loop())
        made = Executor(conversation, gate, bodies, offer, loop, **more)
        made.conversation = conversation
        return made

    with refs.swift(opened.git):
        yield make


def call(tool, number=1, /, **given):
    return Call(f"c{number}", tool, json.dumps(given))


def shape(executor):
    return [
        (each.kind, each.call, each.state) for each in executor.conversation.entries
    ]


def last(executor):
    return executor.conversation.entries[-1]


def test_an_effect_is_intended_before_it_is_made_and_has_a_receipt_after(make):
    seen = []

    def does(_):
        seen.extend(shape(executor))
        return Output(b"12 passed\n")

    told = []
    executor = make(Body(does), told=told.append, attempt=3)
    (answered,) = executor.run([call("shell", command="make test")], Cancel())

    assert [(Kind.INTENT, "c1", None)] == seen
    intent, result = executor.conversation.entries
    assert (intent, result) == tuple(told)
    assert ("shell", "shell", "make test", 3) == (
        intent.tool,
        intent.effect,
        intent.what,
        intent.attempt,
    )
    assert {"command": "make test"} == json.loads(intent.text)
    assert 64 == len(intent.key)
    assert ("12 passed\n", CallState.DONE, Origin.WORKTREE, 10) == (
        result.text,
        result.state,
        result.origin,
        result.size,
    )
    assert ("c1", "12 passed\n", False) == (
        answered.call,
        answered.text,
        answered.failed,
    )


def test_the_key_names_the_call_and_not_what_it_does(make):
    executor = make(Body())
    for number in (1, 2):
        executor.run([call("shell", number, command="true")], Cancel())
    again = make(Body(), attempt=2)
    again.run([call("shell", 1, command="true")], Cancel())

    keys = [e.key for e in again.conversation.entries if e.kind is Kind.INTENT]
    assert 3 == len(set(keys))


def test_what_only_reads_has_no_intent(make):
    executor = make(Body())
    executor.run([call("read", path="a"), call("todo", 2, items=[])], Cancel())

    assert [
        (Kind.RESULT, "c1", CallState.DONE),
        (Kind.RESULT, "c2", CallState.DONE),
    ] == shape(executor)


def test_reads_are_made_side_by_side(make):
    together = threading.Barrier(4, timeout=20)

    def does(at):
        together.wait()
        return Output(at.given["path"].encode())

    executor = make(Body(does))
    answered = executor.run([call("read", n, path=f"f{n}") for n in range(4)], Cancel())

    assert ["f0", "f1", "f2", "f3"] == [each.text for each in answered]


def test_one_call_that_does_more_than_read_makes_the_round_go_in_order(make):
    body = Body()
    executor = make(body)
    executor.run(
        [
            call("read", 1, path="a"),
            call("write", 2, path="a", content="x"),
            call("read", 3, path="a"),
        ],
        Cancel(),
    )

    assert ["+read", "-read", "+write", "-write", "+read", "-read"] == body.order


TOOLS = {
    "read": {"path": "a"},
    "grep": {"pattern": "a"},
    "write": {"path": "a", "content": "x"},
    "edit": {"path": "a", "old": "x", "new": "y"},
    "shell": {"command": "true"},
    "todo": {"items": []},
    "nothing": {},
}


@settings(max_examples=40)
@given(rounds=st.lists(st.lists(st.sampled_from([*TOOLS]), max_size=5), max_size=3))
def test_no_two_writes_ever_overlap_and_each_call_has_one_result(rounds):
    busy, beside = [], []

    def does(at):
        busy.append(at.tool)
        for _ in range(5):
            os.sched_yield()
        if at.tool in {"write", "edit", "shell", "todo"}:
            beside.append(len(busy))
        busy.remove(at.tool)
        return Output(b"")

    kept = Kept()
    bodies = {each.name: Body(does) for each in TABLE}
    executor = Executor(kept, Gate(FACTS), bodies, Offer(FACTS), Loop())
    number = 0
    for tools in rounds:
        calls = []
        for tool in tools:
            number += 1
            calls.append(call(tool, number, **TOOLS[tool]))
        assert [c.id for c in calls] == [a.call for a in executor.run(calls, Cancel())]

    assert set(beside) <= {1}
    results = [each.call for each in kept.entries if each.kind is Kind.RESULT]
    assert sorted(f"c{n}" for n in range(1, number + 1)) == sorted(results)
    assert [] == pending(kept.entries)


class Kept:
    """A conversation that is kept nowhere, for what is about order alone."""

    name = "fix"
    full = False
    entries = ()

    def __init__(self):
        self._lock = threading.Lock()

    def append(self, entry, _=None):
        with self._lock:
            made = replace(entry, number=len(self.entries) + 1)
            self.entries = (*self.entries, made)
            return made

    def name_of(self, _):
        return "0" * 40


# --- what is not made


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("write", {"path": "/etc/passwd", "content": ""}, "lies outside"),
        ("write", {"path": ".git/config", "content": ""}, ".git stays"),
        ("shell", {"command": "sudo rm -r /"}, "no root"),
    ],
)
def test_what_the_gate_denies_is_told_and_not_made(make, tool, given, said):
    body = Body()
    executor = make(body)
    (answered,) = executor.run([call(tool, **given)], Cancel())

    assert [] == body.calls
    assert [(Kind.RESULT, "c1", CallState.DENIED)] == shape(executor)
    assert said in answered.text
    assert answered.failed
    assert Origin.GITAGENT is last(executor).origin


@pytest.mark.parametrize("given", ['{"path":"a","content":""}', '{"path":', "{}"])
@pytest.mark.parametrize(
    ("may", "profile", "said"),
    [
        (("write", "shell"), "plan", "can only read (plan): no write in it"),
        (("write", "shell"), "side", "can only read (side): no write in it"),
        (("shell",), "", "lacks the grant write"),
    ],
)
def test_a_tool_that_is_withheld_is_denied_and_not_made(
    make, may, profile, said, given
):
    body, facts = Body(), replace(FACTS, may=may)
    offer = Offer(facts, profile)
    executor = make(body, gate=Gate(facts, profile), offer=offer)
    (answered,) = executor.run([Call("c1", "Write", given)], Cancel())

    assert "write" not in offer.names
    assert [] == body.calls
    assert said in answered.text
    assert ("write", "write", CallState.DENIED) == (
        last(executor).tool,
        last(executor).effect,
        last(executor).state,
    )


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("shell", {"command": "true"}),
        ("code", {"source": "1"}),
        ("web_fetch", {"url": "http://127.0.0.1:9/"}),
        ("web_fetch", {}),
        ("mcp__s__t", {"any": 1}),
    ],
)
def test_whatever_a_plan_withholds_is_denied(make, tool, given):
    foreign = Form(
        "mcp__s__t",
        "",
        {"type": "object"},
        Who.MCP,
        lambda *_: Effect(Effects.SHELL, "server"),
        Effects.SHELL,
    )
    body = Body()
    for confined in (True, False):
        facts = replace(FACTS, confined=confined)
        offer = Offer(facts, "plan", more=(foreign,))
        executor = make(body, gate=Gate(facts, "plan"), offer=offer)
        executor.bodies[tool] = body
        executor.run([call(tool, **given)], Cancel())

        assert CallState.DENIED is last(executor).state
    assert [] == body.calls


def test_a_tool_that_the_definition_does_not_name_is_none(make):
    executor = make(Body(), offer=Offer(FACTS, tools=("read",)))
    (answered,) = executor.run([call("write", path="a", content="")], Cancel())

    assert "There is no tool 'write'; there are read" in answered.text


def test_what_stands_in_every_request_counts_without_an_entry(make):
    facts = replace(FACTS, may=("write", "start_task"))
    gate = Gate(facts, origins=frozenset({Origin.MCP}))
    executor = make(Body(), facts, gate=gate)
    executor.run([call("write", path=".agent/tasks/more.md", content="Go.")], Cancel())

    assert CallState.NEEDS_DECISION is last(executor).state


def test_the_gate_is_asked_anew_for_each_call(make):
    body = Body()
    executor = make(body)
    executor.run([call("write", 1, path="a", content="x")], Cancel())
    executor.gate = replace(executor.gate, facts=replace(FACTS, forbidden=("a",)))
    executor.run([call("write", 2, path="a", content="x")], Cancel())

    assert 1 == len(body.calls)
    assert CallState.DENIED is last(executor).state


def test_what_needs_a_decision_is_asked_once_answered_and_made(make):
    body = Body()
    gate = Gate(FACTS, decide=("shell",))
    executor = make(body, gate=gate)
    (answered,) = executor.run([call("shell", command="make deploy")], Cancel())
    (asked,) = executor.asked

    assert [] == body.calls
    assert "make the very same call again" in answered.text
    assert "make deploy" in asked.text
    assert CallState.NEEDS_DECISION is last(executor).state

    executor.gate = replace(gate, answers=(Answer(asked.text, "yes"),))
    executor.run([call("shell", 2, command="make deploy")], Cancel())
    assert () == executor.asked
    assert [("shell", {"command": "make deploy"})] == body.calls

    executor.run([call("shell", 3, command="make deploy")], Cancel())
    assert CallState.NEEDS_DECISION is last(executor).state
    assert 1 == len(body.calls)


def test_what_a_person_has_confirmed_is_made_unless_the_gate_denies_it_by_now(make):
    body = Body()
    executor = make(body, gate=Gate(FACTS, decide=("write",)), asked=" Wait.")
    wanted = call("write", path="a", content="x")
    (answered,) = executor.run([wanted], Cancel())
    made = executor.confirmed(replace(wanted, id="decide 3"), Cancel())
    facts = replace(FACTS, forbidden=("a",))
    executor.gate = replace(executor.gate, facts=facts)
    denied = executor.confirmed(replace(wanted, id="decide 4"), Cancel())

    assert answered.text.endswith(" Wait.")
    assert (CallState.DONE, "decide 3") == (made.state, made.call)
    assert CallState.DENIED is denied.state
    assert 1 == len(body.calls)


def test_a_yes_counts_once_also_after_a_restart(make):
    gate = Gate(FACTS, decide=("shell",))
    first = make(Body(), gate=gate)
    first.run([call("shell", command="make deploy")], Cancel())
    gate = replace(gate, answers=(Answer(first.asked[0].text, "yes"),))
    make(Body(), gate=gate).run([call("shell", 2, command="make deploy")], Cancel())
    third = make(Body(), gate=gate)
    third.run([call("shell", 3, command="make deploy")], Cancel())

    assert CallState.NEEDS_DECISION is last(third).state


def test_what_the_model_asks_is_told_to_who_leads(make):
    asked = (Answer("Which?", "a"),)
    executor = make(Body(lambda _: Output(b"Recorded.", asked=asked)))
    executor.run([call("ask", questions=[{"text": "Which?"}])], Cancel())

    assert asked == executor.asked


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("nothing", "{}", "There is no tool 'nothing'; there are read, glob"),
        ("keep", '{"key":"a","value":1}', "There is no tool 'keep'"),
        ("hook", '{"run":"true"}', "There is no tool 'hook'"),
        ("read", "{}", "`path` is missing"),
        ("read", '{"pth":"a"}', 'it has no key "pth"; did you mean path?'),
        ("read", '{"path":7}', "`path` has to be a text, not 7"),
        ("read", '{"path":"a","limit":0}', "`limit` has to be at least 1"),
        ("read", '{"path"', "is not JSON"),
        ("read", "[]", "no object"),
        ("todo", '{"items":[{"text":"a","state":"old"}]}', "one of open, doing, done"),
        ("shell", f'{{"command":"a","seconds":1{"0" * 400}}}', "too large a number"),
        ("write", f'{{"path":"a","content":{"[" * 950}{"]" * 950}}}', "too deeply"),
        ("todo", f'{{"items":{"[" * 400}{"]" * 400}}}', "nested too deeply"),
        ("\x1b]0;" + "x" * 10_000, "{}", "There is no tool '\\x1b]0;xx"),
    ],
)
def test_a_slip_of_the_model_gets_the_sentence_that_mends_it(make, tool, given, said):
    body = Body()
    executor = make(body)
    (answered,) = executor.run([Call("c1", tool, given)], Cancel())

    assert said in answered.text
    assert [] == body.calls
    assert [(Kind.RESULT, "c1", CallState.FAILED)] == shape(executor)


@pytest.mark.parametrize("given", ["{}", "", "  ", '{"view":null}'])
def test_a_call_without_arguments_is_made(make, given):
    body = Body()
    executor = make(body)
    given = given if "view" not in given else "{}"
    executor.run([Call("c1", "task_status", given)], Cancel())

    assert [("task_status", {})] == body.calls


def test_an_argument_that_is_null_is_as_good_as_none(make):
    body = Body()
    make(body).run([call("read", path="a", offset=None)], Cancel())

    assert [("read", {"path": "a"})] == body.calls


# --- what goes wrong


def test_a_body_that_raises_is_a_failed_call_in_one_line(make):
    def does(_):
        raise ValueError("no\nluck \x1b[31m")

    executor = make(Body(does))
    (answered,) = executor.run([call("shell", command="true")], Cancel())

    assert (
        "shell could not be carried out (ValueError: no luck \\x1b[31m)."
        == answered.text
    )
    assert CallState.FAILED is last(executor).state


def test_a_tool_without_a_body_is_told(make):
    executor = make(Body())
    del executor.bodies["read"]
    (answered,) = executor.run([call("read", path="a")], Cancel())

    assert "read cannot be used here." == answered.text


def test_what_was_printed_before_a_stop_is_kept(make):
    cancel = Cancel()

    def does(at):
        at.way.cancel.set()
        return Output(b"half of it\n", CallState.INTERRUPTED)

    body = Body(does)
    executor = make(body)
    answered = executor.run(
        [call("shell", 1, command="a"), call("shell", 2, command="b")], cancel
    )

    assert answered[0].text.startswith("half of it\n[interrupted: what it did")
    assert answered[1].text.startswith("Nothing was done")
    assert 1 == len(body.calls)
    assert [
        (Kind.INTENT, "c1", None),
        (Kind.RESULT, "c1", CallState.INTERRUPTED),
        (Kind.RESULT, "c2", CallState.INTERRUPTED),
    ] == shape(executor)


def test_a_call_has_what_is_left_of_the_time_and_none_is_made_after_it(make):
    ways = []

    def does(at):
        ways.append(at.way.seconds)
        return Output(b"")

    executor = make(Body(does), deadline=clock.monotonic() + 5)
    executor.run([call("shell", command="true")], Cancel())
    executor = make(Body(does))
    executor.run([call("shell", 2, command="true", seconds=7)], Cancel())
    executor.run([call("shell", 3, command="true", seconds=9999)], Cancel())
    executor = make(Body(does), deadline=clock.monotonic())
    (late,) = executor.run([call("shell", 4, command="true")], Cancel())

    assert ways[0] <= 5
    assert [7, 120] == ways[1:]
    assert "Nothing was done: no time is left for it." == late.text


def test_who_lost_the_conversation_makes_nothing_more(make):
    body = Body()
    executor = make(body)
    executor.run([call("read", path="a")], Cancel())
    make(Body()).run([call("read", 2, path="a")], Cancel())

    with pytest.raises(GitagentError, match="led by another process"):
        executor.run([call("shell", 3, command="true")], Cancel())
    assert 1 == len(body.calls)


# --- output


def test_the_outputs_of_one_round_share_the_room_of_four_long_ones(make):
    executor = make(Body(lambda _: Output(b"x" * 60 * 1024)))

    texts = executor.run([call("read", n, path="a") for n in range(1, 9)], Cancel())

    assert 4 * 50 * 1024 < sum(len(each.text) for each in texts) < 4 * 51 * 1024
    (alone,) = executor.run([call("read", 9, path="a")], Cancel())
    assert 50 * 1024 < len(alone.text) < 51 * 1024


def test_the_whole_of_a_long_output_is_a_blob_that_the_last_line_names(make, repo):
    whole = b"".join(b"line %d\n" % n for n in range(30_000))
    executor = make(Body(lambda _: Output(whole)))
    (answered,) = executor.run([call("shell", command="seq")], Cancel())
    result = last(executor)

    assert str(len(whole)) == repo.git("cat-file", "-s", result.whole)
    assert whole == repo.raw("cat-file", "blob", result.whole)
    assert len(whole) == result.size
    lines = answered.text.split("\n")
    assert lines[-1] == (
        f"[output cut: {len(whole)} bytes, 30000 lines in all; the whole is blob "
        f"{result.whole}]"
    )
    assert "line 29999" == lines[-2]
    assert len(answered.text.encode()) < 52 * 1024
    assert len(lines) <= 2003


def test_nothing_is_begun_in_a_record_that_is_full(make, monkeypatch):
    body = Body(lambda _: Output(os.urandom(1000)))
    executor = make(body)
    executor.run([call("shell", 1, command="yes")], Cancel())
    monkeypatch.setattr(record, "MOST", 1000)
    (answered,) = executor.run([call("shell", 2, command="yes")], Cancel())

    assert "Nothing was done: the record of this conversation is full." == answered.text
    assert 1 == len(body.calls)
    assert (Kind.RESULT, "c2", CallState.FAILED) == shape(executor)[-1]
    with pytest.raises(UserError, match="is full"):
        executor.conversation.append(Entry(Kind.SAY, text="more"))
    executor.conversation.append(Entry(Kind.END, ended="failed"))


def test_what_came_beyond_the_most_is_counted(make):
    executor = make(Body(lambda _: Output(b"a\n" * 10, dropped=1000)))
    (answered,) = executor.run([call("shell", command="yes")], Cancel())

    assert 1020 == last(executor).size
    assert "1020 bytes, 10 lines in all; the first 20 bytes are blob" in answered.text


def test_odd_bytes_are_shown_and_kept_as_they_were(make, repo):
    whole = b"a\x1b]0;x\x07\xff\r\n"
    executor = make(Body(lambda _: Output(whole)))
    (answered,) = executor.run([call("read", path="a")], Cancel())

    assert "a\\x1b]0;x\\x07\ufffd\n" == answered.text
    assert whole == repo.raw("cat-file", "blob", last(executor).whole)


def test_a_snapshot_is_pinned_beside_the_text(make, repo):
    facts = replace(FACTS, network=("docs.example:443",))
    output = Output(b"text", origin=Origin.WEB, snapshot=b"<html>")
    executor = make(Body(lambda _: output), facts)
    executor.run([call("web_fetch", url="https://docs.example/a")], Cancel())

    assert b"<html>" == repo.raw("cat-file", "blob", last(executor).snapshot)
    assert Origin.WEB is last(executor).origin


# --- code


def test_what_code_calls_comes_the_same_way(make):
    texts = []

    def does(at):
        if at.tool != "code":
            return Output(f"{at.tool} ok".encode() * (9000 if at.tool == "grep" else 1))
        for name, args in [
            ("write", {"path": "a", "content": "x"}),
            ("write", {"path": "/etc/x", "content": ""}),
            ("grep", {"pattern": "x"}),
            ("code", {"source": "1"}),
            ("nothing", {}),
        ]:
            texts.append(at.way.nested(name, args))
        return Output(b"emitted")

    executor = make(Body(does))
    (answered,) = executor.run([call("code", source="...")], Cancel())

    assert "emitted" == answered.text
    assert [True, False, True, False, False] == [ok for _, ok in texts]
    assert "write ok" == texts[0][0]
    assert "lies outside" in texts[1][0]
    assert 9000 * 7 == len(texts[2][0])
    assert "Code cannot call code." == texts[3][0]
    assert [
        (Kind.INTENT, "c1", None),
        (Kind.INTENT, "c1.1", None),
        (Kind.RESULT, "c1.1", CallState.DONE),
        (Kind.RESULT, "c1.2", CallState.DENIED),
        (Kind.RESULT, "c1.3", CallState.DONE),
        (Kind.RESULT, "c1.4", CallState.FAILED),
        (Kind.RESULT, "c1.5", CallState.FAILED),
        (Kind.RESULT, "c1", CallState.DONE),
    ] == shape(executor)
    vias = [each.via for each in executor.conversation.entries]
    assert ["", *["c1"] * 6, ""] == vias


@pytest.mark.parametrize("origin", Origin)
def test_what_code_says_has_the_origin_of_what_it_was_told(make, origin):
    def does(at):
        if at.tool != "code":
            return Output(b"told", origin=origin)
        at.way.nested("read", {"path": "a"})
        return Output(at.way.nested("read", {"path": "b"})[0].encode())

    executor = make(Body(does))
    executor.run([call("code", source="...")], Cancel())

    others = {Origin.WEB, Origin.MCP}
    assert (origin if origin in others else Origin.WORKTREE) is last(executor).origin


def test_a_call_of_code_that_is_nested_too_deeply_is_told(make):
    deep: list[object] = []
    for _ in range(900):
        deep = [deep]
    said = []

    def does(at):
        said.append(at.way.nested("keep", {"key": "a", "value": deep}))
        return Output(b"")

    make(Body(does)).run([call("code", source="...")], Cancel())

    assert [("Nothing was done: its arguments are nested too deeply", False)] == [
        (text.partition(";")[0], ok) for text, ok in said
    ]


# --- hooks


def hooked(make, does, *hooks):
    hook, body = Body(does), Body()
    return make(body, hook=hook, hooks=hooks), hook, body


def test_a_hook_that_decides_is_asked_with_the_call(make):
    hooks = (Hook("first", "check"), Hook("other", "x", tools=("Edit",)))
    executor, hook, body = hooked(make, lambda _: Output(b""), *hooks)
    executor.run([call("write", path="a", content="x")], Cancel())

    ((tool, given),) = hook.calls
    assert ("hook", "check") == (tool, given["run"])
    assert ("write", "a", "write", {"path": "a", "content": "x"}) == tuple(
        given["call"][key] for key in ("tool", "what", "effect", "given")
    )
    assert 1 == len(body.calls)


def broken(_):
    raise OSError("no such program")


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (lambda _: Output(b"not on a Friday\n", CallState.FAILED), "not on a Friday"),
        (lambda _: Output(b"", CallState.INTERRUPTED), "interrupted"),
        (broken, "no such program"),
    ],
)
def test_a_hook_that_says_no_or_cannot_say_stops_the_call(make, does, said):
    executor, _, body = hooked(make, does, Hook("freeze", "check", tools=("Bash",)))
    (answered,) = executor.run([call("shell", command="true")], Cancel())
    executor.run([call("read", 2, path="a")], Cancel())

    assert [("read", {"path": "a"})] == body.calls
    assert f"The hook freeze does not allow it: {said}" == answered.text
    assert (Kind.RESULT, "c1", CallState.DENIED) == shape(executor)[0]


@pytest.mark.parametrize("does", [lambda _: Output(b"no", CallState.FAILED), broken])
def test_a_hook_that_looks_on_stops_nothing(make, does):
    hooks = (
        Hook("before", "x", policy=False),
        Hook("after", "x", on="after_tool", policy=True),
    )
    executor, hook, _ = hooked(make, does, *hooks)
    executor.run([call("shell", command="true")], Cancel())

    assert CallState.DONE is last(executor).state
    assert 2 == len(hook.calls)
    assert {"state": "done", "text": "done"}.items() <= hook.calls[1][1]["call"].items()


def test_without_what_runs_them_a_hook_that_decides_says_no(make):
    executor = make(Body(), hooks=(Hook("freeze", "check"),))
    del executor.bodies["hook"]
    (answered,) = executor.run([call("read", path="a")], Cancel())

    assert "The hook freeze does not allow it: it cannot be started here" == (
        answered.text
    )


# --- after a crash


def cut_off(make, *calls, intents=()):
    """Leave a conversation as a process does that dies in a round."""
    conversation = make(Body()).conversation
    conversation.append(Entry(Kind.SAY, calls=calls))
    for each in intents:
        conversation.append(each)


def intent(tool, effect, number=1, /, **given):
    return Entry(
        Kind.INTENT,
        call=f"c{number}",
        tool=tool,
        effect=effect,
        what="x",
        key="k" * 64,
        text=json.dumps(given),
    )


def test_what_was_cut_off_is_told_and_never_made_again(make):
    cut_off(
        make,
        call("shell", 1, command="make deploy"),
        call("write", 2, path="a", content=""),
        call("read", 3, path="a"),
        intents=[intent("shell", "shell", 1, command="make deploy")],
    )
    body = Body()
    executor = make(body)
    found = executor.recover()

    assert [] == body.calls
    assert [("c1", CallState.INTERRUPTED)] == [(e.call, e.state) for e in found[:1]]
    assert ["may have been carried out" in each.text for each in found] == [
        True,
        False,
        False,
    ]
    assert ["was not" in f"was not{e.text}" for e in found] == [True] * 3
    assert ["Call it again" in each.text for each in found] == [False, True, True]
    assert [] == make(body).recover()


@pytest.mark.parametrize(
    ("does", "state", "text"),
    [
        (lambda _: Output(b"task x is there"), CallState.DONE, "task x is there"),
        (lambda _: Output(b"no", CallState.FAILED), CallState.FAILED, "no"),
        (lambda _: None, CallState.UNCERTAIN, "find out"),
        (broken, CallState.UNCERTAIN, "no such program"),
    ],
)
def test_who_can_tell_is_asked_what_became_of_it(make, does, state, text):
    facts = replace(FACTS, may=("start_task",))
    offer = Offer(facts, chat=True)
    given = {"id": "x", "title": "t", "text": "t"}
    cut_off(
        make,
        call("start_task", **given),
        intents=[intent("start_task", "start_task", 1, **given)],
    )
    body = Knowing(does)
    executor = make(body, facts, offer=offer)
    (found,) = executor.recover()

    assert [("probe", given, "k" * 64)] == body.calls
    assert state is found.state
    assert text.lower() in found.text.lower()


def test_nobody_to_ask_is_uncertain(make):
    facts = replace(FACTS, network=("docs.example:443",))
    url = "https://docs.example/a"
    cut_off(
        make,
        call("web_fetch", url=url),
        intents=[intent("web_fetch", "network", 1, url=url)],
    )
    (found,) = make(Body(), facts).recover()

    assert CallState.UNCERTAIN is found.state


def test_the_policy_of_now_counts_after_a_crash(make):
    given = {"id": "x", "title": "t", "text": "t"}
    cut_off(
        make,
        call("start_task", 1, **given),
        call("write", 2, path="a", content=""),
        intents=[intent("start_task", "start_task", 1, **given)],
    )
    body = Knowing()
    facts = replace(FACTS, may=("write",), forbidden=("a",))
    found = make(body, facts).recover()

    assert [] == body.calls
    assert [CallState.UNCERTAIN, CallState.DENIED] == [each.state for each in found]
    assert "It may not be made now: This agent lacks the grant" in found[0].text


def test_what_was_cut_off_is_denied_when_it_is_made_again_by_a_tighter_policy(make):
    given = {"path": "a", "content": "x"}
    cut_off(make, call("write", **given), intents=[intent("write", "write", **given)])
    body = Body()
    executor = make(body, replace(FACTS, forbidden=("a",)))
    (found,) = executor.recover()
    (answered,) = executor.run([call("write", 2, **given)], Cancel())

    assert [] == body.calls
    assert CallState.INTERRUPTED is found.state
    assert "It may not be made now: a is in the task's `forbidden`" in found.text
    assert CallState.DENIED is last(executor).state
    assert "`forbidden`" in answered.text


def test_calls_of_code_that_were_cut_off_have_a_result_too(make):
    inner = replace(
        intent("write", "write", 1, path="a", content=""), call="c1.1", via="c1"
    )
    cut_off(
        make,
        call("code", source="..."),
        intents=[intent("code", "shell", 1, source="..."), inner],
    )
    found = make(Body()).recover()

    assert [("c1", ""), ("c1.1", "c1")] == [(each.call, each.via) for each in found]


def test_an_error_of_ours_names_its_mend():
    def does(_):
        raise UserError("it is away", "start it")

    bodies = {each.name: Body(does) for each in TABLE}
    executor = Executor(Kept(), Gate(FACTS), bodies, Offer(FACTS), Loop())
    (answered,) = executor.run([call("read", path="a")], Cancel())

    assert "(UserError: it is away; start it)" in answered.text
