"""What became of the work of each agent."""

from gitagent.core.question import Question
from gitagent.core.tally import Tally, tallies
from gitagent.core.task import Attempt, TaskRecord, TaskState
from gitagent.core.usage import Usage


def attempt(number, model, **fields):
    return Attempt(number, "", "", "", model=model, usage=Usage(1, 10, 5), **fields)


def task(name, state, *attempts, agent="claude"):
    return TaskRecord(name, state, "", "", agent=agent, attempts=attempts)


def test_each_agent_and_model_is_counted_by_how_its_tasks_ended():
    asks = (Question("Which?"),)
    found = tallies(
        [
            task(
                "a", TaskState.LANDED, attempt(1, "m", questions=asks), attempt(2, "m")
            ),
            task("b", TaskState.FAILED, attempt(1, "m")),
            task("c", TaskState.RUNNING, attempt(1, "m")),
            task("d", TaskState.DONE, attempt(1, ""), agent="shell"),
            task("e", TaskState.WAITING),
        ]
    )

    assert (
        Tally("claude", "m", 2, 1, 1, 4, 1, Usage(4, 40, 20)),
        Tally("shell", "", 1, 1, 0, 1, 0, Usage(1, 10, 5)),
    ) == found


def test_a_task_counts_for_the_model_that_ended_it_and_each_for_what_it_used():
    one, two = tallies(
        [task("a", TaskState.LANDED, attempt(1, "cheap"), attempt(2, "dear"))]
    )

    assert ("cheap", 0, 1) == (one.model, one.tasks, one.attempts)
    assert ("dear", 1, 1) == (two.model, two.tasks, two.well)


def test_without_records_nothing_is_counted():
    assert () == tallies([])
