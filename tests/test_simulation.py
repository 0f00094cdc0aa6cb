"""The simulation of the benches is fair, deterministic, and notices what is wrong."""

import hashlib

import pytest

from bench import simulate as sim
from gitagent.core.search import Fact, Plan

POLICIES = (sim.serial, sim.chain, sim.batches, sim.ours, sim.ours_chain)


@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_comes_to_the_same_outcomes(policy, slots):
    work = sim.world(3, 60, 0.1, pairs=0.05)

    report = sim.simulate(work, policy, slots)

    assert 0 == report.faults
    assert work.right() == frozenset(report.rejected)
    assert sorted(work.names) == sorted(report.landed + report.rejected)
    assert not work.red(report.landed)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_simulation_can_be_repeated(policy):
    work = sim.world(5, 40, 0.1, flake=0.1, varied=True)
    arriving = sim.one_by_one(work, 2.0)

    assert sim.simulate(work, policy, 2) == sim.simulate(work, policy, 2)
    assert sim.simulate(arriving, policy, 2) == sim.simulate(arriving, policy, 2)


def test_serial_takes_one_run_each_and_one_more_for_each_rejection():
    work = sim.world(1, 50, 0.1)

    report = sim.simulate(work, sim.serial, 4)

    assert (55.0, 55) == (report.makespan, report.runs)


def test_a_chain_lands_good_work_as_wide_as_its_slots():
    report = sim.simulate(sim.world(1, 48, 0.0), sim.chain, 4)

    assert (12.0, 48) == (report.makespan, report.runs)


def test_no_policy_beats_the_bound():
    worlds = [sim.world(seed, 100, 0.05) for seed in range(10)]
    for policy in POLICIES:
        spent = sum(sim.simulate(each, policy, 2).makespan for each in worlds)

        assert sum(sim.bound(each, 2) for each in worlds) < spent


def test_a_world_has_exactly_the_share_of_bad_work_that_was_asked_for():
    work = sim.world(7, 200, 0.05, pairs=0.01)

    assert (10, 2) == (len(work.bad), len(work.pairs))
    assert 12 == len(work.right())


def test_a_draw_is_what_a_shell_gets_from_md5sum():
    text = b"1 2\na\nb\n"
    digits = hashlib.md5(text, usedforsecurity=False).hexdigest()[:8]

    assert int(digits, 16) / 2**32 == sim.draw(("b", "a"), "1 2")


def test_a_policy_that_lands_without_a_run_is_noticed():
    report = sim.simulate(
        sim.world(1, 5, 0.2), lambda *_: Plan(1, reject=False, run=()), 1
    )

    assert 5 == report.red_tips


def test_a_policy_that_rejects_after_one_failure_is_noticed():
    def hasty(order, fact, slots, rates):
        if fact(order[:1]) is Fact.RED:
            return Plan(0, reject=True, run=())
        return sim.serial(order, fact, slots, rates)

    report = sim.simulate(sim.world(1, 20, 0.2), hasty, 1)

    assert 4 == report.wrong


def test_a_policy_that_leaves_work_lying_is_noticed():
    with pytest.raises(RuntimeError):
        sim.simulate(sim.world(1, 5, 0.0), lambda *_: Plan(0, reject=False, run=()), 1)
