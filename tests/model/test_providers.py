"""What both APIs' providers do alike, against a real gateway and a scripted model."""

import json
import threading

import pytest

from gitagent.core import failure
from gitagent.core.budget import Limits
from gitagent.core.conversation import Call
from gitagent.core.exchange import State
from gitagent.host.cancel import Cancel
from gitagent.model import making
from gitagent.model.provider import Answered, Message, Stop, Wrong
from gitagent.model.runaway import MOST
from tests.model.asking import SAID, line, own, scripted
from tests.model.house import MODEL, TOKEN
from tests.support import provider as wire
from tests.support.provider import Fault, Gate, Say, Shell, Think
from tests.support.waiting import wait_for

APIS = ("anthropic", "openai")
pytestmark = pytest.mark.parametrize("api", APIS)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(failure, "FIRST_S", 0.01)


def test_words_and_calls_come_as_one_turn_and_words_are_heard_at_once(tmp_path, api):
    step = [Say("Let me look at that for you."), Shell("ls"), Shell("pwd")]
    with scripted(tmp_path, api, step) as (asking, server):
        turn = asking.turn()

    (seen,) = server.requests
    assert "Let me look at that for you." == turn.text == "".join(asking.heard)
    assert len(asking.heard) > 1
    assert Stop.CALLS == turn.stop
    assert [("bash", {"command": "ls"}), ("bash", {"command": "pwd"})] == [
        (call.tool, json.loads(call.given)) for call in turn.calls
    ]
    assert 2 == len({call.id for call in turn.calls})
    assert turn.counted > 20
    assert seen.json["stream"]
    assert MODEL == seen.json["model"]


def test_a_turn_and_its_results_go_back(tmp_path, api):
    with scripted(tmp_path, api, [Say("Hm."), Shell("ls")], Say("Done.")) as (
        asking,
        server,
    ):
        turn = asking.turn()
        results = (Answered(turn.calls[0].id, "a b", failed=True),)
        end = asking.turn(*SAID, own(turn, api), Message("user", "Go on", results))

    *_, said, result, more = _pieces(server.requests[-1].json)
    assert ("Done.", (), Stop.END) == (end.text, end.calls, end.stop)
    assert (turn.calls[0].id, "ls") == (
        said["id"],
        json.loads(_arguments(said))["command"],
    )
    assert (turn.calls[0].id, "a b") == (_answered(result), result["content"])
    assert "Go on" in (more.get("text"), more.get("content"))


def _pieces(body):
    """What a request's messages consist of: blocks, calls, or messages."""
    for message in body["messages"]:
        if message["role"] == "system":
            continue
        if isinstance(message["content"], list):
            yield from message["content"]
        else:
            yield from message.get("tool_calls", [message])


def _arguments(call):
    return (
        json.dumps(call["input"]) if "input" in call else call["function"]["arguments"]
    )


def _answered(result):
    return result.get("tool_use_id") or result.get("tool_call_id")


def test_a_call_without_arguments_is_a_call(tmp_path, api):
    with scripted(tmp_path, api, [wire.Call("bash", ""), wire.Call("bash", {})]) as (
        asking,
        _,
    ):
        turn = asking.turn()

    assert ["{}", "{}"] == [call.given for call in turn.calls]


@pytest.mark.parametrize(
    "given",
    [
        "[1]",
        "{",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": ' + "[" * 300 + "]" * 300 + "}",
        "null",
    ],
)
def test_arguments_that_are_no_object_come_as_they_are_and_go_back_as_one(
    tmp_path, api, given
):
    step = [wire.Call("bash", given), Shell("ls")]
    with scripted(tmp_path, api, step, Say("I see.")) as (asking, server):
        turn = asking.turn()
        results = tuple(
            Answered(each.id, "no object", failed=True) for each in turn.calls
        )
        plain = Message("assistant", turn.text, calls=turn.calls)
        asking.turn(*SAID, own(turn, api), Message("user", results=results))
        asking.turn(*SAID, plain, Message("user", results=results))

    assert given == turn.calls[0].given
    for seen in server.requests[1:]:
        _, call, *_ = _pieces(seen.json)
        assert {"arguments": given} == json.loads(_arguments(call))


def test_half_a_surrogate_pair_does_not_end_a_conversation(tmp_path, api):
    with scripted(tmp_path, api, Say("Hi")) as (asking, _):
        turn = asking.turn(Message("user", "script: it \ud800"))

    assert "Hi" == turn.text


def test_an_id_that_was_there_before_is_not_taken_again(tmp_path, api):
    with scripted(tmp_path, api, Shell("ls"), Shell("ls")) as (asking, _):
        first = asking.turn()
        theirs = first.calls[0].id.replace("1", "2", 1)
        again = asking.turn(taken=frozenset({theirs}))

    assert theirs != again.calls[0].id
    assert again.calls[0].id in again.raw.decode()


def test_empty_texts_are_not_sent(tmp_path, api):
    said = (
        Message("user", "script: it"),
        Message("assistant", " \n", calls=(Call("toolu_1", "bash", "{}"),)),
        Message("user", "", (Answered("toolu_1", ""),)),
    )
    with scripted(tmp_path, api, Say("Hi")) as (asking, server):
        asking.turn(*said)

    text = server.requests[0].body.decode()
    assert '"text":""' not in text
    assert '"\\n' not in text
    assert '" \\n' not in text


@pytest.mark.parametrize("before", [True, False])
def test_a_stop_ends_an_answer_that_has_not_begun(tmp_path, api, before):
    gate, cancel = Gate(), Cancel()
    with scripted(tmp_path, api, gate, Say("Late")) as (asking, _):
        if before:
            cancel.set()
        else:
            stopping = threading.Thread(target=lambda: (gate.wait(), cancel.set()))
            stopping.start()
        turn = asking.turn(cancel=cancel)

    assert (Stop.CANCELLED, "", ()) == (turn.stop, turn.text, turn.calls)
    if not before:
        stopping.join()
        assert State.LEFT == asking.house.journal.wait_ends(1)[0].state


def test_a_stop_ends_an_answer_at_once_and_leaves_what_was_said(tmp_path, api):
    cancel = Cancel()
    with scripted(tmp_path, api, Fault("hung", begun=True, after=5)) as (asking, _):
        asking.heard = _Stopping(cancel)
        turn = asking.turn(cancel=cancel)

    assert Stop.CANCELLED == turn.stop
    assert turn.text
    assert "These are words of an answer".startswith(turn.text[:20])


class _Stopping(list):
    """Stops what is heard."""

    def __init__(self, cancel):
        self.cancel = cancel

    def append(self, text):
        super().append(text)
        self.cancel.set()


def test_a_context_that_is_too_long_is_told_apart(tmp_path, api):
    with scripted(tmp_path, api, Fault("overflow")) as (asking, _):
        found = asking.none()

    assert Wrong.OVERFLOW == found.wrong
    assert "too long" in found.sentence


def test_a_budget_that_is_short_is_told_apart(tmp_path, api):
    with scripted(tmp_path, api, Say("Hi"), task=Limits(tokens=50)) as (asking, server):
        found = asking.none()

    assert Wrong.BUDGET == found.wrong
    assert found.sentence.startswith("The task's budget of 50 tokens is short")
    assert () == server.requests


@pytest.mark.parametrize("kind", ["auth", "funds", "invalid", "no_model", "server"])
def test_another_error_is_a_sentence(tmp_path, api, kind):
    with scripted(tmp_path, api, Fault(kind, times=9)) as (asking, _):
        found = asking.none()

    assert Wrong.OTHER == found.wrong
    assert len(found.sentence) >= 2
    assert "\n" not in found.sentence


@pytest.mark.parametrize(
    ("kind", "wrong"), [("cut", Wrong.CUT), ("garbage", Wrong.OTHER)]
)
def test_an_answer_that_breaks_off_is_none_and_what_was_said_is_kept(
    tmp_path, api, kind, wrong
):
    with scripted(tmp_path, api, Fault(kind, times=9, begun=True, after=5)) as (
        asking,
        _,
    ):
        found = asking.none()

    assert wrong == found.wrong
    assert found.sentence
    assert "".join(asking.heard) == found.partial != ""


# httpcore leaves a socket that could not connect to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_gateway_that_is_gone_is_a_sentence(tmp_path, api):
    with line(tmp_path, "http://127.0.0.1:9", api) as asking:
        asking.house.gateway.stop()
        found = asking.none()

    assert Wrong.CUT == found.wrong
    assert found.sentence.startswith("The answer of the model did not come whole: ")


def test_a_wrong_token_is_a_sentence(tmp_path, api):
    with line(tmp_path, "http://127.0.0.1:9", api) as asking:
        other = making.make(api, str(asking.house.path), "x" + TOKEN, MODEL)
        asking.provider.close()
        asking.provider = other
        found = asking.none()

    assert "The token of this attempt is missing or wrong." == found.sentence


def test_a_model_without_tools_is_refused_before_it_is_asked(tmp_path, api):
    with scripted(tmp_path, api, Say("Hi")) as (asking, server):
        asking.provider.tools = False
        found = asking.none()
        bare = asking.turn(tools=())

    assert (Wrong.TOOLS, "capability_missing") == (found.wrong, found.wrong.value)
    assert f"The model {MODEL} takes no tools" in found.sentence
    assert wire.TITLE == bare.text
    assert 1 == len(server.requests)


def test_a_provider_that_says_that_its_model_has_no_tools_is_believed(tmp_path, api):
    fault = Fault("invalid", message="phi3:mini does not support tools")
    with scripted(tmp_path, api, fault) as (asking, _):
        found = asking.none()

    assert Wrong.TOOLS == found.wrong
    assert found.sentence.endswith("says: phi3:mini does not support tools")


RUNAWAYS = {
    "whitespace in a text": Say("Well." + " \n" * 4000),
    "whitespace in arguments": wire.Call("bash", '{"command": "ls' + " " * 6000),
    "line feeds in arguments": wire.Call("bash", '{"command": "ls' + "\\n" * 6000),
    "one word in a text": Say("Well." + " no no" * 4000),
    "one word in arguments": wire.Call("bash", '{"command": "' + "ab, " * 4000),
    "thoughts": Think("Well." + " hm" * 8000),
}


@pytest.mark.parametrize("what", RUNAWAYS)
def test_what_runs_away_is_cut_off(tmp_path, api, what):
    if what == "thoughts" and api == "openai":
        pytest.skip("the scripted model has no thoughts there")
    with scripted(tmp_path, api, [Shell("ls"), RUNAWAYS[what]]) as (asking, _):
        turn = asking.turn()
        ends = asking.house.journal.wait_ends(1)

    assert Stop.RUNAWAY == turn.stop
    assert [] == [call for call in turn.calls if call.given != '{"command": "ls"}']
    assert len(turn.text) < 10_000 < MOST
    assert len(turn.raw) < 12_000
    assert State.LEFT == ends[0].state


def test_a_provider_has_no_method_that_the_guard_does_not_see(tmp_path, api):
    with line(tmp_path, "http://127.0.0.1:9", api) as asking:
        names = {name for name in dir(asking.provider) if not name.startswith("_")}

    assert {"ask", "close", "tools"} == names


def test_a_long_path_of_the_socket_is_no_trouble(tmp_path, api):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with scripted(deep, api, Say("Hi")) as (asking, _):
        turn = asking.turn()

    assert "Hi" == turn.text


def test_nothing_stays_open_at_the_end(tmp_path, api):
    with scripted(tmp_path, api, Say("Hi"), Say("Ho")) as (asking, _):
        before = len(threading.enumerate())
        asking.turn()
        asking.turn()
        left = wait_for(lambda: len(threading.enumerate()) <= before + 2)

    assert left
