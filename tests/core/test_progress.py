"""The life of a task, decided from snapshots."""

from dataclasses import replace

import pytest

from gitagent.core import action as act
from gitagent.core.agent import Agent
from gitagent.core.decide import decide
from gitagent.core.receipt import Result
from gitagent.core.settings import Sandbox, Settings
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Land, Outcome, TaskState
from tests.core.world import CHECKS, World, settings


def state(world: World, task_id: str = "a") -> TaskState:
    return world.records[task_id].state


def ask(world: World, wish: str) -> None:
    """Let a person stop or retry the task."""
    world.records["a"] = replace(world.records["a"], request=wish)
    world.settle()


def test_a_committed_task_starts_at_once_with_one_record():
    world = World()
    world.add_task("a")

    actions = decide(world.snapshot(), world.now())

    assert [type(a) for a in actions] == [act.StartAttempt]
    assert actions[0].new.state is TaskState.RUNNING
    assert actions[0].new.newest.base == world.target


def test_work_that_ended_well_is_checked_and_landed_and_its_file_moves():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.pass_all()

    assert state(world) is TaskState.LANDED
    assert world.tasks == {}
    assert world.finished == {"a"}
    assert [s.state for s in world.submissions.values()] == [SubmissionState.LANDED]


def test_an_attempt_that_changed_nothing_is_done_and_its_file_moves():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.OK)
    world.settle()

    assert state(world) is TaskState.DONE
    assert world.finished == {"a"}


@pytest.mark.parametrize(
    ("outcome", "said", "reason"),
    [
        (Outcome.OK, "", "Attempt 1 ended well and changed nothing."),
        (Outcome.OK, "Added it.", "Attempt 1 changed nothing, and says: Added it."),
        (Outcome.NOTHING, "It was there.", "It was there."),
    ],
)
def test_what_changed_nothing_is_not_told_as_if_it_had(outcome, said, reason):
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", outcome)
    ended = world.ended["a"]
    attempt = replace(ended.attempt, summary=said)
    world.ended["a"] = replace(ended, attempt=attempt)
    world.settle()

    assert (TaskState.DONE, reason) == (state(world), world.records["a"].reason)


def test_the_same_work_once_more_after_a_stop_is_judged_anew_and_lands():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.settle()
    ask(world, "stop")
    ask(world, "retry")
    world.end("a", Outcome.OK, tip="w1")
    world.pass_all()
    states = [each.state for each in world.submissions.values()]

    assert [SubmissionState.WITHDRAWN, SubmissionState.LANDED] == states
    assert TaskState.LANDED is state(world)


def test_the_same_work_once_more_after_the_target_was_mended_lands():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.settle()
    for _ in range(8):
        for key, run in list(world.runs.items()):
            bare = not run.candidate.tips
            world.end_run(key, Result.PASSED if bare else Result.FAILED)
        world.settle()
    failed = state(world)
    world.move_target("mended")
    ask(world, "retry")
    world.end("a", Outcome.OK, tip="w1")
    world.pass_all()

    assert (TaskState.FAILED, TaskState.LANDED) == (failed, state(world))


def test_more_tasks_than_workers_wait_by_priority_and_then_age():
    world = World(settings=settings(parallel=1))
    world.add_task("first")
    world.settle()
    world.add_task("late")
    world.settle()
    world.add_task("urgent", priority=5)
    world.settle()
    world.end("first", Outcome.OK)
    world.settle()

    assert state(world, "urgent") is TaskState.RUNNING
    assert state(world, "late") is TaskState.WAITING
    assert "free worker" in world.records["late"].reason


def test_after_waits_until_the_other_has_landed():
    world = World()
    world.add_task("a")
    world.add_task("b", after=("a",))
    world.settle()
    waiting = world.records["b"].reason
    world.end("a", Outcome.OK, tip="w1")
    world.pass_all()

    assert "Waits for a" in waiting
    assert state(world, "b") is TaskState.RUNNING


def test_after_a_failed_or_missing_task_says_whose_move_it_is():
    world = World()
    world.add_task("a")
    world.add_task("b", after=("a",))
    world.add_task("c", after=("nowhere",))
    world.settle()
    world.end("a", Outcome.FAILED)
    world.settle()

    assert "which is failed" in world.records["b"].reason
    assert "nowhere.md" in world.records["c"].reason


def test_tasks_that_wait_for_each_other_say_so():
    world = World()
    world.add_task("a", after=("b",))
    world.add_task("b", after=("a",))
    world.settle()

    assert "which waits for a" in world.records["a"].reason
    assert state(world, "b") is TaskState.WAITING


def test_a_failed_attempt_is_tried_again_with_its_output_until_retries_are_used():
    world = World()
    world.add_task("a", retries=1)
    world.settle()
    world.end("a", Outcome.FAILED)
    world.settle()
    second = world.records["a"]
    world.end("a", Outcome.TIMEOUT)
    world.settle()

    assert (second.state, second.attempt) == (TaskState.RUNNING, 2)
    assert state(world) is TaskState.FAILED
    assert world.records["a"].failures == 2


def test_a_rejected_submission_costs_a_retry_and_gives_the_failing_output():
    world = World()
    world.add_task("a", retries=1)
    world.settle()
    world.conflicting.add("w1")
    world.end("a", Outcome.OK, tip="w1")
    world.settle()

    assert state(world) is TaskState.RUNNING
    assert "conflicts with the target in same.py" in world.records["a"].feedback


@pytest.mark.parametrize("outcome", [Outcome.INTERRUPTED, Outcome.CLAIMED])
def test_what_is_nobodys_fault_costs_no_retry(outcome: Outcome):
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", outcome)
    world.settle()

    assert state(world) is TaskState.RUNNING
    assert (world.records["a"].attempt, world.records["a"].failures) == (2, 0)


def test_an_amended_task_stops_its_attempt_and_starts_another_from_the_work():
    world = World()
    world.add_task("a")
    world.settle()
    world.add_task("a", blob="b2")
    world.settle()

    assert world.records["a"].blob == "b2"
    assert (state(world), world.records["a"].attempt) == (TaskState.RUNNING, 2)
    assert [a.outcome for a in world.records["a"].attempts] == [Outcome.AMENDED, None]


def test_an_amended_task_withdraws_its_older_submission():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.settle()
    world.add_task("a", blob="b2")
    world.settle()

    (submission,) = world.submissions.values()
    assert submission.state is SubmissionState.WITHDRAWN
    assert world.runs == {}
    assert state(world) is TaskState.RUNNING


def test_a_deleted_task_is_stopped_and_its_submission_withdrawn():
    world = World()
    world.add_task("a")
    world.add_task("b")
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.settle()
    world.tasks.clear()
    world.settle()

    assert (state(world, "a"), state(world, "b")) == (TaskState.STOPPED,) * 2
    assert [s.state for s in world.submissions.values()] == [SubmissionState.WITHDRAWN]
    assert world.attempts == {}


def test_a_deleted_task_that_comes_back_unchanged_runs_again():
    world = World()
    task = world.add_task("a")
    world.settle()
    world.tasks.clear()
    world.settle()
    world.tasks["a"] = task
    world.settle()

    assert (state(world), world.records["a"].attempt) == (TaskState.RUNNING, 2)


@pytest.mark.parametrize("where", ["waiting", "running", "submitted", "manual"])
def test_stop_works_wherever_a_task_stands(where: str):
    world = World(settings=settings(parallel=1))
    if where == "waiting":
        world.add_task("other", priority=1)
    land = Land.MANUAL if where == "manual" else Land.AUTO
    world.add_task("a", land=land)
    world.settle()
    if where in {"submitted", "manual"}:
        world.end("a", Outcome.OK, tip="w1")
        world.settle()
    world.records["a"] = replace(world.records["a"], request="stop")
    world.settle()

    assert state(world) is TaskState.STOPPED
    assert world.records["a"].request is None
    assert all(s.state is SubmissionState.WITHDRAWN for s in world.submissions.values())


def test_stop_that_comes_after_the_swap_leaves_the_task_landed():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.settle()
    assert len(world.submissions) == 1
    for group in (1, 2):
        for key in list(world.runs):
            world.end_run(key, Result.PASSED)
        if group == 1:
            world.settle()
    (landing,) = (
        a for a in decide(world.snapshot(), world.now()) if type(a) is act.Land
    )
    world.enact(landing)
    world.records["a"] = replace(world.records["a"], request="stop")
    world.settle()

    assert state(world) is TaskState.LANDED


def test_what_a_person_lands_for_a_task_ends_it_with_its_accept_commands():
    world = World()
    world.add_task("a", accept=("make good",))
    world.add_task("b", after=("a",))
    world.settle()
    made = Submission(
        id="s-1",
        tip="p1",
        state=SubmissionState.QUEUED,
        created=world.now().precise,
        since=world.now().stamp,
        closes="a",
    )
    world.submissions[made.id] = made
    world.pass_all()

    runs = {run.check.name for run in world.log if isinstance(run, act.StartRun)}
    assert "accept-1" in runs
    assert world.submissions["s-1"].state is SubmissionState.LANDED
    assert state(world) is TaskState.STOPPED
    assert state(world, "b") is TaskState.RUNNING


def test_retry_of_a_failed_task_starts_over():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.FAILED)
    world.settle()
    world.records["a"] = replace(world.records["a"], request="retry")
    world.settle()

    assert (state(world), world.records["a"].failures) == (TaskState.RUNNING, 0)


def test_a_retry_is_told_what_went_wrong_and_an_amended_task_is_not():
    for blob, told in (("b1", True), ("b2", False)):
        world = World()
        world.add_task("a", blob="b1")
        world.settle()
        world.end("a", Outcome.OK, tip="w1")
        world.conflicting.add("w1")
        world.settle()
        failed = world.records["a"]
        world.add_task("a", blob=blob)
        world.records["a"] = replace(failed, request="retry")
        world.settle()

        assert failed.state is TaskState.FAILED
        assert state(world) is TaskState.RUNNING
        assert told is ("conflicts with the target" in world.records["a"].feedback)


def test_manual_landing_waits_for_a_person_with_its_branch():
    world = World()
    world.add_task("a", land=Land.MANUAL)
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.settle()

    assert state(world) is TaskState.SUBMITTED
    assert "gitagent land a" in world.records["a"].reason
    assert world.submissions == {}


def test_without_a_sandbox_nothing_starts_and_the_reason_is_the_mend():
    world = World(sandbox="There is no bubblewrap; install the package bubblewrap.")
    world.add_task("a")
    world.settle()

    assert state(world) is TaskState.REFUSED
    assert "install the package bubblewrap" in world.records["a"].reason
    assert not any(isinstance(a, act.StartAttempt) for a in world.log)


@pytest.mark.parametrize(
    ("agent", "part"),
    [
        (None, "no agent definition .agent/agents/x.md"),
        (Agent("x", "command"), "no argv"),
    ],
)
def test_an_agent_that_cannot_run_here_refuses_the_task(agent, part: str):
    world = World()
    world.add_task("a", agent="x")
    agents = {"x": agent} if agent else {}

    (action,) = decide(replace(world.snapshot(), agents=agents), world.now())

    assert action.new.state is TaskState.REFUSED
    assert part in action.new.reason


def test_prose_for_shell_is_refused():
    world = World()
    task = world.add_task("a")
    world.tasks["a"] = replace(task, scripts=())
    world.settle()

    assert state(world) is TaskState.REFUSED
    assert "prose" in world.records["a"].reason


def test_workers_may_have_a_network():
    world = World(settings=Settings(check=CHECKS, sandbox=Sandbox(network=("h:1",))))
    world.add_task("a", agent="x")
    agent = Agent("x", "command", argv=("a",), network=("h:2",))
    actions = decide(replace(world.snapshot(), agents={"x": agent}), world.now())

    assert not any(
        isinstance(each, act.WriteTask) and each.new.state is TaskState.REFUSED
        for each in actions
    )


def test_a_restart_recovers_the_attempt_and_goes_on():
    world = World()
    world.add_task("a")
    world.settle()
    world.crash()
    world.settle()

    assert [a.outcome for a in world.records["a"].attempts] == [
        Outcome.INTERRUPTED,
        None,
    ]
    assert world.records["a"].failures == 0


def test_a_landed_task_whose_file_comes_back_is_a_new_task():
    world = World()
    world.add_task("a")
    world.settle()
    world.end("a", Outcome.OK, tip="w1")
    world.pass_all()
    world.add_task("a")
    world.settle()

    assert (state(world), world.records["a"].attempt) == (TaskState.RUNNING, 2)
