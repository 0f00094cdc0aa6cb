"""Chains: each set is one submission more, and every landed tree was checked itself."""

from dataclasses import replace

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


def chain(*tips: str, window: int = 3, **fields: object) -> World:
    """Return a world in whose queue these are, in order."""
    lander = Lander(mode=LanderMode.CHAIN, window=window, flaky_budget=99)
    world = World(settings=Settings(check=TESTS, lander=lander), **fields)
    for tip in tips:
        submit(world, tip)
    return world


def submit(world: World, tip: str) -> None:
    world.offers[f"refs/heads/land/{tip}"] = tip
    world.settle()
    world.clock += 1


def take_back(world: World, tip: str) -> None:
    """Let the submitter withdraw one."""
    del world.offers[f"refs/heads/land/{tip}"]
    old = by_tip(world, tip)
    world.submissions[old.id] = replace(old, state=WITHDRAWN, reason="Taken back.")
    world.settle()


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


def landed(world: World) -> str:
    return "".join(world.submissions[entry].tip for entry, _ in world.landings)


def test_three_green_ones_are_checked_at_once_and_land_in_order_with_three_runs():
    world = chain("a", "b", "c")
    at_once = under_check(world)
    for product in ("a", "a+b", "a+b+c"):
        end(world, product)

    assert {"a", "a+b", "a+b+c"} == at_once
    assert "abc" == landed(world)
    assert 3 == len(started(world))
    assert ["p0+a", "p0+a+b", "p0+a+b+c"] == [product for _, product in world.landings]


def test_a_fails_twice_so_what_runs_on_top_is_stopped_and_runs_again_without_it():
    world = chain("a", "b", "c", window=4)
    end(world, "a", Result.FAILED)
    kept_on = under_check(world)
    end(world, "a", Result.FAILED)
    again = under_check(world)
    world.pass_all()

    assert {"a", "a+b", "a+b+c"} == kept_on
    assert {"b", "b+c"} == again
    assert [REJECTED, LANDED, LANDED] == states(world, "abc")
    assert 2 == stops(world)
    tried = {run.candidate.product for run, _ in world.history}
    assert {"p0+a", "p0+b", "p0+b+c"} == tried


def test_what_was_stopped_has_no_receipt_and_is_no_failure():
    world = chain("a", "b")
    end(world, "a", Result.FAILED)
    end(world, "a", Result.FAILED)

    assert [] == world.all_receipts("p0+a+b")
    assert [REJECTED, SubmissionState.CHECKING] == states(world, "ab")


def test_c_ends_green_first_and_lands_after_a_and_b_without_another_run():
    world = chain("a", "b", "c")
    end(world, "a+b+c")
    early = landed(world)
    end(world, "a+b")
    still = landed(world)
    end(world, "a")

    assert ["", ""] == [early, still]
    assert "abc" == landed(world)
    assert 3 == len(started(world))


def test_b_in_the_middle_fails_and_c_runs_again_exactly_once_on_a():
    world = chain("a", "b", "c")
    end(world, "a+b", Result.FAILED)
    end(world, "a+b", Result.FAILED)
    provisional = by_tip(world, "b").state
    world.pass_all()

    assert SubmissionState.CHECKING is provisional
    assert [LANDED, REJECTED, LANDED] == states(world, "abc")
    with_c = [each for each in started(world) if each.endswith("c")]
    assert ["a+b+c", "a+c"] == with_c
    assert ["p0+a", "p0+a+c"] == [product for _, product in world.landings]


def test_b_is_no_failure_when_a_on_which_it_failed_is_rejected():
    world = chain("a", "b", bad_together={frozenset("ab")})
    for _ in range(2):
        end(world, "a+b", Result.FAILED)
    for _ in range(2):
        end(world, "a", Result.FAILED)
    world.run_all()

    assert [REJECTED, LANDED] == states(world, "ab")


def test_a_new_one_at_the_tail_restarts_nothing_ahead():
    world = chain("a", "b", window=4)
    before = dict(world.runs)
    submit(world, "c")

    assert before.items() <= world.runs.items()
    assert {"a", "a+b", "a+b+c"} == under_check(world)
    assert 0 == stops(world)


def test_the_last_one_taken_back_stops_its_own_run_alone():
    world = chain("a", "b", "c")
    take_back(world, "c")

    assert {"a", "a+b"} == under_check(world)
    assert 1 == stops(world)
    assert 3 == len(started(world))


def test_with_a_window_of_two_and_five_entries_never_more_than_two_are_under_check():
    world = chain(*"abcde", window=2)
    seen = [under_check(world)]
    while world.runs:
        world.end_run(next(iter(world.runs)), Result.PASSED)
        world.settle()
        seen.append(under_check(world))

    assert {"a", "a+b"} == seen[0]
    assert 2 == max(map(len, seen))
    assert "abcde" == landed(world)
    assert 5 == len(started(world))


def test_the_window_shrinks_after_a_reset_and_grows_with_landings():
    world = chain(*"abcdefgh", window=4, bad={"a"})
    sizes = [len(under_check(world))]
    end(world, "a", Result.FAILED)
    end(world, "a", Result.FAILED)
    sizes.append(len(under_check(world)))
    for product in ("b", "b+c"):
        end(world, product)
        sizes.append(len(under_check(world)))

    assert [4, 2, 3, 4] == sizes


def test_c_promoted_over_a_that_runs_lands_first_and_each_holds_those_ahead():
    world = chain("a", "b", "c", window=1)
    created = {tip: by_tip(world, tip).created for tip in "abc"}
    urgent = by_tip(world, "c")
    world.submissions[urgent.id] = replace(urgent, priority=1)
    world.settle()
    now = under_check(world)
    world.pass_all()

    assert {"c"} == now
    assert "cab" == landed(world)
    assert ["a", "c", "c+a", "c+a+b"] == started(world)
    assert created == {tip: by_tip(world, tip).created for tip in "abc"}


def test_a_landing_leaves_the_runs_behind_it_as_they_are():
    world = chain("a", "b", "c")
    behind = {key for key, run in world.runs.items() if len(run.candidate.tips) > 1}
    end(world, "a")

    assert "a" == landed(world)
    assert behind <= world.runs.keys()
    assert 0 == stops(world)


def test_a_restart_in_mid_chain_runs_only_what_has_no_receipt():
    world = chain("a", "b", "c")
    end(world, "a+b")
    world.crash()
    world.settle()

    assert {"a", "a+b+c"} == under_check(world)


def test_a_direct_commit_makes_every_set_anew():
    world = chain("a", "b")
    world.move_target("p0+d")
    world.settle()

    assert {"d+a", "d+a+b"} == under_check(world)
    assert 2 == stops(world)


def test_a_move_of_records_alone_restarts_nothing():
    world = chain("a", "b")
    before = dict(world.runs)
    world.move_target(world.product)
    world.settle()

    assert before == world.runs
    assert 2 == len(started(world))


def test_paused_while_it_is_green_nothing_lands_until_resume_and_then_without_a_run():
    world = chain("a", "b")
    world.switch = Switch(Position.PAUSED, "2026-11-30T00:00:00.000000Z", "Ann <a@x>")
    for product in ("a+b", "a"):
        end(world, product)
    paused = landed(world)
    runs = len(started(world))
    world.crash()
    world.settle()
    world.switch = RUNNING
    world.settle()

    assert "" == paused
    assert "ab" == landed(world)
    assert runs == len(started(world)) == 2


def test_paused_starts_no_check_and_those_under_way_end():
    world = chain("a", window=1)
    world.switch = Switch(Position.PAUSED, "2026-11-30T00:00:00.000000Z")
    submit(world, "b")
    before = under_check(world)
    end(world, "a")

    assert {"a"} == before
    assert {} == world.runs
    assert [] == world.landings


def test_drained_lands_what_came_before_and_holds_what_comes_after():
    world = chain("a", "b")
    world.switch = Switch(Position.DRAINING, world.now().precise)
    world.clock += 1
    submit(world, "c")
    world.pass_all()
    drained = landed(world)
    waiting = by_tip(world, "c")
    world.switch = RUNNING
    world.pass_all()

    assert "ab" == drained
    assert QUEUED is waiting.state
    assert "drain" in waiting.reason
    assert "abc" == landed(world)


def test_a_red_target_blames_nobody_says_so_and_a_repair_lands():
    world = chain("a", window=1)
    world.receipts.clear()
    world.bad = {"p0"}
    world.run_all()
    told = by_tip(world, "a")
    world.repairs = {"r": "p0"}
    submit(world, "r")
    urgent = by_tip(world, "r")
    world.submissions[urgent.id] = replace(urgent, priority=1)
    world.run_all()

    assert QUEUED is told.state
    assert "target is red" in told.reason
    assert [LANDED, LANDED] == states(world, "ra")
    assert "ra" == landed(world)


def test_a_repair_behind_what_is_blocked_by_a_red_target_lands_too():
    world = chain("a", "r", bad={"p0"}, repairs={"r": "p0"})
    world.receipts.clear()
    world.settle()
    world.run_all()

    assert "r" in landed(world)


def test_the_bare_target_is_asked_once_and_only_when_somebody_is_in_doubt():
    world = chain("a", "b", window=1)
    world.receipts.clear()
    end(world, "a", Result.FAILED)
    asked = under_check(world)
    end(world, "")
    end(world, "a", Result.FAILED)
    world.run_all()

    assert {"", "a"} == asked
    assert 1 == started(world).count("")
    assert [REJECTED, LANDED] == states(world, "ab")


def test_of_two_that_conflict_the_second_is_rejected_after_the_first_has_landed():
    world = chain("a", "b", clashes={frozenset("ab")})
    waiting = by_tip(world, "b")
    world.pass_all()

    assert QUEUED is waiting.state
    assert "same.py" in waiting.reason
    assert [LANDED, REJECTED] == states(world, "ab")
    assert "same.py" in by_tip(world, "b").reason
    assert ["a"] == started(world)


def test_of_two_that_conflict_the_second_lands_if_the_first_is_rejected():
    world = chain("a", "b", clashes={frozenset("ab")}, bad={"a"})
    world.run_all()

    assert [REJECTED, LANDED] == states(world, "ab")


def test_what_changes_the_settings_ends_the_line_and_passes_old_and_new_checks():
    new = Check(name="new", run="make new")
    world = chain()
    changed = replace(world.settings, check=(*TESTS, new))
    world.brings = {"a": changed}
    submit(world, "a")
    submit(world, "b")
    checks = {(run.check.name, *run.candidate.tips) for run in world.runs.values()}
    world.pass_all()

    assert {("tests", "a"), ("new", "a")} == checks
    assert "ab" == landed(world)
    b = {run.check.name for run, _ in world.history if "b" in run.candidate.tips}
    assert {"tests", "new"} == b


def test_of_a_stack_the_upper_one_needs_the_rejected_lower_one_and_says_so():
    world = chain("a", "b", window=1, below={"b": ("a",)}, bad={"a"})
    world.run_all()

    assert [REJECTED, REJECTED] == states(world, "ab")
    assert f"needs {by_tip(world, 'a').id}" in by_tip(world, "b").reason
    assert not any("b" in each for each in started(world))
