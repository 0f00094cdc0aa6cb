"""A task asks, is answered, and goes on."""

from dataclasses import replace

import pytest

from gitagent.core import action as act
from gitagent.core.answering import Taken, asks, still_open
from gitagent.core.decide import decide
from gitagent.core.question import Answer, Asker, Misfit, Question
from gitagent.core.task import Outcome, TaskState
from tests.core.world import World, settings

ASKED = (Question("Which colour?", ("red", "blue")), Question("How big?"))
SPENT = (Question("Spent $5.02 of $5.00. How much more may it spend?"),)


def asking(asker: Asker = Asker.AGENT, **worker: object) -> World:
    """Return a world in which the task a asks, after work of its own."""
    world = World(settings=settings(**worker))
    world.add_task("a")
    world.settle()
    questions = ASKED if asker is Asker.AGENT else SPENT
    world.end("a", Outcome.QUESTION, "w1", "", questions, asker)
    world.settle()
    return world


def test_a_question_waits_with_the_work_so_far_and_costs_no_retry():
    found = asking().records["a"]

    assert found.state is TaskState.QUESTION
    assert (ASKED, Asker.AGENT) == (found.card.questions, found.card.asker)
    assert ("w1", 0, 1) == (found.tip, found.failures, found.attempt)
    assert "gitagent answer a 1=… 2=…" in found.reason
    assert found.reason.startswith("Its agent asks 2 questions, and a person")


def test_the_end_of_a_budget_asks_with_its_figures():
    world = World()
    world.add_task("a")
    world.settle()
    why = "Spent $5.02 of $5.00."
    world.end("a", Outcome.QUESTION, None, why, SPENT, Asker.BUDGET)
    world.settle()

    found = world.records["a"]
    assert found.card.asker is Asker.BUDGET
    assert found.reason.startswith(f"{why} A person says how much more")


def test_an_end_without_a_question_asks_for_its_reason():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.QUESTION, None, "The figures differ.")
    world.settle()

    assert (Question("The figures differ."),) == world.records["a"].card.questions


def test_all_answers_at_once_start_the_next_attempt_from_the_work():
    world = asking()
    world.answer("a", "1=b", "2=ten lines", because="it is the logo's")
    world.settle()

    found = world.records["a"]
    assert (TaskState.RUNNING, 2, 0) == (found.state, found.attempt, found.failures)
    assert (None, None) == (found.card, found.request)
    assert [("Which colour?", "blue"), ("How big?", "ten lines")] == [
        (each.question, each.text) for each in found.answers
    ]
    assert {("Ann <a@b>", "it is the logo's")} == {
        (each.by, each.because) for each in found.answers
    }


def test_answers_fill_up_and_a_later_one_replaces_an_earlier():
    world = asking()
    world.answer("a", "1=a")
    world.answer("a", "1=b")
    world.settle()
    half = world.records["a"]
    world.answer("a", "2=ten")
    world.settle()

    assert (TaskState.QUESTION, (2,)) == (half.state, still_open(half))
    assert "answers to 1 of 2 questions: gitagent answer a 2=…" in half.reason
    assert TaskState.RUNNING is world.records["a"].state
    assert ["blue", "ten"] == [each.text for each in world.records["a"].answers]


def test_an_answer_can_change_until_it_is_taken_up():
    world = asking(Asker.BUDGET)
    world.answer("a", "1=2.50")
    world.answer("a", "1=3")
    world.settle()

    assert 3.0 == world.records["a"].extra_usd


def test_what_is_added_to_a_budget_adds_up():
    world = asking(Asker.BUDGET)
    for word in ("1=2.50", "1=200000 tokens"):
        world.answer("a", word)
        world.settle()
        world.end("a", Outcome.QUESTION, None, "", SPENT, Asker.BUDGET)
        world.settle()
    world.answer("a", "1=1")
    world.settle()

    found = world.records["a"]
    assert (3.5, 200000) == (found.extra_usd, found.extra_tokens)
    assert (TaskState.RUNNING, 4, 0) == (found.state, found.attempt, found.failures)
    assert 3 == len(found.answers)


def test_stop_is_an_answer_to_a_budget():
    world = asking(Asker.BUDGET)
    world.answer("a", "1=stop")
    owed = asks(world.records["a"])
    world.settle()

    found = world.records["a"]
    assert not owed
    assert (TaskState.STOPPED, None, 0.0) == (found.state, found.card, found.extra_usd)


@pytest.mark.parametrize(
    ("asker", "word", "part"),
    [
        (Asker.AGENT, "3=x", "no question 3"),
        (Asker.AGENT, "0=x", "no question 0"),
        (Asker.AGENT, "1=z", "no option z"),
        (Asker.BUDGET, "1=lots", "no amount"),
    ],
)
def test_what_does_not_fit_changes_nothing(asker, word, part):
    world = asking(asker)
    before = world.records["a"]
    found = world.answer("a", word)

    assert isinstance(found, Misfit)
    assert part in found.problem
    assert before == world.records["a"]


def test_one_bad_answer_of_two_takes_neither():
    world = asking()

    assert isinstance(world.answer("a", "1=a", "7=b"), Misfit)
    assert (1, 2) == still_open(world.records["a"])


def test_a_text_that_is_no_option_is_taken_and_said_to_be_none():
    world = asking()
    taken = world.answer("a", "1=green as grass")

    assert isinstance(taken, Taken)
    assert "Question 1" in taken.notes[0]


@pytest.mark.parametrize("state", [s for s in TaskState if s is not TaskState.QUESTION])
def test_only_a_task_that_asks_can_be_answered(state):
    world = asking()
    world.records["a"] = replace(world.records["a"], state=state, card=None)

    assert isinstance(world.answer("a", "1=a"), Misfit)


def test_stop_and_amendment_and_deletion_end_a_question():
    for how in ("stop", "amend", "delete"):
        world = asking()
        world.answer("a", "1=a")
        if how == "stop":
            world.records["a"] = replace(world.records["a"], request="stop")
        elif how == "amend":
            world.add_task("a", blob="b2")
        else:
            world.tasks.clear()
        world.settle()
        found = world.records["a"]
        expected = TaskState.RUNNING if how == "amend" else TaskState.STOPPED

        assert (expected, None, None) == (found.state, found.card, found.request)


def test_a_retry_of_a_question_is_no_answer():
    world = asking()
    world.records["a"] = replace(world.records["a"], request="retry")
    world.settle()

    found = world.records["a"]
    assert (TaskState.QUESTION, None) == (found.state, found.request)
    assert asks(found)


def test_an_answered_task_waits_for_a_free_worker_and_keeps_its_answers():
    world = asking(parallel=1)
    world.add_task("other")
    world.settle()
    world.answer("a", "1=a", "2=b")
    world.settle()
    waiting = world.records["a"]
    world.end("other", Outcome.OK)
    world.settle()

    assert (TaskState.WAITING, None) == (waiting.state, waiting.card)
    assert TaskState.RUNNING is world.records["a"].state
    assert 2 == len(world.records["a"].answers)


def test_a_second_question_is_not_answered_by_the_first_answers():
    world = asking()
    world.answer("a", "1=a", "2=b")
    world.settle()
    world.end("a", Outcome.QUESTION, None, "", ASKED)
    world.settle()

    found = world.records["a"]
    assert (TaskState.QUESTION, (1, 2)) == (found.state, still_open(found))
    assert 2 == len(found.answers)


def test_a_committed_answer_file_is_taken_once():
    world = asking()
    world.answer_file("a", "f1", (1, "b"), (2, "ten"))
    world.settle()
    first = world.records["a"]
    world.end("a", Outcome.QUESTION, None, "", ASKED)
    world.settle()
    again = world.records["a"]
    world.answer_file("a", "f2", (1, "a"), (2, "nine"))
    world.settle()

    assert (TaskState.RUNNING, 2, "f1") == (
        first.state,
        first.attempt,
        first.answer_blob,
    )
    assert {"Bob <b@b>"} == {each.by for each in first.answers}
    assert (TaskState.QUESTION, (1, 2)) == (again.state, still_open(again))
    assert (TaskState.RUNNING, 3) == (
        world.records["a"].state,
        world.records["a"].attempt,
    )


def test_a_file_that_was_there_before_the_question_is_no_answer_to_it():
    world = World()
    world.add_task("a")
    world.answer_file("a", "f1", (1, "b"), (2, "ten"))
    world.settle()
    world.end("a", Outcome.QUESTION, None, "", ASKED)
    world.settle()

    assert (1, 2) == still_open(world.records["a"])


def test_an_answer_file_that_does_not_fit_is_said_once_and_harms_nothing():
    world = asking()
    world.answer_file("a", "f1", (9, "b"))
    world.settle()
    found = world.records["a"]
    quiet = decide(world.snapshot(), world.now())
    world.answer("a", "1=a", "2=b")
    world.settle()

    assert found.reason.startswith(".agent/tasks/answers/a.md is not taken: ")
    assert "gitagent answer a 1=… 2=…" in found.reason
    assert [] == quiet
    assert TaskState.RUNNING is world.records["a"].state


def test_what_was_taken_of_a_file_is_told_in_the_record():
    world = asking()
    world.answer_file("a", "f1", (1, "green as grass"))
    (taken,) = decide(world.snapshot(), world.now())

    assert isinstance(taken, act.WriteTask)
    assert "answers 1 in .agent/tasks/answers/a.md" in taken.message
    assert "no such option" in taken.message
    assert (
        Answer(
            "Which colour?", "green as grass", "Bob <b@b>", world.now().stamp, "", 1, 1
        )
        == taken.new.answers[0]
    )
