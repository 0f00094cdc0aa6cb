"""Batches: one green set vouches for all of its members, a red one is cut."""

import math
from dataclasses import replace

import pytest

from gitagent.core import action as act
from gitagent.core.receipt import Result
from gitagent.core.settings import Check, Lander, LanderMode, Settings
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.switch import RUNNING, Position, Switch
from tests.core.world import World

TESTS = (Check(name="tests", run="make test"),)

LANDED = SubmissionState.LANDED
QUEUED = SubmissionState.QUEUED
REJECTED = SubmissionState.REJECTED
WITHDRAWN = SubmissionState.WITHDRAWN


def batch(*tips: str, window: int = 1, **fields: object) -> World:
    """Return a world in whose queue these are at once, in order."""
    lander = Lander(mode=LanderMode.BATCH, window=window, flaky_budget=99)
    world = World(settings=Settings(check=TESTS, lander=lander), **fields)
    world.offers = {f"refs/heads/land/{tip}": tip for tip in tips}
    world.settle()
    return world


def by_tip(world: World, tip: str) -> Submission:
    (found,) = (s for s in world.submissions.values() if s.tip == tip)
    return found


def states(world: World, tips: str) -> list[SubmissionState]:
    return [by_tip(world, tip).state for tip in tips]


def under_check(world: World) -> set[str]:
    """Return the products of the runs under way without the target's at the start."""
    return {run.candidate.product.partition("+")[2] for run in world.runs.values()}


def end(world: World, product: str, result: Result = Result.PASSED) -> None:
    """Let the one run on a product end."""
    wanted = f"p0+{product}" if product else "p0"
    (key,) = (k for k, run in world.runs.items() if run.candidate.product == wanted)
    world.end_run(key, result)
    world.settle()


def started(world: World) -> list[str]:
    """Return the products that runs were started on, in order."""
    starts = [each for each in world.log if isinstance(each, act.StartRun)]
    return [run.candidate.product.partition("+")[2] for run in starts]


def stops(world: World) -> int:
    return sum(len(a.runs) for a in world.log if isinstance(a, act.StopRuns))


def landings(world: World) -> list[int]:
    """Return how many submissions each move of the target has landed."""
    landed = {entry for entry, _ in world.landings}
    sets = [
        {step.submission.id for step in each.steps}
        for each in world.log
        if isinstance(each, act.Land)
    ]
    return [len(each) for each in sets if each <= landed]


def landed(world: World) -> str:
    return "".join(world.submissions[entry].tip for entry, _ in world.landings)


def test_a_green_set_lands_by_one_move_after_one_run_and_its_tree_vouches_for_all():
    world = batch(*"abcd")
    world.run_all()

    assert ["a+b+c+d"] == started(world)
    assert [4] == landings(world)
    assert {"p0+a+b+c+d"} == {checked for _, checked in world.landings}
    assert "abcd" == landed(world)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("one", "abcd")
def test_of_four_with_a_bad_one_exactly_that_one_is_rejected(one: str, window: int):
    world = batch(*"abcd", window=window, bad={one})
    world.run_all()

    good = "abcd".replace(one, "")
    assert [LANDED] * 3 == states(world, good)
    assert REJECTED is by_tip(world, one).state
    assert good == landed(world)


@pytest.mark.parametrize("one", "abcd")
def test_of_four_with_a_bad_one_the_runs_are_few(one: str):
    world = batch(*"abcd", bad={one})
    world.run_all()
    reruns = [run for run, _ in world.history if run.run == 2]

    assert len(world.history) <= 1 + 2 * math.log2(4) + len(reruns)
    assert 1 == len(reruns)


def test_a_flake_costs_one_more_run_and_nobody_is_blamed():
    world = batch(*"abcd")
    end(world, "a+b+c+d", Result.FAILED)
    world.run_all()

    assert [LANDED] * 4 == states(world, "abcd")
    assert ["a+b+c+d"] * 2 == [p for p in started(world) if p == "a+b+c+d"][:2]
    assert len(started(world)) <= 5


def test_a_set_is_tried_no_third_time_on_the_same_target():
    world = batch(*"abcdefgh", window=2, bad={"c", "f"})
    world.run_all()
    tried = [(run.candidate.product, run.check.name) for run, _ in world.history]

    assert max(map(tried.count, tried)) <= 2
    assert [REJECTED] * 2 == states(world, "cf")
    assert "abdegh" == landed(world)


def test_what_was_tried_twice_is_not_tried_again_by_another_daemon():
    world = batch("a", "b")
    world.bad = {"a"}
    for _ in range(2):
        end(world, "a" if "a" in under_check(world) else "a+b", Result.FAILED)
        world.crash()
        world.settle()
    world.run_all()
    tried = [run.candidate.product for run, _ in world.history]

    assert max(map(tried.count, tried)) <= 2
    assert [REJECTED, LANDED] == states(world, "ab")


def test_of_two_that_are_bad_only_together_the_later_one_is_rejected():
    world = batch(*"abcd", window=2, bad_together={frozenset("bc")})
    world.run_all()

    assert REJECTED is by_tip(world, "c").state
    assert "abd" == landed(world)


def test_withdrawn_while_its_set_is_checked_the_rest_go_on_without_it():
    world = batch(*"abcd")
    old = by_tip(world, "b")
    del world.offers["refs/heads/land/b"]
    world.submissions[old.id] = replace(old, state=WITHDRAWN, reason="Taken back.")
    world.settle()
    now = under_check(world)
    world.run_all()

    assert {"a+c+d"} == now
    assert 1 == stops(world)
    assert [LANDED, WITHDRAWN, LANDED, LANDED] == states(world, "abcd")
    assert {"p0+a+c+d"} == {checked for _, checked in world.landings}


def test_a_green_result_that_comes_too_late_does_not_land_what_was_withdrawn():
    world = batch(*"ab", slow=True)
    world.merged()
    world.settle()
    (key,) = world.runs
    old = by_tip(world, "b")
    del world.offers["refs/heads/land/b"]
    world.submissions[old.id] = replace(old, state=WITHDRAWN, reason="Taken back.")
    world.end_run(key, Result.PASSED)
    world.settle()

    assert [] == world.landings
    assert WITHDRAWN is by_tip(world, "b").state


def test_the_longest_green_set_lands_at_once_and_what_runs_behind_it_goes_on():
    world = batch(*"abcdefgh", window=3)
    sets = sorted(under_check(world), key=len)
    end(world, sets[1])
    rest = under_check(world)

    assert 3 == len(sets)
    assert sets[1].replace("+", "") == landed(world)
    assert {f"{sets[2]}"} <= rest
    assert sets[0] not in rest


def test_never_more_sets_are_under_check_than_the_window_lets():
    world = batch(*"abcdefgh", window=2, bad={"c", "g"})
    seen = [len(under_check(world) - {""})]
    while world.runs:
        key = next(iter(world.runs))
        world.end_run(key, world.true_result(world.runs[key]))
        world.settle()
        seen.append(len(under_check(world) - {""}))

    assert 2 == max(seen)
    assert "abdefh" == landed(world)


def test_without_a_window_there_are_as_many_sets_as_cores():
    world = batch(*"abcdefgh", window=0, cores=4)

    assert 4 == len(under_check(world))


def test_c_promoted_over_a_lands_first():
    world = batch(*"abc", window=1)
    created = {tip: by_tip(world, tip).created for tip in "abc"}
    urgent = by_tip(world, "c")
    world.submissions[urgent.id] = replace(urgent, priority=1)
    world.settle()
    now = under_check(world)
    world.run_all()

    assert {"c+a+b"} == now
    assert "cab" == landed(world)
    assert created == {tip: by_tip(world, tip).created for tip in "abc"}


def test_what_changes_the_settings_ends_its_batch():
    new = Check(name="new", run="make new")
    world = batch()
    world.brings = {"b": replace(world.settings, check=(*TESTS, new))}
    world.offers = {f"refs/heads/land/{tip}": tip for tip in "abcd"}
    world.settle()
    first = {(run.check.name, *run.candidate.tips) for run in world.runs.values()}
    world.run_all()

    assert {("tests", "a", "b"), ("new", "a", "b")} == first
    assert [2, 2] == landings(world)
    assert [LANDED] * 4 == states(world, "abcd")
    behind = {r.check.name for r, _ in world.history if "c" in r.candidate.tips}
    assert {"tests", "new"} == behind


def test_of_two_that_conflict_the_second_is_rejected_after_the_first_has_landed():
    world = batch(*"abc", clashes={frozenset("ab")})
    waiting = by_tip(world, "b")
    first = under_check(world)
    world.run_all()

    assert {"a+c"} == first
    assert QUEUED is waiting.state
    assert [LANDED, REJECTED, LANDED] == states(world, "abc")


def test_of_two_that_conflict_the_second_lands_if_the_first_is_rejected():
    world = batch(*"abc", clashes={frozenset("ab")}, bad={"a"})
    world.run_all()

    assert [REJECTED, LANDED, LANDED] == states(world, "abc")


def test_a_stack_lands_as_one_set_in_order():
    below = {"b": ("a",), "c": ("a", "b")}
    world = batch(*"cba", below=below)
    world.run_all()

    assert "abc" == landed(world)
    assert [3] == landings(world)


def test_a_red_target_blames_nobody_and_says_so():
    world = batch(*"abc", window=2, bad={"p0"})
    world.receipts.clear()
    world.runs.clear()
    world.crash()
    world.settle()
    world.run_all()

    assert "" == landed(world)
    assert [] == [each for each in states(world, "abc") if each is REJECTED]
    assert "target is red" in by_tip(world, "a").reason


def test_a_red_target_does_not_reject_what_stands_on_one_that_it_blocks():
    world = batch(*"abc", window=2, bad={"p0"}, below={"b": ("a",)})
    world.receipts.clear()
    world.crash()
    world.settle()
    world.run_all()

    assert [] == [each for each in states(world, "abc") if each is REJECTED]


def test_on_a_red_target_the_one_that_mends_it_lands_and_then_the_others():
    world = batch(*"abc", window=2, bad={"p0"}, repairs={"c": "p0"})
    world.receipts.clear()
    world.crash()
    world.settle()
    world.run_all()

    assert [LANDED] * 3 == states(world, "abc")


def test_paused_while_it_is_green_it_lands_after_resume_without_a_run():
    world = batch(*"abc")
    world.switch = Switch(Position.PAUSED, "2026-11-30T00:00:00.000000Z")
    world.run_all()
    paused = landed(world)
    world.switch = RUNNING
    world.settle()

    assert "" == paused
    assert "abc" == landed(world)
    assert 1 == len(started(world))


def test_a_move_of_records_alone_costs_no_run():
    world = batch(*"abc")
    world.move_target(world.product)
    world.settle()
    world.run_all()

    assert 1 == len(started(world))
    assert "abc" == landed(world)


def test_those_that_landed_together_show_their_own_checks_and_not_the_others():
    world = batch(*"ab")
    world.run_all()

    for tip in "ab":
        (line,) = by_tip(world, tip).checks
        assert ("tests", "passed") == (line.name, line.state)
    shown = {by_tip(world, tip).checks[0].receipt for tip in "ab"}
    assert 1 == len(shown)
