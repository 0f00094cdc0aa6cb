"""A simulation of merge queues: what a policy makes of the same work, run by run.

``simulate`` is deterministic. Time is counted in the mean duration of one run. A policy
has the signature of ``gitagent.core.search.plan_batch``, which is one of them; the
others stand for what merge queues usually do. The outcome of a run depends only on what
is in the tree and on which try it is, so every policy meets the same work.
"""

import hashlib
import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

from gitagent.core.rates import RECENT, learned
from gitagent.core.search import Fact, Facts, Plan, Rates, Set, plan_batch, plan_chain
from gitagent.core.submission import CheckLine, Submission, SubmissionState

Policy = Callable[[Set, Facts, int, Rates], Plan]

NEIGHBOURS = 10  # a pair that is bad together stands at most this far apart
SIGMA = 0.5  # of the logarithm of a run's duration, where that varies
_GOOD = CheckLine("tests", "passed")
STUCK = 10_000  # plans in a row in which no time passed


@dataclass(frozen=True, slots=True)
class World:
    """The work, and the truth about it."""

    names: Set  # in order of arrival
    bad: frozenset[str]
    pairs: frozenset[tuple[str, str]]  # each is good, and they are bad together
    flake: float = 0.0  # chance that a run of a good tree fails
    varied: bool = False  # durations are lognormal with mean 1, else all are 1
    arrivals: tuple[float, ...] = ()  # one for each name; empty: all at 0
    seed: int = 0

    def red(self, names: Iterable[str]) -> bool:
        """Say whether a tree with ``names`` in it fails for a reason of its own."""
        there = set(names)
        return not self.bad.isdisjoint(there) or any(
            one in there and other in there for one, other in self.pairs
        )

    def flakes(self, names: Iterable[str], nth: int) -> bool:
        """Say whether the ``nth`` run of a good tree fails all the same."""
        return self.flake > 0 and draw(names, f"{self.seed} {nth}") < self.flake

    def duration(self, names: Iterable[str], nth: int) -> float:
        """Return how long the ``nth`` run of a tree takes."""
        if not self.varied:
            return 1.0
        uniform = draw(names, f"{self.seed} {nth} takes")
        first = math.sqrt(-2 * math.log(1 - uniform))
        second = math.cos(math.tau * draw(names, f"{self.seed} {nth} long"))
        return math.exp(SIGMA * first * second - SIGMA**2 / 2)

    def right(self) -> frozenset[str]:
        """Return what a queue that takes one after another rejects."""
        landed: list[str] = []
        for name in self.names:
            if not self.red([*landed, name]):
                landed.append(name)
        return frozenset(self.names) - frozenset(landed)


def draw(names: Iterable[str], salt: str) -> float:
    """Return a number in [0, 1) that depends on a tree and ``salt`` alone.

    A check can draw the same: the first eight digits of
    ``{ echo SALT; ls; } | md5sum`` in a folder that has one file for each name.
    """
    text = "\n".join([salt, *sorted(names), ""])
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) / 2**32


def world(
    seed: int,
    submissions: int,
    failure: float,
    *,
    pairs: float = 0.0,
    flake: float = 0.0,
    varied: bool = False,
) -> World:
    """Make work at random.

    ``failure`` and ``pairs`` are the shares of submissions that are bad alone, and that
    are bad together with one shortly before: exactly so many, at random places, since
    a share that came out by chance would blur a comparison with the bound.
    """
    chance = random.Random(seed)  # noqa: S311 - repeatable, no secret
    names = tuple(f"s{n:04}" for n in range(submissions))
    bad = frozenset(chance.sample(names, round(failure * submissions)))
    good = [name for name in names if name not in bad]
    together = set()
    for n in chance.sample(range(1, len(good)), round(pairs * submissions)):
        together.add((good[max(0, n - chance.randint(1, NEIGHBOURS))], good[n]))
    return World(names, bad, frozenset(together), flake, varied, (), seed)


def one_by_one(world: World, rate: float) -> World:
    """Return the same work arriving at random, ``rate`` in the time of one run."""
    chance = random.Random(world.seed)  # noqa: S311 - repeatable, no secret
    now = 0.0
    arrivals = []
    for _ in world.names:
        arrivals.append(now)
        now += chance.expovariate(rate)
    return replace(world, arrivals=tuple(arrivals))


@dataclass(slots=True)
class Report:
    """What came of it."""

    makespan: float = 0.0
    waits: list[float] = field(default_factory=list)  # from arrival to the outcome
    runs: int = 0  # begun
    confirming: int = 0  # second runs, of those that ended
    stopped: int = 0
    landed: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    red_tips: int = 0  # the target was put where no run had passed, or none could
    wrong: int = 0  # rejected without two failing runs on the target as it is
    unlucky: int = 0  # good, and rejected because it flaked twice
    inversions: int = 0  # landed before one that was ahead and open
    doubles: int = 0

    @property
    def faults(self) -> int:
        """How often something happened that never may."""
        return self.red_tips + self.wrong + self.inversions + self.doubles


@dataclass(slots=True)
class _Run:
    tree: int
    rerun: bool
    red: bool


@dataclass(slots=True)
class _Queue:
    """The lander's side of the simulation."""

    world: World
    bits: Mapping[str, int]
    report: Report
    facts: dict[int, Fact] = field(default_factory=dict)  # by what is in the tree
    tries: dict[int, int] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    came: dict[str, float] = field(default_factory=dict)
    landed: int = 0
    outcomes: deque[Submission] = field(default_factory=lambda: deque(maxlen=RECENT))

    def tree(self, names: Iterable[str]) -> int:
        bits = self.bits
        return self.landed | sum([bits[name] for name in names])

    def fact(self, names: Set) -> Fact:
        return self.facts.get(self.tree(names), Fact.UNKNOWN)

    def rates(self) -> Rates:
        return learned(self.outcomes)

    def land(self, length: int, now: float) -> None:
        names, report = tuple(self.order[:length]), self.report
        there = [*report.landed, *names]
        if self.fact(names) is not Fact.GREEN or self.world.red(there):
            report.red_tips += 1
        report.doubles += len(there) - len(set(there))
        self.landed = self.tree(names)
        line = CheckLine(
            "tests",
            "flaky" if self.tries.get(self.landed, 0) > 1 else "passed",
            receipt=str(self.landed),
        )
        for name in names:
            report.inversions += name != self.order[0]
            self._settle(name, SubmissionState.LANDED, line, now)
            report.landed.append(name)

    def reject(self, now: float) -> None:
        name = self.order[0]
        failed = self.fact((name,)) is Fact.FAILED
        self.report.wrong += not failed
        self.report.unlucky += failed and not self.world.red(
            [*self.report.landed, name]
        )
        line = CheckLine("tests", "failed", receipt=str(self.tree((name,))))
        self._settle(name, SubmissionState.REJECTED, line, now)
        self.report.rejected.append(name)

    def _settle(
        self, name: str, state: SubmissionState, line: CheckLine, now: float
    ) -> None:
        self.order.remove(name)
        self.outcomes.append(Submission(name, name, state, "", "", checks=(line,)))
        self.report.waits.append(now - self.came[name])
        self.report.makespan = now


def simulate(world: World, policy: Policy, slots: int, *, passed: int = 0) -> Report:
    """Let ``policy`` land the work of ``world`` with so many runs at once.

    So many outcomes were good before: what is seen lately begins with them.

    Raises:
        RuntimeError: the policy goes round in a circle, or leaves work lying.
    """
    report = Report()
    bits = {name: 1 << n for n, name in enumerate(world.names)}
    queue = _Queue(world, bits, report)
    good = Submission("", "", SubmissionState.LANDED, "", "", checks=(_GOOD,))
    queue.outcomes.extend([good] * passed)
    events: list[tuple[float, int, str | _Run]] = []
    serial = count()
    for name, when in zip(
        world.names, world.arrivals or [0.0] * len(world.names), strict=True
    ):
        heappush(events, (when, next(serial), name))
    running: dict[int, _Run] = {}
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, _, event = heappop(events)
            if isinstance(event, str):
                queue.order.append(event)
                queue.came[event] = now
            elif running.get(event.tree) is event:
                del running[event.tree]
                _end(queue, event)
        for tree, names in _plan(queue, policy, slots, running, now):
            rerun = queue.facts.get(tree) is Fact.RED
            nth = queue.tries.get(tree, 0) + 1
            everything = [*report.landed, *names]
            red = world.red(everything) or world.flakes(everything, nth)
            running[tree] = run = _Run(tree, rerun, red)
            queue.facts[tree] = Fact.AGAIN if rerun else Fact.RUNNING
            report.runs += 1
            ends = now + world.duration(everything, nth)
            heappush(events, (ends, next(serial), run))
    if queue.order:
        raise RuntimeError(f"left lying: {queue.order}")
    return report


def _plan(
    queue: _Queue,
    policy: Policy,
    slots: int,
    running: dict[int, _Run],
    now: float,
) -> list[tuple[int, Set]]:
    """Land and reject what the policy says, and stop runs; return those to start."""
    plan = Plan(0, reject=False, run=())
    for _ in range(STUCK):
        order = tuple(queue.order)
        if not order:
            plan = Plan(0, reject=False, run=())
        else:
            plan = policy(order, queue.fact, slots, queue.rates())
        if plan.land:
            queue.land(plan.land, now)
        elif plan.reject:
            queue.reject(now)
        else:
            break
    else:
        raise RuntimeError(f"no end: {plan}")
    wanted = {queue.tree(names): names for names in plan.run}
    for tree in [tree for tree in running if tree not in wanted]:
        queue.facts[tree] = Fact.RED if running[tree].rerun else Fact.UNKNOWN
        queue.report.stopped += 1
        del running[tree]
    startable = (Fact.UNKNOWN, Fact.RED)
    new = [
        (tree, names)
        for tree, names in wanted.items()
        if queue.facts.get(tree, Fact.UNKNOWN) in startable
    ]
    return new[: slots - len(running)]


def _end(queue: _Queue, run: _Run) -> None:
    queue.tries[run.tree] = queue.tries.get(run.tree, 0) + 1
    if run.rerun:
        queue.report.confirming += 1
    again = Fact.FAILED if run.rerun else Fact.RED
    queue.facts[run.tree] = again if run.red else Fact.GREEN


# --- ours, and what other queues do


ours = plan_batch


def ours_chain(order: Set, fact: Facts, slots: int, rates: Rates) -> Plan:
    """Ours where each landed commit has to be green by itself."""
    del rates
    return plan_chain(order, fact, slots)


def serial(order: Set, fact: Facts, slots: int, rates: Rates) -> Plan:
    """One after another, whatever the number of slots."""
    del slots, rates
    head = order[:1]
    match fact(head):
        case Fact.GREEN:
            return Plan(1, reject=False, run=())
        case Fact.FAILED:
            return Plan(0, reject=True, run=())
        case _:
            return Plan(0, reject=False, run=(head,))


def chain(order: Set, fact: Facts, slots: int, rates: Rates) -> Plan:
    """Each on top of all ahead of it, as if those would land."""
    del rates
    if fact(order[:1]) is Fact.FAILED:
        return Plan(0, reject=True, run=())
    land = 0
    while land < len(order) and fact(order[: land + 1]) is Fact.GREEN:
        land += 1
    if land:
        return Plan(land, reject=False, run=())
    run: list[Set] = []
    there: Set = ()
    for name in order:
        if len(run) == slots:
            break
        known = fact((*there, name))
        if known is Fact.FAILED:
            continue  # whoever is behind runs without it
        there = (*there, name)
        if known is not Fact.GREEN:
            run.append(there)
    return Plan(0, reject=False, run=tuple(run))


BATCH = 8


def batches(order: Set, fact: Facts, slots: int, rates: Rates) -> Plan:
    """Eight at a time, each eight on top of those before; a red one is halved."""
    del rates
    reds = {Fact.RED, Fact.AGAIN, Fact.FAILED}
    if fact(order[:1]) is Fact.FAILED:
        return Plan(0, reject=True, run=())
    known = [fact(order[:n]) for n in range(1, min(len(order), BATCH * slots) + 1)]
    land = 1 + max((n for n, f in enumerate(known) if f is Fact.GREEN), default=-1)
    if land:
        return Plan(land, reject=False, run=())
    red = 1 + next((n for n, f in enumerate(known) if f in reds), -1)
    if red == 1:
        return Plan(0, reject=False, run=(order[:1],))
    if red:
        return Plan(0, reject=False, run=(order[: red // 2],))
    ends = range(BATCH, BATCH * slots + BATCH, BATCH)
    run = dict.fromkeys(order[:end] for end in ends)
    return Plan(0, reject=False, run=tuple(run)[:slots])


# --- figures


def entropy(chance: float) -> float:
    """Return what one yes or no that is yes with ``chance`` tells, in bits."""
    if not 0 < chance < 1:
        return 0.0
    return -chance * math.log2(chance) - (1 - chance) * math.log2(1 - chance)


def bound(world: World, slots: int) -> float:
    """Return the time that no queue beats, since a run tells one bit at most.

    Second runs tell next to nothing and are not in it; see ``second_runs``.
    """
    share = len(world.right()) / len(world.names)
    return len(world.names) * entropy(share) / slots


def second_runs(world: World, slots: int) -> float:
    """Return the time of the second run that each rejection needs."""
    return len(world.right()) / slots


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of ``values`` do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
