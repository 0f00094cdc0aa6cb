"""The plain lander, decided from snapshots; cases of the lander's specification."""

from dataclasses import replace

import pytest

from gitagent.core import action as act
from gitagent.core.approval import Approval, Content
from gitagent.core.decide import decide
from gitagent.core.receipt import Result
from gitagent.core.settings import Guard, Lander, Settings
from gitagent.core.submission import CheckLine, Push, Submission, SubmissionState
from gitagent.core.switch import Switch
from gitagent.core.task import Outcome, TaskState
from tests.core.world import CHECKS, World


def submitted(*tips: str, **fields: object) -> World:
    world = World(**fields)
    for tip in tips:
        world.offers[f"refs/heads/land/{tip}"] = tip
        world.settle()
        world.clock += 1
    return world


def by_tip(world: World, tip: str) -> Submission:
    (found,) = (s for s in world.submissions.values() if s.tip == tip)
    return found


def running(world: World) -> set[tuple[str, int]]:
    return {(run.check.name, run.run) for run in world.runs.values()}


def finish(world: World, name: str, result: Result) -> None:
    (key,) = (k for k, run in world.runs.items() if run.check.name == name)
    world.end_run(key, result)
    world.settle()


def test_group_2_starts_only_after_all_of_group_1_is_green():
    world = submitted("a")
    first = running(world)
    finish(world, "lint", Result.PASSED)
    half = running(world)
    finish(world, "unit", Result.PASSED)

    assert first == {("lint", 1), ("unit", 1)}
    assert half == {("unit", 1)}
    assert running(world) == {("tests", 1)}


def test_both_failures_of_a_group_are_reported_and_later_groups_never_start():
    world = submitted("a")
    for _ in range(2):
        finish(world, "lint", Result.FAILED)
        finish(world, "unit", Result.FAILED)

    submission = by_tip(world, "a")
    assert submission.state is SubmissionState.REJECTED
    assert "lint failed twice" in submission.reason
    assert "unit failed twice" in submission.reason
    assert submission.output.count("failed") == 4
    assert {run.check.name for run in world.log if isinstance(run, act.StartRun)} == {
        "lint",
        "unit",
    }


def test_fails_once_then_passes_lands_flaky_and_only_that_command_ran_twice():
    world = submitted("a")
    finish(world, "lint", Result.FAILED)
    finish(world, "unit", Result.PASSED)
    finish(world, "lint", Result.PASSED)
    finish(world, "tests", Result.PASSED)

    submission = by_tip(world, "a")
    runs = [(r.check.name, r.run) for r in world.log if isinstance(r, act.StartRun)]
    assert submission.state is SubmissionState.LANDED
    assert [(c.name, c.state) for c in submission.checks] == [
        ("lint", "flaky"),
        ("unit", "passed"),
        ("tests", "passed"),
    ]
    assert sorted(runs) == [("lint", 1), ("lint", 2), ("tests", 1), ("unit", 1)]


def test_a_check_that_changed_its_checkout_is_rejected_without_a_second_try():
    world = submitted("a")
    finish(world, "lint", Result.CHANGED)
    finish(world, "unit", Result.PASSED)

    assert by_tip(world, "a").state is SubmissionState.REJECTED


def test_a_command_that_cannot_run_is_never_a_pass():
    world = submitted("a")
    finish(world, "unit", Result.PASSED)
    finish(world, "lint", Result.BROKEN)
    finish(world, "lint", Result.BROKEN)

    assert by_tip(world, "a").state is SubmissionState.REJECTED
    assert "could not be run" in by_tip(world, "a").reason


def test_a_flaky_budget_that_is_used_up_blocks():
    lander = Lander(flaky_budget=3)
    world = submitted("a", settings=Settings(check=CHECKS, lander=lander))
    for n in range(3):
        old = replace(
            by_tip(world, "a"),
            id=f"s-{n}",
            tip=f"old{n}",
            branch=None,
            state=SubmissionState.LANDED,
            checks=(CheckLine("lint", "flaky"),),
        )
        world.submissions[old.id] = old
    finish(world, "unit", Result.PASSED)
    finish(world, "lint", Result.FAILED)
    finish(world, "lint", Result.PASSED)

    assert by_tip(world, "a").state is SubmissionState.REJECTED
    assert "flaky budget" in by_tip(world, "a").reason
    assert "`gitagent log --flaky`" in by_tip(world, "a").reason


def test_textual_conflict_is_rejected_with_the_paths_and_the_next_entry_lands():
    world = World(conflicting={"a"})
    world.offers = {"refs/heads/land/a": "a", "refs/heads/land/b": "b"}
    world.pass_all()

    assert by_tip(world, "a").state is SubmissionState.REJECTED
    assert "same.py" in by_tip(world, "a").reason
    assert not any(
        by_tip(world, "a").id in run.submissions
        for run in world.log
        if isinstance(run, act.StartRun)
    )
    assert by_tip(world, "b").state is SubmissionState.LANDED


def test_entries_land_in_order_of_priority_and_age():
    world = submitted("a", "b", "c")
    urgent = by_tip(world, "c")
    world.submissions[urgent.id] = replace(urgent, priority=1)
    world.pass_all()

    assert landed_tips(world) == ["c", "a", "b"]


def landed_tips(world: World) -> list[str]:
    return [world.submissions[entry].tip for entry, _ in world.landings]


def test_those_behind_say_whom_they_wait_for():
    world = submitted("a", "b", "c", cores=1)

    assert by_tip(world, "a").id in by_tip(world, "b").reason
    assert by_tip(world, "b").id in by_tip(world, "c").reason


def test_a_target_that_moves_by_records_alone_costs_no_run():
    world = submitted("a")
    finish(world, "lint", Result.PASSED)
    finish(world, "unit", Result.PASSED)
    finish(world, "tests", Result.PASSED)
    runs = len([a for a in world.log if isinstance(a, act.StartRun)])
    world2 = submitted("a")
    finish(world2, "lint", Result.PASSED)
    finish(world2, "unit", Result.PASSED)
    world2.move_target(world2.product)
    world2.pass_all()
    runs2 = len([a for a in world2.log if isinstance(a, act.StartRun)])

    assert runs2 == runs == 3
    assert by_tip(world2, "a").state is SubmissionState.LANDED


def test_a_target_that_moves_by_content_is_checked_again():
    world = submitted("a")
    for name in ("lint", "unit"):
        finish(world, name, Result.PASSED)
    world.move_target("p-other")
    world.pass_all()

    assert len([a for a in world.log if isinstance(a, act.StartRun)]) == 5 + 1
    assert world.landings == [(by_tip(world, "a").id, "p-other+a")]


def test_a_target_that_moves_all_the_time_piles_up_no_runs():
    world = submitted("a")
    for name in ("p1", "p2", "p3"):
        world.move_target(name)
        world.settle()

    assert running(world) == {("lint", 1), ("unit", 1)}
    assert {run.candidate.product for run in world.runs.values()} == {"p3+a"}


def test_a_run_whose_candidate_came_to_conflict_is_stopped():
    world = submitted("a")
    world.conflicting.add("a")
    world.move_target("p1")
    world.settle()

    assert by_tip(world, "a").state is SubmissionState.REJECTED
    assert world.runs == {}


def test_a_force_pushed_branch_supersedes_what_it_offered_before():
    world = submitted("a")
    world.offers["refs/heads/land/a"] = "a2"
    world.pass_all()

    assert by_tip(world, "a").state is SubmissionState.WITHDRAWN
    assert by_tip(world, "a2").state is SubmissionState.LANDED


def test_the_same_object_under_two_refs_is_one_entry():
    world = World()
    world.offers = {"refs/heads/land/x": "a", "refs/heads/land/y": "a"}
    world.pass_all()

    assert len(world.submissions) == 1
    assert len(world.landings) == 1


def test_a_settled_object_is_not_taken_again():
    world = submitted("a", conflicting={"a"})
    world.offers["refs/heads/land/again"] = "a"
    world.settle()

    assert len(world.submissions) == 1
    assert by_tip(world, "a").state is SubmissionState.REJECTED


def test_a_ref_that_offered_what_has_landed_is_dropped():
    world = submitted("a")
    world.pass_all()

    assert world.offers == {}


def test_edits_in_the_way_hold_the_landing_until_they_are_gone():
    world = submitted("a", in_the_way=True)
    world.pass_all()
    held = by_tip(world, "a")
    world.in_the_way = False
    world.clock += 3
    world.settle()

    assert held.state is SubmissionState.HELD
    assert "same.py" in held.reason
    assert by_tip(world, "a").state is SubmissionState.LANDED


def test_a_held_entry_lets_the_next_one_be_checked():
    world = submitted("a", "b", in_the_way=True)
    world.pass_all()

    assert by_tip(world, "a").state is SubmissionState.HELD
    assert {c.state for c in by_tip(world, "b").checks} == {"passed"}


def test_what_cannot_be_judged_does_not_land_and_says_why():
    world = submitted("a", settings=Settings(check=()))

    assert by_tip(world, "a").state is SubmissionState.QUEUED
    assert "no [[check]]" in by_tip(world, "a").reason
    assert world.runs == {}


def test_no_checks_land_only_where_the_target_allows_it():
    lander = Lander(allow_unchecked=True)
    world = submitted("a", settings=Settings(lander=lander))

    assert by_tip(world, "a").state is SubmissionState.LANDED


def test_settings_that_do_not_parse_stop_the_queue():
    world = submitted("a")
    snapshot = world.snapshot()
    broken = replace(snapshot, target=replace(snapshot.target, problem="line 3: x"))
    writes = [
        a for a in decide(broken, world.now()) if isinstance(a, act.WriteSubmission)
    ]
    assert "line 3: x" in writes[0].new.reason


def test_without_a_sandbox_no_check_runs():
    world = submitted("a", "b", sandbox="There is no bubblewrap.")

    assert world.runs == {}
    assert "no bubblewrap" in by_tip(world, "a").reason


def test_a_protected_path_is_held_by_name_until_it_is_approved():
    world = submitted("a", needs_approval={"a"})
    held = by_tip(world, "a")
    content = Content(".agent/agents/x.md", 0o100644, "blob-a")
    world.approvals[held.id] = Approval(held.id, "a", (content,), "Ann", "now")
    world.pass_all()

    assert held.state is SubmissionState.HELD
    assert ".agent/agents/x.md" in held.reason
    assert by_tip(world, "a").state is SubmissionState.LANDED


def test_what_waits_for_an_approval_lets_the_others_pass():
    world = submitted("a", "b", needs_approval={"a"})
    world.pass_all()

    assert by_tip(world, "a").state is SubmissionState.HELD
    assert by_tip(world, "b").state is SubmissionState.LANDED


@pytest.mark.parametrize("guard", [Guard.REFUSE, Guard.WARN])
def test_a_refused_direct_move_freezes_all_until_a_person_accepts_it(guard: Guard):
    lander = Lander(guard=guard, flaky_budget=99)
    world = submitted(settings=Settings(check=CHECKS, lander=lander))
    world.direct = ("d" * 40,)
    world.offers["refs/heads/land/a"] = "a"
    world.add_task("t")
    world.pass_all()
    frozen = by_tip(world, "a"), world.records["t"].state
    world.switch = Switch(accepted=world.direct)
    world.pass_all()

    if guard is Guard.REFUSE:
        assert SubmissionState.QUEUED is frozen[0].state
        assert "dddddddddddd came to the target past" in (frozen[0].reason or "")
        assert TaskState.WAITING is frozen[1]
    else:
        assert SubmissionState.LANDED is frozen[0].state
    assert SubmissionState.LANDED is by_tip(world, "a").state
    assert TaskState.RUNNING is world.records["t"].state


def test_all_that_a_red_target_stops_say_so_and_go_on_after_a_repair():
    world = World(cores=1)
    world.receipts.clear()
    world.offers = {f"refs/heads/land/{tip}": tip for tip in ("a", "b")}
    world.settle()
    for _ in range(12):
        for key in list(world.runs):
            world.end_run(key, Result.FAILED)
        world.settle()
    reasons = [by_tip(world, tip).reason or "" for tip in ("a", "b")]
    world.move_target("repaired")
    world.vouch()
    world.pass_all()

    assert all(reason.startswith("The target is red") for reason in reasons)
    assert SubmissionState.LANDED is by_tip(world, "a").state
    assert SubmissionState.LANDED is by_tip(world, "b").state


@pytest.mark.parametrize(
    ("result", "more"),
    [
        (Result.FAILED, ""),
        (Result.BROKEN, " This is none yet: Check lint could not be run (exit 1)."),
    ],
)
def test_what_fails_otherwise_than_a_red_target_is_told_what_it_lacks(result, more):
    world = World(cores=1)
    world.receipts.clear()
    world.offers = {"refs/heads/land/a": "a"}
    world.settle()
    for _ in range(12):
        for key, run in list(world.runs.items()):
            bare = not run.candidate.tips
            world.end_run(key, Result.FAILED if bare else result)
        world.settle()

    _, repair, told = (by_tip(world, "a").reason or "").partition("Land a repair.")

    assert ("Land a repair.", more) == (repair, told.partition(" Check unit")[0])


def test_one_tip_on_two_branches_is_one_submission():
    world = World()
    world.offers = {"refs/heads/land/a": "same", "refs/heads/land/b": "same"}
    wanted = [a for a in decide(world.snapshot(), world.now()) if type(a) is act.Submit]

    assert 1 == len(wanted)


def test_what_is_already_on_the_target_needs_no_landing():
    world = World(landed_tips={"a"})
    world.offers["refs/heads/land/a"] = "a"
    world.settle()

    assert by_tip(world, "a").state is SubmissionState.LANDED
    assert world.landings == []


def test_a_restart_in_mid_check_runs_only_what_has_no_receipt():
    world = submitted("a")
    finish(world, "lint", Result.PASSED)
    world.crash()
    world.settle()

    assert running(world) == {("unit", 1)}


def test_flakes_of_what_other_tasks_accept_use_up_no_budget():
    world = World()
    world.settings = replace(world.settings, lander=Lander(flaky_budget=1))
    world.add_task("t", accept=("./accept",))
    world.settle()
    world.end("t", Outcome.OK, tip="w")
    world.settle()
    other = replace(
        by_tip(world, "w"),
        id="s-other",
        tip="other",
        state=SubmissionState.LANDED,
        checks=(CheckLine("accept-1", "flaky"),),
    )
    world.submissions[other.id] = other
    for name in ("lint", "unit", "tests"):
        finish(world, name, Result.PASSED)
    finish(world, "accept-1", Result.FAILED)
    finish(world, "accept-1", Result.PASSED)

    assert by_tip(world, "w").state is SubmissionState.LANDED


def test_accept_commands_and_claimed_commands_run_on_the_merged_tree():
    world = World()
    world.add_task("t", accept=("./accept",))
    world.settle()
    world.end("t", Outcome.OK, tip="w")
    ended = world.ended["t"]
    world.ended["t"] = replace(
        ended, attempt=replace(ended.attempt, commands=("make claimed",))
    )
    world.settle()
    for name in ("lint", "unit", "tests"):
        finish(world, name, Result.PASSED)
    extra = {run.check.run for run in world.runs.values()}
    finish(world, "accept-1", Result.PASSED)
    finish(world, "claim-1", Result.FAILED)
    finish(world, "claim-1", Result.FAILED)

    assert extra == {"./accept", "make claimed"}
    assert by_tip(world, "w").state is SubmissionState.REJECTED


def test_a_failed_push_leaves_the_landing_and_is_tried_again():
    lander = Lander(push="origin", flaky_budget=99)
    world = submitted("a", settings=Settings(check=CHECKS, lander=lander))
    world.pass_all()
    world.waits.clear()
    failed = replace(
        world.snapshot(), live=replace(world.snapshot().live, push_error="no route")
    )
    actions = decide(failed, world.now())
    assert [type(a) for a in actions] == [act.WriteSubmission, act.PushTarget]
    assert actions[0].new.push is Push.FAILED
    assert actions[0].new.state is SubmissionState.LANDED
