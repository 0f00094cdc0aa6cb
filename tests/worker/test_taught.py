"""What an attempt is told of the memory, what is taken back, what it proposes."""

from types import SimpleNamespace

import pytest

from gitagent.core.agent import Agent
from gitagent.core.exposure import NOTHING, Delivery, Exposure, Received, Told, Way
from gitagent.core.question import Answer, Question
from gitagent.core.remembering import Op
from gitagent.core.task import Attempt, TaskFile
from gitagent.worker import proposals, taught
from gitagent.worker.folder import Folder
from gitagent.worker.taught import Taught

ONE = Received("one", "1" * 40, Way.BRIEF)
TWO = Received("two", "2" * 40, Way.LOOKUP)
ASKS = {"op": "add", "slug": "tabs", "kind": "fact", "line": "Tabs.", "sources": []}


class Teacher:
    """A teacher that says what a test has it say, by operation."""

    def __init__(self, **answers):
        self.answers = answers
        self.asks = []

    def begin(self, *_):
        return Delivery((Told("memory brief", "One."),), Exposure((ONE,), 0.1))

    def asked(self, name, agent, op, given):
        self.asks.append((name, agent.name, op, given))
        answer = self.answers.get(op, {})
        return dict(answer.pop(0) if isinstance(answer, list) else answer)


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path, confined=True)
    made.git.mkdir()
    return made


def taught_by(teacher, folder, backend="claude", before=None, **fields):
    agent = Agent("helper", backend, may=("remember",), **fields)
    order = SimpleNamespace(
        teacher=teacher,
        task=TaskFile("fix", "b" * 40, "Fix", "it"),
        agent=agent,
        attempt=Attempt(1, "b" * 40, "c" * 40, "2026-11-30T12:00:00Z"),
        target="c" * 40,
        before=before,
        answers=(),
    )
    return Taught(order, folder)


def given(*items):
    return {"text": "x", "items": [[e.slug, e.blob, e.way.value] for e in items]}


def test_what_is_given_is_written_down_before_it_is_told(folder):
    teacher = Teacher(show=given(TWO))
    made = taught_by(teacher, folder, "model")
    begun = made.begin(resumed=False)
    first = taught.load(folder)
    made.asked("show", {"slug": "two"})
    made.asked("show", {"slug": "two"})

    assert (Told("memory brief", "One."),) == begun.told
    assert (ONE,) == made.items
    assert Exposure((ONE,), 0.1) == first
    assert Exposure((ONE, TWO), 0.1) == taught.load(folder)


def test_an_attempt_that_was_told_nothing_has_nothing_on_record(folder):
    assert Delivery() == taught_by(None, folder).begin(resumed=False)
    assert NOTHING == taught.load(folder)
    folder.write_state(taught.RECEIVED, {"of": "another release"})
    assert NOTHING == taught.load(folder)


def correction(blob="9" * 40):
    told = [{"producer": "memory: one@9", "text": "One is withdrawn."}]
    return {"told": told, "items": [["one", blob, "correction"]]}


def test_other_programs_are_told_what_does_not_hold_until_they_have_heard_it(folder):
    """Who was killed, or did not wait, before an answer came has not heard it."""
    blob = "9" * 40
    told = [correction(blob), correction(blob), {}]
    teacher = Teacher(search={"text": "found"}, corrections=told)
    made = taught_by(teacher, folder)
    made.begin(resumed=False)
    lost = made.asked("corrections", {"heard": [["two", blob], "one", [1]]})
    first = made.asked("search", {"query": "x", "heard": None})
    second = made.asked("search", {"query": "x", "heard": [["one", blob]]})
    known = [ask[3]["given"] for ask in teacher.asks if ask[2] == "corrections"]

    assert correction(blob) == lost == first["corrections"]
    assert {} == second["corrections"]
    assert [[["one", "1" * 40]], [["one", "1" * 40]], [["one", blob]]] == known
    assert (ONE,) == taught.load(folder).received
    assert 1 == made.said.count(("memory: one@9", "One is withdrawn."))
    assert all("heard" not in ask[3] for ask in teacher.asks)


def test_the_built_in_agent_asks_by_itself_what_does_not_hold(folder):
    teacher = Teacher(search={"text": "found"})
    made = taught_by(teacher, folder, "model")

    assert {"text": "found"} == made.asked("search", {"query": "x"})
    assert ["search"] == [ask[2] for ask in teacher.asks]


def before(**fields):
    memory = Exposure((ONE,), 0.1, ("kept-back",))
    return Attempt(
        1, "b" * 40, "c" * 40, "2026-11-30T12:00:00Z", memory=memory, **fields
    )


@pytest.mark.parametrize(("backend", "told"), [("claude", 1), ("model", 0)])
def test_a_conversation_that_goes_on_is_told_what_changed(folder, backend, told):
    made = taught_by(Teacher(corrections=correction()), folder, backend, before())
    begun = made.begin(resumed=True)

    assert told == len(begun.told)
    assert () == made.items
    assert Exposure((ONE,), 0.1, ("kept-back",)) == taught.load(folder)


def test_a_conversation_that_goes_on_recalls_by_the_answers(folder):
    teacher = Teacher(recall=given(TWO) | {"told": [{"producer": "p", "text": "Two."}]})
    made = taught_by(teacher, folder, "model", before(questions=(Question("Tabs?"),)))
    made._order.answers = (Answer("Tabs?", "yes, tabs"),)
    begun = made.begin(resumed=True)

    assert (Told("p", "Two."),) == begun.told
    assert (TWO,) == made.items
    assert "yes, tabs" == teacher.asks[0][3]["text"]
    assert (ONE, TWO) == taught.load(folder).received


def propose(made, **more):
    return made.asked("propose", {"operation": {**ASKS, **more}})


NO = {"admitted": False, "reason": "It has no source."}
YES = {"admitted": True}


def test_a_proposal_is_kept_until_another_takes_its_place(folder):
    made = taught_by(Teacher(propose=[YES, YES, YES | {"pending": True}]), folder)
    first = propose(made)
    propose(made, line="Tabs, always.")
    third = propose(made, slug="more")
    kept = proposals.kept(folder)

    assert first["done"]
    assert "when your work has passed" in first["text"]
    assert "when your work has landed" in third["text"]
    assert [("tabs", "Tabs, always."), ("more", "Tabs.")] == [
        (each.slug, each.line) for each in kept.operations
    ]
    assert {Op.ADD} == {each.op for each in kept.operations}


def test_one_repair_is_asked_for_and_then_it_is_dropped(folder):
    made = taught_by(Teacher(propose=[NO, NO, YES]), folder)
    first, second, third = propose(made), propose(made), propose(made)
    kept = proposals.kept(folder)

    assert [False] * 3 == [each["done"] for each in (first, second, third)]
    assert "It has no source. Mend it and call remember once more" in first["text"]
    assert "It has no source. It is dropped." in second["text"]
    assert "tabs was dropped before" in third["text"]
    assert ((), ["It has no source."]) == (
        kept.operations,
        [each.reason for each in kept.dropped],
    )


def test_a_repair_that_holds_is_kept(folder):
    made = taught_by(Teacher(propose=[NO, YES]), folder)
    propose(made)
    second = propose(made)

    assert second["done"]
    assert ["tabs"] == [each.slug for each in proposals.kept(folder).operations]


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (None, "It is no JSON object."),
        ({"op": "add", "slug": "x", "line": 1}, "Its line is no text."),
        ({"op": "forget", "slug": "x"}, "Its op is none of"),
    ],
)
def test_what_is_no_operation_is_told_at_once(folder, operation, said):
    teacher = Teacher()
    made = taught_by(teacher, folder, "model")
    found = made.asked("propose", {"operation": operation})

    assert said in found["text"]
    assert [] == teacher.asks


def test_a_source_of_what_is_worked_on_is_named_by_its_commit(folder):
    oid = "ab" + "c" * 38
    own = folder.git / "objects" / "ab"
    own.mkdir(parents=True)
    (own / ("c" * 38)).touch()
    teacher = Teacher(propose=[YES, YES])
    made = taught_by(teacher, folder, "model")
    head = propose(made, sources=["HEAD:a.txt:1-1"])
    propose(made, sources=[f"{oid}:a.txt:1-1", f"{'d' * 40}:a.txt:1-1", "receipt:1"])

    assert "write its commit out (git rev-parse HEAD)" in head["text"]
    assert [[oid]] == [ask[3]["own"] for ask in teacher.asks]


def test_without_the_grant_nothing_is_proposed(folder):
    teacher = Teacher()
    made = taught_by(teacher, folder)
    made._order.agent = Agent("helper", "claude", may=("write",))

    assert "lacks the grant remember" in propose(made)["error"]
    assert [] == [ask for ask in teacher.asks if ask[2] == "propose"]


def test_a_person_decides_where_the_definition_wants_it(folder):
    made = taught_by(Teacher(propose=YES), folder, decide=("remember",))
    found = propose(made)
    asked = Question(found["question"]["text"], tuple(found["question"]["options"]))
    made._order.answers = (Answer(asked.text, "yes"),)

    assert not found["done"]
    assert "May the agent remember “tabs”" in asked.text
    assert ("yes", "no") == asked.options
    assert propose(made)["done"]


def test_what_the_work_before_has_heard_taints_a_proposal(folder):
    made = taught_by(Teacher(propose=YES), folder, before=before(untrusted=("web",)))
    found = propose(made)

    assert "words from the web or an MCP server" in found["text"]
    assert "question" in found


def test_a_name_that_is_none_is_denied(folder):
    made = taught_by(Teacher(propose=YES), folder)

    assert "is no name" in propose(made, slug="../../etc")["text"]


def test_one_attempt_proposes_no_more_than_is_taken(folder, monkeypatch):
    monkeypatch.setattr(taught.proposed, "MOST", 1)
    made = taught_by(Teacher(propose=YES), folder)
    propose(made)

    assert "1 operations of one attempt are the most" in propose(made, slug="b")["text"]


def test_nothing_else_is_asked_through_the_door(folder):
    made = taught_by(Teacher(), folder)

    assert "no such thing" in made.asked("begin", {})["error"]
    assert "no such thing" in taught_by(None, folder).asked("show", {})["error"]


def test_an_attempt_is_told_and_has_it_on_record_after_a_crash_too(work):
    work.agent = Agent(
        "plain", "command", argv=("sh", "-c", "cat $GITAGENT_PROMPT_FILE")
    )
    end = work.run(teacher=Teacher())
    told = work.log(end)
    (work.folder / "end.json").unlink()
    again = work.recover()

    assert Exposure((ONE,), 0.1) == end.attempt.memory == again.attempt.memory
    assert told.index("One.") < told.index("# Task fix: ")
