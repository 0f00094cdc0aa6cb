"""What is decided about the queue turned into its effect: records, checks, landings."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from gitagent.core.action import (
    DropRef,
    Land,
    Prepare,
    PushTarget,
    StartRun,
    WriteSubmission,
)
from gitagent.core.queue import RACES
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Submission, SubmissionState
from gitagent.daemon import crash
from gitagent.daemon.live import Live, Prepared, PushEnd, Report, Run, RunEnd
from gitagent.errors import Busy, GitagentError, LostRace
from gitagent.git import worktree
from gitagent.git.advance import look
from gitagent.git.checkout import Pool
from gitagent.git.objects import Objects
from gitagent.git.refs import RefUpdate, update_each
from gitagent.git.repository import Repository
from gitagent.host.clock import monotonic
from gitagent.host.engine import Engine
from gitagent.host.failpoint import failpoint
from gitagent.host.log import log
from gitagent.host.process import Cancel
from gitagent.lander import land, prepare, run, submit
from gitagent.lander.remote import exchange

HELD_S: Final = 2.0  # a person clears what is in the way in seconds, not milliseconds
FORGET_S: Final = 3600.0
RACE_S: Final = 30.0  # after RACES lost races


@dataclass(slots=True)
class QueueHands:
    """The hands of the loop for submissions."""

    repo: Repository
    engine: Engine
    pool: Pool
    live: Live

    def submit(self, submissions: list[Submission], objects: Objects) -> None:
        """Create submissions; creating one again is no change."""
        created = submit.create_many(self.repo, objects, submissions)
        for made, offered in zip(created, submissions, strict=True):
            if made.settled or made.tip != offered.tip:
                # An archived one, whose object is not taken again, or one of another
                # object with the same id: not to be looked up at every turn.
                self.live.wait(f"Submit {made.id}", FORGET_S)
                if made.tip != offered.tip:
                    log("queue", f"{offered.tip} is not taken: {made.id} is {made.tip}")
                continue
            log("queue", f"{made.id} submitted from {made.branch or made.tip[:12]}")
            failpoint("submission-created")

    def drop(self, drops: list[DropRef]) -> None:
        """Delete refs that offered what has landed, unless somebody stands on one."""
        there = {each.branch for each in worktree.entries(self.repo)}
        for drop in drops:
            if drop.ref in there:
                self.live.wait(f"DropRef {drop.ref}", FORGET_S)
        gone = [RefUpdate(d.ref, None, d.tip) for d in drops if d.ref not in there]
        if any(update_each(self.repo.git, gone, ["gitagent: landed"] * len(gone))):
            raise LostRace("a branch that had landed was moved meanwhile")

    def write(self, writes: list[WriteSubmission], objects: Objects) -> None:
        """Append to chains of submissions. Raises LostRace after all others."""
        changes = [(each.old, each.new, each.message, ()) for each in writes]
        results = submit.write_many(self.repo, objects, changes)
        for action, result in zip(writes, results, strict=True):
            if not isinstance(result, LostRace):
                self._written(action)
        for result in results:
            if isinstance(result, LostRace):
                raise result

    def _written(self, action: WriteSubmission) -> None:
        new = action.new
        if new.settled or new.state is SubmissionState.HELD:
            log(new.id, action.message)
        if new.settled:
            self.live.held.pop(new.id, None)
            self.live.races.pop(new.id, None)
            failpoint("outcome-recorded")

    def prepare(self, action: Prepare) -> None:
        """Make candidates in a thread; they are reported line by line."""
        known = dict(self.live.candidates)
        self.live.preparing = True

        def work() -> Report:
            try:
                with self.repo.objects() as objects:
                    facts = (self.repo, objects, action.base, action.lines, known)
                    for made in prepare.prepare(*facts):
                        self.live.report(Prepared(made))
            except prepare.Stuck as stuck:
                error, one = self._said(stuck.error), stuck.submission
                return Prepared((), done=True, error=error, submission=one)
            except GitagentError as error:
                return Prepared((), done=True, error=error.line())
            except Exception as error:  # noqa: BLE001 - told, with the place of the log
                return Prepared(
                    (), done=True, error=crash.report(error, lambda: self.repo)
                )
            return Prepared((), done=True)

        self.live.start("prepare", work)

    def run(self, action: StartRun, snapshot: Snapshot) -> None:
        """Run a check in a thread, which reports how it ended."""
        key, cancel = (action.key, action.run), Cancel()
        self.live.runs[key] = Run(
            action.submissions,
            action.candidate,
            action.check.name,
            monotonic(),
            cancel,
        )
        first, *others = action.submissions or (snapshot.target.ref,)
        more = f" with {len(others)} ahead of it" if others else ""
        who = others[-1] if others else first
        log(who, f"check {action.check.name} runs{more}: {action.check.run}")
        work = partial(self._check, action, snapshot, cancel)
        self.live.start(f"check {action.check.name}", work)

    def _check(
        self, action: StartRun, snapshot: Snapshot, cancel: Cancel
    ) -> Report | None:
        assert snapshot.settings is not None  # noqa: S101 - no run is planned without
        key = (action.key, action.run)
        told = False

        def tell(ended: run.Ended | None) -> None:
            nonlocal told
            told = True
            self.live.report(RunEnd(key, *(ended or (None,))))

        try:
            with self.repo.objects() as objects:
                pinned = prepare.pin(self.repo, objects, action.candidate)
            self.live.pins[pinned.commit] = pinned
            action = replace(action, candidate=pinned)
            run.run_check(
                self.repo,
                self.engine,
                self.pool,
                snapshot.settings,
                action,
                snapshot.machine.environment,
                cancel,
                tell,
            )
        except GitagentError as error:
            return None if told else RunEnd(key, None, error=error.line())
        except Exception as error:  # noqa: BLE001 - told, with the place of the log
            said = crash.report(error, lambda: self.repo)
            return None if told else RunEnd(key, None, error=said)
        return None

    def land(
        self, action: Land, snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
        """Land what is green; what is in the way holds those that it concerns."""
        steps, live = action.steps, self.live
        first = steps[0].submission.id
        assert snapshot.settings is not None  # noqa: S101 - nothing lands without
        try:
            result = land.land(self.repo, objects, steps, snapshot.settings, now)
        except Busy as busy:
            result = land.Obstructed(busy.line(), (first,))
        except LostRace:
            live.candidates.clear()
            races = live.races.get(first, 0) + 1
            live.races[first] = races
            if races % RACES == 0:
                reason = f"The target moved {races} times under it; it goes on shortly."
                live.held[first] = reason
                live.wait(f"land {first}", RACE_S)
            raise
        if isinstance(result, land.Obstructed):
            for each in result.submissions:
                live.held[each] = result.reason
                live.wait(f"land {each}", HELD_S)
            return
        live.races.pop(first, None)
        newest = steps[-1].candidate
        live.carry(newest.base, newest.tips, result.commit)

    def look(self, submission: Submission, snapshot: Snapshot) -> None:
        """Let a held submission come back once nothing is in its way."""
        live, commit = self.live, submission.commit
        try:
            blocked = commit and look(self.repo, snapshot.target.ref, commit)
        except Busy as busy:
            live.held[submission.id] = busy.line()
            live.wait(f"land {submission.id}", HELD_S)
            return
        if blocked:
            live.held[submission.id] = blocked.reason
            live.wait(f"land {submission.id}", HELD_S)
        else:
            live.held.pop(submission.id, None)

    def push(self, action: PushTarget, snapshot: Snapshot) -> None:
        """Push the target in a thread, or only look at what the remote has."""
        settings, target = snapshot.settings, snapshot.target
        assert settings is not None  # noqa: S101 - no push is planned without
        assert target.commit is not None  # noqa: S101 - there are landings
        remote, ref, commit = settings.lander.push, target.ref, target.commit
        ids = tuple(s.id for s in action.submissions)
        self.live.pushing = True
        self.live.waits["push"] = float("inf")

        def work() -> Report:
            try:
                said = exchange(self.repo, remote, ref, commit, send=bool(ids))
            except Exception as error:  # noqa: BLE001 - told, with the place of the log
                return PushEnd((), crash.report(error, lambda: self.repo))
            return PushEnd(ids if said.pushed else (), said.error, said.moved)

        self.live.start("push", work)

    def _said(self, error: Exception) -> str:
        return (
            error.line()
            if isinstance(error, GitagentError)
            else crash.report(error, lambda: self.repo)
        )
