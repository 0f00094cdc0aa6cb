"""The tools that the loop carries out itself."""

import json

import pytest

from gitagent.core.conversation import Call, CallState, Entry, Kind
from gitagent.core.question import Question
from gitagent.core.reach import Facts
from gitagent.core.settings import Loop
from gitagent.git.repository import discover
from gitagent.host.cancel import Cancel
from gitagent.worker import questions
from gitagent.worker.executor import Executor
from gitagent.worker.loop import own
from gitagent.worker.loop.bodies import Output
from gitagent.worker.loop.form import Who
from gitagent.worker.loop.gating import Gate
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.own import Own
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.table import TABLE


@pytest.fixture
def out(tmp_path):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "task.json").write_text('{"id": "fix", "own": "hidden"}')
    return tmp_path / "out"


@pytest.fixture
def executor(repo, out):
    return led(repo, out, Loop())


def led(repo, out, loop):
    conversation = Conversation.open(discover(repo.path), "fix")
    bodies = dict.fromkeys(
        (each.name for each in TABLE if each.who is Who.OWN),
        Own(conversation, out.with_name("in"), out),
    )
    bodies["code"] = Coding()
    made = Executor(conversation, Gate(Facts()), bodies, Offer(Facts()), loop)
    made.conversation = conversation
    return made


class Coding:
    """Code that makes the calls its source lists, and emits what they return."""

    def execute(self, _, given, way):
        calls = json.loads(given["source"])
        return Output(json.dumps([way.nested(*each) for each in calls]).encode())


def run(executor, tool, number=1, /, **given):
    call = Call(f"c{number}", tool, json.dumps(given))
    (answered,) = executor.run([call], Cancel())
    return answered.text, not answered.failed


def test_the_todo_list_is_told_as_it_stands(executor):
    items = [
        {"text": "look", "state": "done"},
        {"text": "mend\nit", "state": "doing"},
        {"text": "test"},
    ]

    assert ("- [x] look\n- [>] mend it\n- [ ] test", True) == run(
        executor, "todo", items=items
    )
    assert ("The list is empty.", True) == run(executor, "todo", 2, items=[])


def test_a_question_is_written_told_and_can_be_taken_back(executor, out):
    asked = [{"text": "Which?", "options": ["a", "b"]}]
    said, ok = run(executor, "ask", questions=asked)

    assert ok
    assert "one question for a person" in said
    assert (Question("Which?", ("a", "b")),) == executor.asked
    assert executor.asked == questions.parse((out / "question.json").read_bytes())

    run(executor, "ask", 2, questions=[])
    assert () == executor.asked
    assert not (out / "question.json").exists()


def test_a_return_is_written_and_a_slip_of_it_is_told(executor, out):
    said, ok = run(executor, "finish", status="done", summary="x", divergence=" ")
    assert not ok
    assert "divergence is empty" in said

    said, ok = run(executor, "finish", 2, status="done", summary="x", divergence="None")
    assert ok
    assert "Recorded: done." in said
    assert "None" == json.loads((out / "return.json").read_text())["divergence"]


def test_the_status_is_what_is_known_of_the_task(executor):
    said, ok = run(executor, "task_status")

    assert ok
    assert {"id": "fix", "finished": False}.items() <= json.loads(said).items()
    assert "own" not in json.loads(said)


def coded(executor, number, *calls):
    said, _ = run(executor, "code", number, source=json.dumps(calls))
    return json.loads(said)


def test_what_code_keeps_it_has_the_next_time_and_after_a_restart(executor, repo, out):
    value = {"é": [1, None, "\x1b"]}
    coded(
        executor,
        1,
        ("keep", {"key": "a", "value": 1}),
        ("keep", {"key": "a", "value": value}),
        ("keep", {"key": "t", "value": "plain"}),
    )
    ((first, ok), (text, _)) = coded(
        executor, 2, ("kept", {"key": "a"}), ("kept", {"key": "t"})
    )
    again = Own(Conversation.open(discover(repo.path), "fix"), out, out)
    after = again.execute("kept", {"key": "a"}, None)

    assert ok
    assert "plain" == text
    assert value == json.loads(first) == json.loads(after.whole)


def test_going_back_takes_what_was_kept_since_with_it(executor):
    coded(executor, 1, ("keep", {"key": "a", "value": 1}))
    at = executor.conversation.entries[-1].number
    coded(executor, 2, ("keep", {"key": "a", "value": 2}))
    executor.conversation.append(Entry(Kind.REWIND, last=at))

    assert [["1", True]] == coded(executor, 3, ("kept", {"key": "a"}))


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("kept", {"key": "a"}, "Nothing is kept as a; there is nothing."),
        ("keep", {"key": "a b", "value": 1}, "1 to 64 letters"),
        ("keep", {"key": "a", "value": "x" * 40_000}, "write it to a file"),
        ("keep", {"key": "a"}, "`value` is missing"),
    ],
)
def test_what_cannot_be_kept_is_told(executor, tool, given, said):
    ((text, ok),) = coded(executor, 1, (tool, given))

    assert not ok
    assert said in text
    assert [] == own.kept(executor.conversation.entries)


def test_a_value_longer_than_a_result_is_read_whole(repo, out):
    executor = led(repo, out, Loop(output_kib=1))
    value = ["é" * 2000]
    for number, each in enumerate(
        [("keep", {"key": "a", "value": value}), ("kept", {"key": "a"})]
    ):
        run(executor, "code", number, source=json.dumps([each]))
    result = executor.conversation.entries[-2]

    assert ("kept", CallState.DONE) == (result.tool, result.state)
    assert value == json.loads(executor.conversation.blob(result.whole))


def test_a_question_of_the_gate_is_a_card_too(out):
    asked = tuple(Question(f"May {n}?", ("yes", "no")) for n in range(12))
    own.pose(out, asked)

    assert asked[:10] == questions.parse((out / "question.json").read_bytes())
