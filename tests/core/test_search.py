"""The search alone: queues of which it is known who is at fault, and nothing else."""

import math
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.search import Fact, Plan, Rates, Set, plan_batch, plan_chain, reach

RATES = Rates(failure=0.05, flake=0.1)
QUEUES = st.integers(1, 24).flatmap(
    lambda n: st.tuples(
        st.just(tuple(f"s{k}" for k in range(n))),
        st.sets(st.integers(0, n - 1).map("s{}".format), max_size=6),
        st.sets(st.tuples(*[st.integers(0, n - 1).map("s{}".format)] * 2), max_size=2),
    )
)


@dataclass
class Bench:
    """A queue worked off: every run ends at the end of a round."""

    order: Set
    bad: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()  # bad only together
    slots: int = 2
    chain: bool = False
    rates: Rates = RATES
    flaky: Counter[Set] = field(default_factory=Counter)  # failures to come, by set
    landed: Set = ()
    rejected: Set = ()
    runs: list[Set] = field(default_factory=list)
    results: dict[Set, list[bool]] = field(default_factory=dict)

    def red(self, members: Set) -> bool:
        together = any(set(pair) <= set(members) for pair in self.pairs)
        return together or bool(self.bad & set(members))

    def fact(self, members: Set) -> Fact:
        told = self.results.get(self.landed + members, [])
        if True in told:
            return Fact.GREEN
        return (Fact.UNKNOWN, Fact.RED, Fact.FAILED)[len(told)]

    def plan(self) -> Plan:
        if self.chain:
            return plan_chain(self.order, self.fact, self.slots)
        return plan_batch(self.order, self.fact, self.slots, self.rates)

    def round(self) -> None:
        plan = self.plan()
        assert len(plan.run) <= self.slots
        assert len(set(plan.run)) == len(plan.run)
        assert plan.run or plan.land or plan.reject
        if plan.land:
            self.land(plan.land)
        elif plan.reject:
            assert self.red((*self.landed, self.order[0])) or self.flaky
            self.rejected += self.order[:1]
            self.order = self.order[1:]
        else:
            for members in plan.run:
                self.run(members)

    def land(self, count: int) -> None:
        for k in range(1 if self.chain else count, count + 1):
            assert self.fact(self.order[:k]) is Fact.GREEN
        self.landed += self.order[:count]
        self.order = self.order[count:]

    def run(self, members: Set) -> None:
        key = self.landed + members
        told = self.results.setdefault(key, [])
        assert True not in told
        assert len(told) < 2, "a third try"
        flake = self.flaky[members] > 0
        self.flaky[members] -= flake
        told.append(not flake and not self.red(key))
        self.runs.append(members)

    def work(self) -> "Bench":
        for _ in range(40 * len(self.order) + 40):
            if not self.order:
                return self
            self.round()
        raise AssertionError("it does not end")


def queue(count: int) -> Set:
    return tuple(f"s{k}" for k in range(count))


def test_a_good_queue_lands_whole_by_one_run_of_its_longest_set():
    made = Bench(queue(20), slots=2).work()

    assert queue(20) == made.landed
    assert [8, 20] == [len(each) for each in made.runs]


def test_one_bad_of_four_costs_few_runs_and_the_others_land():
    for bad in queue(4):
        made = Bench(queue(4), frozenset({bad}), slots=1).work()
        again = sum(count > 1 for count in Counter(made.runs).values())

        assert (bad,) == made.rejected
        assert len(made.runs) - again <= 1 + 2 * math.log2(4)


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_two_that_are_bad_together_cost_the_later_one(slots: int):
    made = Bench(queue(8), pairs=frozenset({("s2", "s5")}), slots=slots).work()

    assert ("s5",) == made.rejected


def test_a_red_set_is_run_again_at_once_while_flakes_are_likely():
    flaky = Counter({queue(20): 1})
    made = Bench(queue(20), slots=1, rates=Rates(0.01, 0.5), flaky=flaky).work()

    assert [queue(20)] * 2 == made.runs
    assert queue(20) == made.landed


def test_a_red_set_is_cut_first_while_flakes_are_rare():
    made = Bench(queue(20), frozenset({"s9"}), slots=1, rates=Rates(0.01, 0.01))
    made.round()
    made.round()

    assert len(made.runs[1]) in {9, 10}


def test_slots_that_are_left_run_ahead_without_the_one_at_fault():
    made = Bench(queue(6), frozenset({"s0"}), slots=3)
    made.results[("s0",)] = [False]
    plan = made.plan()

    assert ("s0",) == plan.run[0]
    assert all("s0" not in members for members in plan.run[1:])
    assert len(plan.run) == 3


def test_what_runs_is_not_asked_for_anew_and_the_next_cut_goes_beside_it():
    made = Bench(queue(6), slots=2)
    running = queue(6)[:3]
    facts = {running: Fact.RUNNING}
    plan = plan_batch(made.order, lambda s: facts.get(s, Fact.UNKNOWN), 2, RATES)

    assert running == plan.run[0]
    assert len(plan.run) == 2


def test_a_longer_green_set_vouches_for_a_red_one_in_it():
    facts = {queue(4)[:2]: Fact.FAILED, queue(4): Fact.GREEN}
    plan = plan_batch(queue(4), lambda s: facts.get(s, Fact.UNKNOWN), 2, RATES)

    assert (4, False) == (plan.land, plan.reject)


def test_a_chain_has_its_whole_window_under_check_and_lands_in_order():
    facts = {queue(3): Fact.GREEN}
    plan = plan_chain(queue(5), lambda s: facts.get(s, Fact.UNKNOWN), 3)

    assert (queue(5)[:1], queue(5)[:2], queue(5)[:4]) == plan.run
    assert 0 == plan.land


def test_a_chain_leaves_out_what_failed_twice_and_waits_for_those_ahead():
    facts = {queue(2): Fact.FAILED, ("s0",): Fact.RUNNING}
    plan = plan_chain(queue(3), lambda s: facts.get(s, Fact.UNKNOWN), 3)

    assert (("s0",), ("s0", "s2")) == plan.run
    assert not plan.reject


def test_the_longest_set_is_green_as_often_as_one_outcome_in_all():
    assert 14 == reach(1, 0.05)
    assert 21 == reach(2, 0.05)
    assert 1 == reach(1, 0.5)


@given(QUEUES, st.integers(1, 5), st.booleans(), st.floats(0.01, 0.5))
def test_every_queue_ends_and_only_the_right_ones_are_rejected(
    told: tuple[Set, set[str], set[tuple[str, str]]],
    slots: int,
    chain: bool,  # noqa: FBT001 - drawn
    failure: float,
):
    order, bad, pairs = told
    made = Bench(
        order,
        frozenset(bad),
        frozenset(pairs),
        slots,
        chain,
        Rates(failure, 0.1),
    ).work()
    wanted: Set = ()
    for each in order:
        if not made.red((*wanted, each)):
            wanted += (each,)

    assert wanted == made.landed
    assert set(order) - set(wanted) == set(made.rejected)
