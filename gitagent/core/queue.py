"""The lander's planner: what happens next to each submission.

Nothing of a plan is kept. Each turn looks anew at what is queued, which candidates
are made, and what their receipts say, so a target that moved, a restart or a
resubmission costs exactly the runs whose key is new.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gitagent.core import rates
from gitagent.core.action import (
    Action,
    Land,
    LandStep,
    Prepare,
    StartRun,
    StopRuns,
    WriteSubmission,
)
from gitagent.core.judge import failing_output, lines, own_checks, wanted_runs
from gitagent.core.line import Line, line
from gitagent.core.outbox import decide_pushes
from gitagent.core.pause import pause
from gitagent.core.search import Fact, Plan, Set, plan_batch, plan_chain
from gitagent.core.sets import Sets, Verdict, blamed
from gitagent.core.settings import Check, LanderMode, Settings
from gitagent.core.settle import changed, offers, settle, write
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.stack import with_needs
from gitagent.core.submission import Submission, SubmissionState, in_order
from gitagent.core.switch import RED_TARGET, REPAIR, Position

RACES: Final = 5  # landings that may lose the race for the target before a pause

_QUEUED, _CHECKING = SubmissionState.QUEUED, SubmissionState.CHECKING


def decide_submissions(snapshot: Snapshot, now: Moment) -> list[Action]:
    """Return what is to be done about every submission."""
    recorded = snapshot.submissions
    snapshot = replace(snapshot, submissions=with_needs(snapshot))
    actions: list[Action] = list(offers(snapshot, now))
    settled = list(settle(snapshot, now))
    actions += settled
    gone = {action.old.id for action in settled}
    queue = [s for s in in_order(snapshot.submissions.values()) if s.id not in gone]
    if blocked := pause(snapshot):
        actions += _stop(snapshot, frozenset())
        for submission in queue:
            actions += _stay(submission, blocked, now)
    elif snapshot.target.commit is not None and snapshot.settings is not None:
        actions += _Turn(snapshot, now, queue, snapshot.settings).actions()
    actions += _stacked(queue, actions, recorded, now)
    actions += decide_pushes(snapshot, now)
    return actions


def _stay(submission: Submission, reason: str, now: Moment) -> Iterator[Action]:
    if submission.reason != reason or submission.state is not _QUEUED:
        yield write(submission, _QUEUED, now, reason)


def _stop(snapshot: Snapshot, wanted: frozenset[str]) -> Iterator[Action]:
    """Stop every run whose key is not wanted any more."""
    runs = snapshot.live.runs - snapshot.live.halting
    stale = frozenset(run for run in runs if run[0] not in wanted)
    if stale:
        yield StopRuns(stale)


def _stacked(
    queue: list[Submission],
    actions: list[Action],
    recorded: Mapping[str, Submission],
    now: Moment,
) -> Iterator[Action]:
    """Record what a submission stands on, for when that is gone."""
    touched = _touched(actions)
    for submission in queue:
        known = submission.needs == recorded[submission.id].needs
        if not known and submission.id not in touched:
            message = f"stands on {', '.join(submission.needs)}"
            yield changed(submission, submission, now, message)


def _touched(actions: list[Action]) -> set[str]:
    return {a.old.id for a in actions if isinstance(a, WriteSubmission)}


@dataclass(slots=True)
class _Turn:
    """One look at the queue while nothing stops it."""

    snapshot: Snapshot
    now: Moment
    queue: list[Submission]
    settings: Settings
    line: Line = field(init=False)
    sets: Sets = field(init=False)

    def __post_init__(self) -> None:
        """Tell the queue apart."""
        self._walk()

    def _walk(self) -> None:
        snapshot = self.snapshot
        self.line = line(self.queue, snapshot, self.now)
        members = {each.id: each for each in self.line.members}
        base = snapshot.target.commit or ""
        self.sets = Sets(snapshot, base, self.settings, members)

    def actions(self) -> list[Action]:
        """Return what is to be done, runs before landings: these take longer."""
        answers: list[Action] = []
        order, plan = self._plan()
        while plan.reject and (answer := self._answer(order[0])) is not None:
            answers += answer
            self.queue = [each for each in self.queue if each.id != order[0]]
            self._walk()
            order, plan = self._plan()
        checked = [(ids, self.sets.verdict(ids)) for ids in plan.run]
        checked += self._asked(order)
        paused = self.snapshot.switch.position is Position.PAUSED
        actions = [*answers, *self.line.actions, *self._prepare(checked)]
        if not paused:
            actions += self._runs(checked)
        landing = set(order[: plan.land])
        actions += self._told(checked, _touched(actions) | landing)
        if plan.land and not paused:
            actions += self._land(order[: plan.land])
        return actions

    def _plan(self) -> tuple[Set, Plan]:
        order = tuple(each.id for each in self.line.members)
        settings, cores = self.settings.lander, self.snapshot.machine.cores
        slots = settings.window or max(1, cores)
        outcomes = rates.recent(self.snapshot.submissions.values())
        if settings.mode is LanderMode.CHAIN:
            size = rates.window(outcomes, slots)
            return order, plan_chain(order, self.sets.fact, size)
        learned = rates.learned(outcomes)
        return order, plan_batch(order, self.sets.fact, slots, learned)

    def _answer(self, first: str) -> list[Action] | None:
        """Answer the first, which failed twice; None: the target has to be asked.

        It is to blame only for what passes on the bare target.
        """
        failed = self.sets.verdict((first,))
        if failed.candidate is None:
            return None  # it stands on one answered just now: for the next turn to see
        bare = self.sets.bare(blamed(failed, self.settings))
        submission = self.sets.members[first]
        if bare.fact is Fact.GREEN:
            return [self._reject(submission, failed)]
        if bare.fact is not Fact.FAILED:
            return None
        why = " ".join(failure.reason for failure in bare.failed)
        reason = f"{RED_TARGET}, with nothing merged: {why} {REPAIR}"
        own = " ".join(failure.reason for failure in failed.failed)
        if own != why:
            reason = f"{reason} This is none yet: {own}"
        return [*_stay(submission, reason, self.now)]

    def _asked(self, order: Set) -> list[tuple[Set, Verdict]]:
        """Return the bare target, if the first is in doubt and it may be its fault."""
        if not order:
            return []
        first = self.sets.verdict(order[:1])
        if first.fact not in {Fact.RED, Fact.AGAIN, Fact.FAILED}:
            return []
        bare = self.sets.bare(blamed(first, self.settings))
        return [] if bare.fact is Fact.GREEN else [((), bare)]

    def _reject(self, submission: Submission, head: Verdict) -> Action:
        return write(
            submission,
            SubmissionState.REJECTED,
            self.now,
            " ".join(failure.reason for failure in head.failed),
            base=self.sets.base,
            candidate=head.candidate.commit if head.candidate else None,
            checks=lines(head.judged),
            output=failing_output(head.failed),
        )

    def _prepare(self, checked: list[tuple[Set, Verdict]]) -> Iterator[Action]:
        missing = [ids for ids, verdict in checked if verdict.candidate is None]
        if missing and not self.snapshot.live.preparing:
            wanted = tuple(self.sets.submissions(ids) for ids in missing)
            yield Prepare(self.sets.base, wanted)

    def _runs(self, checked: list[tuple[Set, Verdict]]) -> Iterator[Action]:
        """Start what is wanted and stop the rest, once it is known what that is."""
        keys = frozenset(j.key for _, verdict in checked for j in verdict.judged)
        stale = any(key not in keys for key, _ in self.snapshot.live.runs)
        if all(verdict.candidate for _, verdict in checked):
            yield from _stop(self.snapshot, keys)
        elif stale:
            return  # what runs may be wanted still, and fills the window meanwhile
        started = set(self.snapshot.live.runs)
        for ids, verdict in checked:
            for judged, run in wanted_runs(verdict.judged, verdict.failed):
                new = (judged.key, run) not in started
                if new and verdict.candidate and not self._put_off(judged.key):
                    started.add((judged.key, run))
                    candidate = verdict.candidate
                    yield StartRun(ids, candidate, judged.check, judged.key, run)

    def _put_off(self, key: str) -> bool:
        return self.snapshot.live.waits.get(f"run {key}", 0.0) > self.now.monotonic

    def _land(self, ids: Set) -> Iterator[Action]:
        """Land a set, once all the steps to it are known."""
        steps = [self.sets.verdict(ids[:k]) for k in range(1, len(ids) + 1)]
        if all(step.candidate for step in steps):
            yield self._landing(ids)
        elif not self.snapshot.live.preparing:
            yield Prepare(self.sets.base, (self.sets.submissions(ids),))

    def _landing(self, ids: Set) -> Land:
        batch = self.settings.lander.mode is LanderMode.BATCH
        tip = self.sets.verdict(ids)
        steps = []
        for k in range(1, len(ids) + 1):
            submission = self.sets.members[ids[k - 1]]
            own = self.sets.verdict(ids[:k])
            vouched = tip if batch else own
            assert own.candidate is not None  # noqa: S101 - the whole line was merged
            assert vouched.candidate is not None  # noqa: S101 - it is green
            ready = replace(
                submission,
                checks=lines(vouched.judged, self._others(ids, submission)),
                config=self.snapshot.target.config,
            )
            record = self.snapshot.records.get(submission.ends or "")
            product = vouched.candidate.product
            approval = self.snapshot.approvals.get(submission.id)
            steps.append(LandStep(ready, own.candidate, record, product, approval))
        return Land(tuple(steps))

    def _others(self, ids: Set, one: Submission) -> list[Check]:
        """Return the checks that a set has because of its other members alone."""
        tasks = self.snapshot.tasks
        own = set(own_checks(one, tasks.get(one.ends or "")))
        return [
            check
            for each in self.sets.submissions(ids)
            for check in own_checks(each, tasks.get(each.ends or ""))
            if check not in own
        ]

    def _told(
        self, checked: list[tuple[Set, Verdict]], touched: set[str]
    ) -> Iterator[Action]:
        """Say where each of the queue stands, in as few records as will do."""
        under = {
            each: verdict
            for ids, verdict in reversed(checked)
            if verdict.candidate is not None
            for each in ids
        }
        ahead = ""
        for each in self.queue:
            if each.id in touched or each.id in self.line.out:
                continue
            if each.id in under:
                reason = self._trouble(under[each.id]) or "Its checks run."
                if each.state is not _CHECKING or each.reason != reason:
                    yield write(each, _CHECKING, self.now, reason)
            elif ahead and each.state is not _CHECKING:
                reason = f"Waits for {ahead}, which is ahead of it."
                yield from _stay(each, reason, self.now)
            ahead = each.id

    def _trouble(self, verdict: Verdict) -> str:
        """Return why a check of a set cannot be run just now; empty: it can."""
        live = self.snapshot.live
        keys = (j.key for j in verdict.judged if self._put_off(j.key))
        return next((live.troubles[key] for key in keys if key in live.troubles), "")
