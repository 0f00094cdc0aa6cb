"""Random lives of a queue, both modes: what must hold whatever happens when.

What is good and bad is fixed from the start, so right and wrong answers can be told
apart. Merges and stops take time; each check may be flaky once.
"""

from collections import Counter
from dataclasses import replace

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from gitagent.core import action as act
from gitagent.core.approval import Approval, Content
from gitagent.core.receipt import Result
from gitagent.core.settings import Check, Lander, LanderMode, Settings
from gitagent.core.submission import Submission, SubmissionState, in_order
from gitagent.core.switch import RUNNING, Position, Switch
from tests.core.world import World

CHECKS = (Check(name="lint", run="lint"), Check(name="tests", run="test", group=2))
KINDS = st.sampled_from(
    ["good"] * 6 + ["bad", "bad", "pair", "guarded", "conflicting", "clash", "stack"]
)


class Watched(World):
    """A world that looks at each landing whether it overtakes somebody."""

    def land(self, steps: tuple[act.LandStep, ...]) -> bool:
        base, there = self.target, {step.submission.id for step in steps}
        before = in_order(self.submissions.values())
        last = max(n for n, each in enumerate(before) if each.id in there)
        passed = [each for each in before[:last] if each.id not in there]
        out = {each.id for each in passed if self.may_be_passed(each)}
        assert not any(self.is_late(step.submission) for step in steps)
        done = super().land(steps)
        if self.target != base:
            for each in passed:
                assert each.id in out or self.lacks(each, out), f"{each} was overtaken"
        return done

    def lacks(self, each: Submission, out: set[str]) -> bool:
        """Whether it stands on one that does not land, or not now."""
        lost = {SubmissionState.REJECTED, SubmissionState.WITHDRAWN}
        states = {self.submissions[lower].state for lower in each.needs}
        return bool(out & set(each.needs) or lost & states)

    def may_be_passed(self, each: Submission) -> bool:
        """Whether something of its own keeps it from landing now."""
        tip = each.tip
        unapproved = tip in self.needs_approval and each.id not in self.approvals
        clashes = any(tip in pair for pair in self.clashes)
        blocked = self.is_red() and self.is_red((tip,))
        stuck = tip in self.conflicting or clashes
        late = self.is_late(each)
        return bool(late or unapproved or stuck or blocked or each.id in self.held)

    def is_late(self, each: Submission) -> bool:
        """Whether it came after the queue began to drain."""
        drained = self.switch.position is Position.DRAINING
        return drained and each.created > self.switch.since


class Lines(RuleBasedStateMachine):
    """Submitters, checks and a person act; the core decides after each of them."""

    @initialize(
        mode=st.sampled_from(LanderMode),
        window=st.integers(0, 3),
        cores=st.integers(1, 4),
        slow=st.booleans(),
    )
    def begin(self, mode, window, cores, slow):
        lander = Lander(mode=mode, window=window, flaky_budget=99)
        settings = Settings(check=CHECKS, lander=lander)
        self.world = Watched(settings=settings, cores=cores, slow=slow)
        self.window = window or cores
        self.counter = 0
        self.flaked: set[str] = set()
        self.seen = 0
        self.settled: dict[str, Submission] = {}

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def waiting(self) -> list[Submission]:
        return in_order(self.world.submissions.values())

    # --- what happens

    @rule(kinds=st.lists(KINDS, min_size=1, max_size=4), data=st.data())
    def branches_are_pushed(self, kinds, data):
        world = self.world
        if len(self.waiting()) > 8:
            return
        for kind in kinds:
            tip = self.fresh("h")
            others = sorted(s.tip for s in self.waiting())
            other = data.draw(st.sampled_from(others)) if others else None
            if kind == "bad":
                world.bad.add(tip)
            elif kind == "conflicting":
                world.conflicting.add(tip)
            elif kind == "guarded":
                world.needs_approval.add(tip)
            elif kind == "clash" and other:
                world.clashes.add(frozenset({tip, other}))
            elif kind == "pair" and other:
                world.bad_together.add(frozenset({tip, other}))
            elif kind == "stack" and other:
                world.below[tip] = (*world.below.get(other, ()), other)
            world.offers[f"refs/heads/land/{tip}"] = tip
            world.settle()

    @precondition(lambda self: self.world.runs)
    @rule(data=st.data(), flaky=st.sampled_from([False] * 5 + [True]))
    def a_check_ends(self, data, flaky):
        world = self.world
        key = data.draw(st.sampled_from(sorted(world.runs)))
        result = world.true_result(world.runs[key])
        if flaky and result is Result.PASSED and key[0] not in self.flaked:
            self.flaked.add(key[0])
            result = Result.FAILED
        world.end_run(key, result)

    @precondition(lambda self: self.world.runs)
    @rule(most=st.integers(1, 6))
    def some_time_is_given_to_checks(self, most):
        world = self.world
        for _ in range(most):
            if world.merging:
                world.merged()
                world.settle()
            if world.runs:
                key = max(world.runs)
                world.end_run(key, world.true_result(world.runs[key]))
                world.settle()

    @precondition(lambda self: self.world.merging)
    @rule()
    def candidates_are_made(self):
        self.world.merged()

    @precondition(lambda self: self.world.halting)
    @rule()
    def what_was_stopped_is_gone(self):
        self.world.stopped()

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def one_is_taken_back(self, data):
        world = self.world
        tip = data.draw(st.sampled_from([s.tip for s in self.waiting()]))
        (old,) = (s for s in world.submissions.values() if s.tip == tip)
        world.offers.pop(f"refs/heads/land/{tip}", None)
        gone = replace(old, state=SubmissionState.WITHDRAWN, reason="Taken back.")
        world.keep(gone)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), priority=st.integers(0, 2))
    def one_is_promoted(self, data, priority):
        each = data.draw(st.sampled_from(self.waiting()))
        self.world.keep(replace(each, priority=priority))

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def one_is_approved(self, data):
        self.approve(data.draw(st.sampled_from(self.waiting())))

    def approve(self, each: Submission) -> None:
        content = Content(".agent/agents/x.md", 0o100644, f"blob-{each.tip}")
        approval = Approval(each.id, each.tip, (content,), "Ann", "now")
        self.world.approvals[each.id] = approval

    @rule(position=st.sampled_from(Position))
    def a_person_turns_the_switch(self, position):
        world = self.world
        world.clock += 1
        world.switch = Switch(position, world.now().precise, "Ann <ann@example.com>")
        world.clock += 1

    @rule()
    def a_person_moves_records(self):
        self.world.move_target(self.world.product)

    @rule(kind=st.sampled_from(["good", "good", "bad"]), slowly=st.booleans())
    def a_person_commits_to_the_target(self, kind, slowly):
        """Past the lander; if it is bad, a repair is offered."""
        world = self.world
        if world.is_red():
            return
        tip = self.fresh("d")
        world.landed_tips.add(tip)
        world.move_target(f"{world.product}+{tip}")
        if kind == "bad":
            world.bad.add(tip)
            self.repair(urgent=not slowly)

    def repair(self, *, urgent: bool) -> None:
        world = self.world
        hope = world.landed_tips | {each.tip for each in self.waiting()}
        mended = {bad for tip, bad in world.repairs.items() if tip in hope}
        for bad in sorted(world.bad & world.landed_tips - mended):
            tip = self.fresh("r")
            world.repairs[tip] = bad
            world.offers[f"refs/heads/land/{tip}"] = tip
            world.settle()
            if urgent:
                (made,) = (s for s in world.submissions.values() if s.tip == tip)
                world.keep(replace(made, priority=9))

    @rule(there=st.booleans())
    def edits_are_in_the_way(self, there):
        self.world.in_the_way = there

    @rule()
    def time_passes(self):
        self.world.clock += 3

    @rule()
    def the_daemon_is_killed(self):
        self.world.crash()

    # --- what must hold

    @invariant()
    def it_comes_to_rest_and_holds(self):
        if not hasattr(self, "world"):
            return
        self.world.settle()
        for each in self.world.log[self.seen :]:
            match each:
                case act.Land():
                    self.landing_was_right(each)
                case act.WriteSubmission(_, new, _):
                    if new.state is SubmissionState.REJECTED:
                        self.rejection_was_right(new)
        self.seen = len(self.world.log)
        self.outcomes_are_final()
        self.nothing_runs_a_third_time()
        self.the_window_is_kept()

    def landing_was_right(self, land: act.Land) -> None:
        """Its tree was green by itself, or by that of its batch."""
        steps = land.steps
        batch = self.world.settings.lander.mode is LanderMode.BATCH
        vouches = {steps[-1].candidate.product} if batch else set()
        for step in steps:
            green = vouches or {step.candidate.product}
            assert {step.checked} == green
            runs = self.world.all_receipts(step.checked)
            for check in CHECKS:
                results = {r.result for r in runs if r.check == check.name}
                assert Result.PASSED in results, (check, step)

    def rejection_was_right(self, new: Submission) -> None:
        world = self.world
        if not any(line.state == "failed" for line in new.checks):
            assert new.reason
            lost = self.world.lacks(new, set())
            assert world.conflict(new.tip, ()) or lost, new
            return
        assert new.base in world.bases
        there = [
            run
            for run, result in world.history
            if result is Result.FAILED and run.candidate.tip == new.tip
        ]
        assert any(run.candidate.base in world.bases for run in there), new
        assert self.truly_bad(new.tip), f"wrong reject of {new}"

    def truly_bad(self, tip: str) -> bool:
        """Whether it fails with what has landed, some of which may be newer."""
        world = self.world
        pairs = (pair for pair in world.bad_together if tip in pair)
        return tip in world.bad or any(
            pair <= {*world.landed_tips, tip} for pair in pairs
        )

    def outcomes_are_final(self) -> None:
        ids = [entry for entry, _ in self.world.landings]
        assert len(ids) == len(set(ids))
        for each in self.world.submissions.values():
            before = self.settled.get(each.id)
            if before is not None:
                assert (each.state, each.commit) == (before.state, before.commit)
            elif each.settled:
                self.settled[each.id] = each

    def nothing_runs_a_third_time(self) -> None:
        tries = Counter((run.key, run.run) for run, _ in self.world.history)
        assert not tries or 1 == max(tries.values())

    def the_window_is_kept(self) -> None:
        world = self.world
        live = [run for key, run in world.runs.items() if key not in world.halting]
        sets = {run.candidate.tips for run in live if run.submissions}
        if not world.merging:
            assert len(sets) <= self.window, sets

    def teardown(self) -> None:
        """Everything ends, once checks and merges do and nothing is held back."""
        if not hasattr(self, "world"):
            return
        world = self.world
        world.in_the_way, world.switch, world.slow = False, RUNNING, False
        for _ in range(60):
            world.clock += 3
            if world.merging:
                world.merged()
            world.stopped()
            for each in self.waiting():
                self.approve(each)
            self.repair(urgent=False)
            world.run_all()
            self.it_comes_to_rest_and_holds()
            if not self.waiting():
                break
        assert not self.waiting(), [(s.tip, s.state, s.reason) for s in self.waiting()]
        assert not world.is_red()
        assert world.runs == {}


TestLines = Lines.TestCase
# Each run draws others, so as many as are usual do; `make soak` draws thousands.
TestLines.settings = hypothesis_settings(stateful_step_count=30, deadline=None)
