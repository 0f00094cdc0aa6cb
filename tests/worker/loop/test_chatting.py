"""A chat: what is said is durable, is there once, waits its turn, outlives crashes."""

import threading

import pytest

from gitagent.core import chats
from gitagent.core.chat import (
    Bye,
    Decide,
    Delta,
    Doing,
    Greeting,
    Hello,
    Plan,
    Refused,
    Rewind,
    Sent,
    Side,
    SideEnd,
    State,
    Stop,
    Told,
    Trouble,
    Undone,
    When,
)
from gitagent.core.conversation import (
    Call,
    CallState,
    Ended,
    Entry,
    Kind,
    Origin,
    pending,
)
from gitagent.core.effect import taint
from gitagent.core.reach import Facts
from gitagent.git.repository import discover
from gitagent.model.provider import NoTurn, Wrong
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.turns import Over
from tests.support.waiting import wait_for
from tests.worker.loop.talk import Model, Open, Step


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def start(repo, tmp_path_factory, model):
    opened = []
    at = discover(repo.path)

    def start(**more) -> Open:
        made = Open(at, tmp_path_factory.mktemp("s"), model, **more)
        opened.append(made)
        return made

    yield start
    for each in opened:
        each.end()


def inputs(chat):
    return [each for each in chat.entries() if each.kind is Kind.INPUT]


def test_what_is_called_sent_is_in_the_record(start):
    chat = start()
    with chat.person() as person:
        person.say("Hello", "r1")
        sent = person.until(Sent)

        assert chat.entries()[sent.number - 1].text == "Hello"
        assert person.answer("r1").text == "Well."
        assert [Ended.DONE] == [e.ended for e in chat.entries() if e.kind is Kind.END]


def test_fifty_clients_submit_one_request_and_it_is_recorded_once(start):
    chat = start()
    numbers, lock = [], threading.Lock()

    def submit():
        with chat.person(hello=None) as person:
            for _ in range(4):
                person.say("Hello", "r1")
                sent = person.until(Sent)
                with lock:
                    numbers.append(sent.number)

    threads = [threading.Thread(target=submit) for _ in range(13)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert 1 == len(inputs(chat))
    assert 52 == len(numbers)
    assert {inputs(chat)[0].number} == set(numbers)


def test_a_request_is_known_after_a_restart_with_its_answer(start, model):
    model.steps = [Step("Forty-two.")]
    chat = start()
    with chat.person() as person:
        person.say("What is it?", "r1")
        person.answer("r1")
    chat.end()
    again = start()
    with again.person(Hello(since=2**53 - 1)) as person:
        person.say("What is it?", "r1")

        assert "Forty-two." == person.answer("r1").text
    assert ["What is it?"] == again.texts()
    assert 1 == len(model.asked)


def test_what_follows_waits_for_the_turn_and_each_has_its_answer(start, model):
    gate = threading.Event()
    model.steps = [Step("One.", gate=gate), Step("Two."), Step("Three.")]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        for each in ("b", "c"):
            person.say(each)
            person.until(Sent, lambda sent, each=each: sent.request == each)
        gate.set()
        answers = [person.answer(each).text for each in "abc"]

    assert ["One.", "Two.", "Three."] == answers
    assert [["a"], ["a", "b"], ["a", "b", "c"]] == model.asked
    assert ["a", "b", "c", "", ""] == chat.texts()


@pytest.mark.parametrize(
    "failed",
    [
        Step(over=Over(Ended.BUDGET, "The budget is used up.")),
        Step(error=RuntimeError("a bug")),
    ],
)
def test_the_queue_is_drained_after_a_turn_that_failed(start, model, failed):
    gate = failed.gate = threading.Event()
    model.steps = [failed, Step("Better.")]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.say("b")
        person.until(Sent, lambda sent: sent.request == "b")
        gate.set()
        first, second = person.answer("a"), person.answer("b")

    assert (0, "") == (first.number, first.text)
    assert first.sentence
    assert "Better." == second.text


def test_a_steering_word_comes_after_the_results_of_the_calls(start, model):
    gate = threading.Event()
    calls = (Call("c1", "status", "{}"),)
    model.steps = [Step("I look.", calls, gate=gate), Step("Done.")]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.say("b", when=When.STEER)
        person.until(Sent, lambda sent: sent.request == "b")
        gate.set()
        answers = person.answer("a"), person.answer("b")

    kinds = [each.kind for each in chat.entries()]
    steered = next(each for each in chat.entries() if each.places)
    assert ["Done.", "Done."] == [each.text for each in answers]
    assert [["a"], ["a", "b"]] == model.asked
    assert kinds.index(Kind.RESULT) < steered.number - 1
    assert 1 == kinds.count(Kind.END)


def test_what_must_not_wait_is_refused_while_a_turn_runs_and_never_recorded(
    start, model
):
    gate = threading.Event()
    model.steps = [Step("One.", gate=gate)]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.say("b", when=When.REJECT)
        refused = person.until(Refused)
        gate.set()
        person.answer("a")
        person.say("c", when=When.REJECT)
        person.answer("c")

    assert "b" == refused.request
    assert ["a", "c"] == chat.texts()


def test_a_stop_ends_the_turn_and_is_recorded(start, model):
    model.steps = [Step(gate=threading.Event())]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.send(Stop())
        answer = person.answer("a")
        person.say("b")
        person.answer("b")

    stopped = model.asked[-1][1]
    assert (0, "It was stopped.") == (answer.number, answer.sentence)
    assert "stopped" in stopped
    assert Ended.STOPPED in [each.ended for each in chat.entries()]


def test_a_turn_that_was_cut_off_goes_on_and_what_waited_comes_after(start, model):
    model.steps = [Step(gate=threading.Event())]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.say("b")
        person.until(Sent, lambda sent: sent.request == "b")
        chat.end()
    ended = [each for each in chat.entries() if each.kind is Kind.END]
    model.steps = [Step("First."), Step("Second.")]
    again = start()
    with again.person() as person:
        person.say("b", "b")
        answer = person.answer("b")

    assert [] == ended
    assert "Second." == answer.text
    assert [["a"], ["a"], ["a", "b"]] == model.asked
    assert ["a", "b", ""] == again.texts()


def test_a_turn_that_a_person_stopped_does_not_go_on_when_it_is_opened_again(
    start, model
):
    model.steps = [Step(gate=threading.Event())]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.send(Stop())
        person.answer("a")
    chat.end()
    again = start()
    with again.person() as person:
        assert State.IDLE is person.until(Greeting).state
    assert 1 == len(model.asked)


def test_a_client_gets_what_it_lacks_and_the_answer_that_is_coming(start, model):
    gate = threading.Event()
    model.steps = [Step("Hello there.", gate=gate, deltas=("Hel", "lo"))]
    chat = start()
    with chat.person() as first:
        first.say("a")
        model.wait()
        first.until(Delta)
        with chat.person(Hello(since=1)) as second:
            greeting = second.until(Greeting)
            told = second.until(Told)
            delta = second.until(Delta)
            gate.set()
            said = second.until(Told)

    assert (2, 2, State.ASKING) == (greeting.entries, greeting.first, greeting.state)
    assert "a" == told.entry.text
    assert "Hello there.".startswith(delta.text)
    assert "Hello there." == said.entry.text


def test_entries_are_told_in_the_order_of_the_record(start):
    chat = start()
    with chat.person() as person, chat.person() as other:
        for each in range(10):
            (person if each % 2 else other).say(f"w{each}")
        for each in range(10):
            (person if each % 2 else other).answer(f"w{each}")
        told = [f.entry.number for f in person.frames if isinstance(f, Told)]

    assert sorted(set(told)) == told


def test_a_plan_is_a_profile_and_ends_with_what_the_chat_began_with(start):
    chat = start()
    with chat.person() as person:
        person.send(Plan(on=True))
        person.until(Greeting, lambda each: each.profile == "plan")
        person.send(Plan(on=False))
        person.until(Greeting, lambda each: each.profile == "")
        person.send(Plan(on=True))
        person.until(Greeting, lambda each: each.profile == "plan")
    chat.end()
    again = start()
    with again.person() as person:
        kept = person.until(Greeting).profile

    begun = [e for e in chat.entries() if e.kind is Kind.BEGIN]
    assert "plan" == kept
    granted = [("start_task",), (), ("start_task",), (), ()]
    assert ["", "plan", "", "plan", "plan"] == [each.profile for each in begun]
    assert granted == [each.may for each in begun]


def test_a_side_chat_leaves_its_parent_alone_and_survives_the_process(start, model):
    chat = start()
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        person.send(Side())
        side = person.until(Greeting, lambda each: each.side == 1)
        person.say("b")
        person.answer("b")
    before = chat.entries()
    chat.end()
    model.sums = ["They spoke of b."]
    again = start()
    with again.person() as person:
        reopened = person.until(Greeting)
        person.say("c")
        person.answer("c")
        alone = again.entries() == before
        person.send(SideEnd(inject=True))
        back = person.until(Greeting, lambda each: not each.side)
        person.say("d")
        person.answer("d")
        person.say("b", "b")
        person.answer("b")

    assert ("side", 1, "side", 1) == (
        side.profile,
        side.side,
        reopened.profile,
        reopened.side,
    )
    assert alone
    assert "" == back.profile
    summed = model.asked[-2]
    assert {"b", "Well.", "c"} <= set(summed)
    assert "a" not in summed
    assert ["a", "They spoke of b.", "d"] == [
        text.splitlines()[-1] for text in again.texts() if text
    ]
    assert {"side"} == {
        spec.profile for spec in model.led if "side" in spec.conversation
    }


def test_what_others_said_in_a_side_chat_counts_where_it_is_told(start, model):
    heard = Step(calls=(Call("c1", "mcp__notes__find", "{}"),), origin=Origin.MCP)
    model.steps = [Step("Well."), heard, Step("They say so.")]
    model.sums = ["They spoke of b."]
    chat = start()
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        person.send(Side())
        person.until(Greeting, lambda each: each.side == 1)
        person.say("b")
        person.answer("b")
        person.send(SideEnd(inject=True))
        person.until(Greeting, lambda each: not each.side)

    entries = chat.entries()
    assert chat.texts()[-1].endswith("They spoke of b.")
    assert {Origin.MCP} == taint(entries, Facts())


def test_a_side_chat_that_is_dropped_leaves_nothing(start):
    chat = start()
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        person.send(Side())
        person.until(Greeting, lambda each: each.side == 1)
        person.say("b")
        person.answer("b")
        person.send(SideEnd(inject=False))
        person.until(Greeting, lambda each: not each.side)
        person.send(Side())
        second = person.until(Greeting, lambda each: each.side)

    assert ["a"] == chat.texts()
    assert 2 == second.side


def test_a_side_chat_stays_open_where_no_summary_can_be_had(start, model):
    model.sums = [NoTurn(Wrong.BUDGET, "The budget is used up.")]
    chat = start()
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        person.send(Side())
        person.until(Greeting, lambda each: each.side == 1)
        person.say("b")
        person.answer("b")
        person.send(SideEnd(inject=True))
        trouble = person.until(Trouble)
        person.say("c")
        person.answer("c")

    assert "The budget is used up" in trouble.sentence
    assert "c" in chat.texts(name="_talk.side1")


def test_going_back_is_asked_for_first_and_then_recorded(start, model):
    chat = start()
    with chat.person() as person:
        for each in "ab":
            person.say(each)
            person.answer(each)
        last = next(e.number for e in chat.entries() if e.kind is Kind.END)
        person.send(Rewind(last))
        undone = person.until(Undone)
        unchanged = chat.texts(Kind.REWIND)
        person.send(Rewind(last, sure=True))
        person.until(Told, lambda told: told.entry.kind is Kind.REWIND)
        person.say("c")
        person.answer("c")

    assert (last, (), []) == (undone.to, undone.effects, unchanged)
    assert ["a", "c"] == model.asked[-1]


@pytest.mark.parametrize(
    "request_",
    [Plan(on=True), Side(), SideEnd(inject=True), Rewind(1), Decide(1, True)],
)
def test_nothing_but_words_and_a_stop_is_taken_while_a_turn_runs(
    start, model, request_
):
    gate = threading.Event()
    model.steps = [Step("One.", gate=gate)]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.send(request_)
        trouble = person.until(Trouble)
        gate.set()

    assert "A turn is under way" in trouble.sentence


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (SideEnd(inject=False), "no side chat"),
        (Rewind(99), "no entry 99"),
        (Decide(1, yes=True), "proposes nothing"),
    ],
)
def test_what_cannot_be_done_is_said(start, request_, words):
    chat = start()
    with chat.person() as person:
        person.send(request_)

        assert words in person.until(Trouble).sentence


@pytest.mark.parametrize(
    ("call", "state", "intents", "carried"),
    [
        (
            Call("c1", "propose", '{"task": "fix", "answers": ["1=b"]}'),
            "done",
            0,
            "answer",
        ),
        (Call("c1", "start_task", '{"id": "fix"}'), "needs_decision", 1, "start_task"),
    ],
)
def test_a_proposal_is_carried_out_once_and_only_after_a_yes(
    start, model, call, state, intents, carried
):
    model.steps = [Step("I propose.", (call,), state=CallState(state))]
    chat = start()
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        number = next(e.number for e in chat.entries() if e.kind is Kind.RESULT)
        nothing = list(chat.carried)
        person.send(Decide(number, yes=True))
        person.until(
            Told, lambda told: told.entry.text.startswith("[gitagent] " + carried)
        )
        person.send(Decide(number, yes=True))
        trouble = person.until(Trouble)

    intended = [each for each in chat.entries() if each.kind is Kind.INTENT]
    assert [] == nothing
    assert [(call, f"_talk.{number}")] == [(p.call, key) for p, key in chat.carried]
    assert intents == len(intended)
    assert all(
        isinstance(chats.proposal(chat.entries(), each.number), str)
        for each in chat.entries()
    )
    assert [] == pending(chat.entries())
    assert "decided already" in trouble.sentence


def test_a_call_that_the_gate_asked_about_is_made_after_a_yes(start, model):
    call = Call("c1", "web_fetch", '{"url": "https://a.example/"}')
    steps = [Step("May I?", (call,), state=CallState.NEEDS_DECISION)]
    model.steps = [*steps, Step(over=Over(Ended.QUESTION, "May it?"))]
    chat = start()
    with chat.person() as person:
        person.say("a")
        asked = person.answer("a")
        person.send(Decide(4, yes=True))
        told = person.until(Told, lambda told: "a page" in told.entry.text)
        told = person.until(Told, lambda told: told.entry.kind is Kind.INPUT)
        person.until(Doing, lambda doing: doing.state is State.IDLE)
        person.send(Decide(4, yes=True))
        trouble = person.until(Trouble)

    made = [e.call for e in chat.entries() if e.kind is Kind.RESULT]
    assert "May it? Say /yes 4 or /no 4 in `gitagent chat`." == asked.sentence
    assert ["c1", "decide 4"] == made
    assert Origin.WEB is told.entry.origin
    assert "[gitagent] web_fetch  (done): a page" == told.entry.text
    assert "decided already" in trouble.sentence
    assert [] == chat.carried


def test_a_side_chat_decides_nothing(start, model):
    call = Call("c1", "propose", '{"task": "fix", "answers": ["1=b"]}')
    model.steps = [Step("I propose.", (call,))]
    chat = start()
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        person.send(Side())
        person.until(Greeting, lambda greeting: greeting.side == 1)
        person.say("b")
        person.answer("b")
        person.send(Decide(4, yes=True))
        trouble = person.until(Trouble)

    assert [] == chat.carried
    assert "end it first" in trouble.sentence


def test_what_a_person_turns_down_is_not_done(start, model):
    call = Call("c1", "propose", '{"task": "fix", "answers": ["1=b"]}')
    model.steps = [Step("I propose.", (call,))]
    chat = start()
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        person.send(Decide(4, yes=False))
        told = person.until(Told, lambda told: "said no" in told.entry.text)
        person.say("b")
        person.answer("b")

    assert [] == chat.carried
    assert told.entry.binding
    assert told.entry.text in model.asked[-1]


def test_the_daemon_is_told_whether_somebody_looks(start):
    said = []
    chat = start(said=said.append)
    wait_for(lambda: said == [chats.FREE], what="nobody looks yet")
    with chat.person() as person:
        person.say("a")
        person.answer("a")
        before = [*said]
    wait_for(lambda: len(said) == 3, what="nobody looks any more")

    assert [chats.FREE, chats.TAKEN] == before
    assert chats.FREE == said[-1]


def test_a_chat_ends_when_nobody_has_come_for_a_while(start):
    chat = start(idle_s=0.05)
    chat.join()

    assert chat.error is None
    assert not chat.path.exists()


def test_a_chat_stays_while_somebody_looks_and_ends_after_they_said_goodbye(start):
    chat = start(idle_s=0.05)
    with chat.person() as person:
        person.until(Greeting)
        person.say("a")
        person.answer("a")
        person.send(Bye())
        chat.join()

    assert chat.error is None


def test_a_second_leader_ends_the_chat_with_a_sentence(start, model):
    gate = threading.Event()
    model.steps = [Step("One.", gate=gate)]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        Conversation.open(chat.repo, "_talk").append(Entry(Kind.BEGIN))
        gate.set()
        trouble = person.until(Trouble)
    chat.join()

    assert "led by another process" in trouble.sentence
    assert "led by another process" in str(chat.error)


def test_a_message_that_is_none_is_told_and_the_rest_goes_on(start):
    chat = start()
    with chat.person() as person:
        person._socket.sendall(b'{"op":"dance"}\n')
        trouble = person.until(Trouble)
        person.say("a")

        assert "op is none of" in trouble.sentence
        assert "Well." == person.answer("a").text


def test_words_are_a_persons_whatever_they_waited_for(start, model):
    gate = threading.Event()
    model.steps = [Step("One.", gate=gate)]
    chat = start()
    with chat.person() as person:
        person.say("a")
        model.wait()
        person.say("b")
        gate.set()
        person.answer("b")

    assert {Origin.PERSON} == {e.origin for e in inputs(chat) if not e.places}
