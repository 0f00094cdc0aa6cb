"""What a person asks of a task."""

import pytest

from gitagent.core.task import TaskRecord, TaskState
from gitagent.daemon import tasks
from gitagent.errors import LostRace, UserError
from gitagent.git.repository import Repository

SINCE = "2026-11-30T12:00:00Z"


def record(state: TaskState) -> TaskRecord:
    return TaskRecord("t", state, "b" * 40, SINCE, title="T")


def test_a_step_is_written_on_top_of_the_one_it_was_read_from(repository: Repository):
    first = tasks.write(repository, None, record(TaskState.WAITING), "waits")
    second = tasks.write(repository, first, record(TaskState.RUNNING), "runs")

    with repository.objects() as objects:
        assert tasks.read(objects, "t") == second
        assert objects.commit(second.oid).parents == (first.oid,)


def test_a_stale_step_is_lost(repository: Repository):
    first = tasks.write(repository, None, record(TaskState.WAITING), "waits")
    tasks.write(repository, first, record(TaskState.RUNNING), "runs")

    with pytest.raises(LostRace):
        tasks.write(repository, first, record(TaskState.STOPPED), "stopped")


def test_a_step_that_the_table_lacks_is_a_bug(repository: Repository):
    first = tasks.write(repository, None, record(TaskState.WAITING), "waits")

    with pytest.raises(AssertionError, match="BUG"):
        tasks.write(repository, first, record(TaskState.LANDED), "landed")


def test_a_waiting_task_is_stopped_at_once_also_without_a_daemon(
    repository: Repository,
):
    tasks.write(repository, None, record(TaskState.WAITING), "waits")
    with repository.objects() as objects:
        tasks.request(repository, objects, "t", "stop")
        found = tasks.read(objects, "t")

    assert (found.state, found.request) == (TaskState.STOPPED, None)


def test_a_running_task_is_asked_to_stop_once(repository: Repository):
    first = tasks.write(repository, None, record(TaskState.WAITING), "waits")
    tasks.write(repository, first, record(TaskState.RUNNING), "runs")
    with repository.objects() as objects:
        once = tasks.request(repository, objects, "t", "stop")
        twice = tasks.request(repository, objects, "t", "stop")

    assert once.request == "stop"
    assert once.oid == twice.oid


@pytest.mark.parametrize(
    ("state", "wish", "part"),
    [
        (TaskState.FAILED, "stop", "failed already"),
        (TaskState.LANDED, "retry", "landed"),
        (TaskState.WAITING, "retry", "nothing to retry"),
    ],
)
def test_what_makes_no_sense_is_refused(repository: Repository, state, wish, part):
    steps = {
        TaskState.WAITING: (TaskState.WAITING,),
        TaskState.FAILED: (TaskState.WAITING, TaskState.RUNNING, TaskState.FAILED),
        TaskState.LANDED: (
            TaskState.WAITING,
            TaskState.RUNNING,
            TaskState.SUBMITTED,
            TaskState.LANDED,
        ),
    }[state]
    old = None
    for step in steps:
        old = tasks.write(repository, old, record(step), str(step))

    with repository.objects() as objects, pytest.raises(UserError) as raised:
        tasks.request(repository, objects, "t", wish)

    assert part in raised.value.message


@pytest.mark.parametrize("name", ["nobody", "../x", "A", ""])
def test_a_task_that_was_never_seen_is_said(repository: Repository, name: str):
    with repository.objects() as objects, pytest.raises(UserError):
        tasks.request(repository, objects, name, "stop")
