"""Each action turned into its effect, by compare-and-swap.

An effect that lost a race raises LostRace and the loop reads again. An effect that
cannot be had just now is put off under the key that the decision looks at.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from gitagent.core.action import (
    Action,
    Archive,
    DropRef,
    Land,
    Look,
    MoveDone,
    Prepare,
    PushTarget,
    RecoverAttempt,
    StartAttempt,
    StartRun,
    StopAttempt,
    StopRuns,
    Submit,
    WriteSubmission,
    WriteTask,
)
from gitagent.core.agent import SHELL, Agent
from gitagent.core.queue import RACES
from gitagent.core.snapshot import AttemptEnd, Moment, Snapshot
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Outcome, TaskFile, TaskRecord, TaskState
from gitagent.daemon import archive, crash, notify, tasks
from gitagent.daemon.live import (
    Live,
    Prepared,
    PushEnd,
    Report,
    Run,
    RunEnd,
    Started,
)
from gitagent.errors import Busy, GitagentError, LostRace
from gitagent.git import worktree
from gitagent.git.advance import look
from gitagent.git.checkout import Pool
from gitagent.git.objects import Objects
from gitagent.git.refs import RefUpdate, update_each
from gitagent.git.repository import Repository
from gitagent.host.clock import monotonic, stamp
from gitagent.host.engine import Engine
from gitagent.host.failpoint import failpoint
from gitagent.host.log import log
from gitagent.host.process import Cancel
from gitagent.lander import land, prepare, run, submit
from gitagent.lander.remote import exchange
from gitagent.lander.tasks import Held
from gitagent.worker import attempt as worker
from gitagent.worker import claim
from gitagent.worker.attempt import Order, Stop

HELD_S = 2.0  # a person clears what is in the way in seconds, not milliseconds
FORGET_S = 3600.0
# An attempt that ended so is tried again at once, if nothing holds it back.
_PAUSES = {Outcome.CLAIMED: 300.0, Outcome.INTERRUPTED: 2.0}
# What has landed stays claimed: a clone that has not seen the landing yet would do the
# task again.
_GIVEN_UP = frozenset({TaskState.FAILED, TaskState.STOPPED, TaskState.REFUSED})
_Alone = (
    WriteTask
    | StartAttempt
    | StopAttempt
    | RecoverAttempt
    | Prepare
    | StartRun
    | StopRuns
    | Land
    | Look
    | MoveDone
    | PushTarget
    | Archive
)
RACE_S = 30.0  # after RACES lost races


@dataclass(slots=True)
class Enactor:
    """The hands of the loop."""

    repo: Repository
    engine: Engine
    pool: Pool
    live: Live

    def enact(
        self, actions: list[Action], snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
        """Make effects: one, or several of a kind that is written at once.

        Raises:
            LostRace: one was not made, because somebody came first.
            Busy: it can be tried again.
            GitagentError: it failed otherwise.
        """
        match actions[0]:
            case Submit():
                new = [a.submission for a in actions if isinstance(a, Submit)]
                self._submit(new, objects)
            case WriteSubmission():
                writes = [a for a in actions if isinstance(a, WriteSubmission)]
                self._write_submissions(writes, snapshot, objects)
            case DropRef():
                self._drop([a for a in actions if isinstance(a, DropRef)])
            case action:
                self._enact(action, snapshot, objects, now)

    def _enact(  # noqa: C901, PLR0912 - one arm an action
        self, action: _Alone, snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
        match action:
            case WriteTask(old, new, message):
                self._write_task(old, new, message, snapshot)
            case StartAttempt():
                self._start(action, snapshot)
            case StopAttempt(task, outcome):
                self.live.attempts[task].order(outcome)
            case RecoverAttempt(record):
                self._recover(record, snapshot)
            case Prepare():
                self._prepare(action)
            case StartRun():
                self._run(action, snapshot)
            case StopRuns(runs):
                for key in runs:
                    self.live.runs[key].cancel.set()
            case Land():
                self._land(action, snapshot, objects, now)
            case Look(submission):
                self._look(submission, snapshot)
            case MoveDone(record):
                self._move_done(record, snapshot, objects, now)
            case PushTarget():
                self._push(action, snapshot)
            case Archive():
                archive.enact(self.repo, objects, action)

    def _submit(self, submissions: list[Submission], objects: Objects) -> None:
        for made in submit.create_many(self.repo, objects, submissions):
            if made.settled:
                # An archived one: its object is not taken again, and need not be
                # looked up at every turn.
                self.live.wait(f"Submit {made.id}", FORGET_S)
                continue
            log("queue", f"{made.id} submitted from {made.branch}")
            failpoint("submission-created")

    def _drop(self, drops: list[DropRef]) -> None:
        """Delete refs that offered what has landed, unless somebody stands on one."""
        there = {each.branch for each in worktree.entries(self.repo)}
        for drop in drops:
            if drop.ref in there:
                self.live.wait(f"DropRef {drop.ref}", FORGET_S)
        gone = [RefUpdate(d.ref, None, d.tip) for d in drops if d.ref not in there]
        if any(update_each(self.repo.git, gone, ["gitagent: landed"] * len(gone))):
            raise LostRace("a branch that had landed was moved meanwhile")

    def _write_task(
        self,
        old: TaskRecord | None,
        new: TaskRecord,
        message: str,
        snapshot: Snapshot,
    ) -> None:
        ended = self.live.ended.get(new.id)
        tasks.write(self.repo, old, new, message)
        log(new.id, message)
        if ended is not None:
            self.live.forget(new.id)
            worker.discard(self.repo, new.id, ended.attempt.number)
            pause = _PAUSES.get(ended.attempt.outcome or Outcome.OK)
            if pause is not None:
                self.live.wait(f"task {new.id}", pause)
            failpoint("attempt-ended")
        settled = new.settled and (old is None or not old.settled)
        for each in new.attempts if settled else ():
            worker.discard(self.repo, new.id, each.number, settled=True)
        settings = snapshot.settings
        if settings and settled:
            notify.tell(settings.notify, new.id, new.state, new.reason)
            if settings.lander.push and new.state in _GIVEN_UP:
                self._unclaim(new.id, settings.lander.push)

    def _unclaim(self, task: str, remote: str) -> None:
        """Let others claim the task; a claim that stays is still our own."""
        release = partial(claim.release, self.repo, remote, task)
        threading.Thread(target=release, name=f"unclaim {task}", daemon=True).start()

    def _start(self, action: StartAttempt, snapshot: Snapshot) -> None:
        record = tasks.write(self.repo, action.old, action.new, action.message)
        log(record.id, action.message)
        failpoint("attempt-recorded")
        order, stop = self._order(record, snapshot, action), Stop()
        started = partial(self._started, record.id)
        self._attempt(order, stop, partial(worker.run_attempt, started=started))

    def _started(self, task: str, pid: int, ticks: int) -> None:
        self.live.report(Started(task, pid, ticks))

    def _recover(self, record: TaskRecord, snapshot: Snapshot) -> None:
        log(record.id, f"attempt {record.attempt} was left behind; what it did is kept")
        self._attempt(self._order(record, snapshot), Stop(), worker.recover_attempt)

    def _attempt(
        self, order: Order, stop: Stop, work: Callable[[Order, Stop], AttemptEnd]
    ) -> None:
        """Run one attempt in a thread; an error of ours fails the attempt alone."""
        task, attempt = order.task.id, order.attempt

        def body() -> Report:
            try:
                return work(order, stop)
            except Exception as error:  # noqa: BLE001 - told, with the place of the log
                reason = f"gitagent itself failed: {self._crash(error)}."
                failed = replace(
                    attempt, ended=stamp(), outcome=Outcome.FAILED, reason=reason
                )
                return AttemptEnd(task, failed, attempt.base, changed=False)

        self.live.began(task, stop)
        self.live.start(f"attempt {task}", body)

    def _write_submissions(
        self, writes: list[WriteSubmission], snapshot: Snapshot, objects: Objects
    ) -> None:
        changes = [(each.old, each.new, each.message, ()) for each in writes]
        results = submit.write_many(self.repo, objects, changes)
        for action, result in zip(writes, results, strict=True):
            if not isinstance(result, LostRace):
                self._written(action, snapshot)
        for result in results:
            if isinstance(result, LostRace):
                raise result

    def _written(self, action: WriteSubmission, snapshot: Snapshot) -> None:
        new = action.new
        if new.settled or new.state is SubmissionState.HELD:
            log(new.id, action.message)
        if new.settled:
            self.live.held.pop(new.id, None)
            self.live.races.pop(new.id, None)
            failpoint("outcome-recorded")
            if snapshot.settings:
                notify.tell(snapshot.settings.notify, new.id, new.state, new.reason)

    def _prepare(self, action: Prepare) -> None:
        """Make candidates in a thread; they are reported line by line."""
        known = dict(self.live.candidates)
        self.live.preparing = True

        def work() -> Report:
            try:
                with self.repo.objects() as objects:
                    for line in action.lines:
                        made = prepare.prepare(
                            self.repo, objects, action.base, [line], known
                        )
                        found = tuple(made)
                        known.update((each.key, each) for each in found)
                        self.live.report(Prepared(found))
            except prepare.Stuck as stuck:
                error, one = self._said(stuck.error), stuck.submission
                return Prepared((), done=True, error=error, submission=one)
            except GitagentError as error:
                return Prepared((), done=True, error=error.line())
            except Exception as error:  # noqa: BLE001 - told, with the place of the log
                return Prepared((), done=True, error=self._crash(error))
            return Prepared((), done=True)

        self.live.start("prepare", work)

    def _run(self, action: StartRun, snapshot: Snapshot) -> None:
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
            said = self._crash(error)
            return None if told else RunEnd(key, None, error=said)
        return None

    def _land(
        self, action: Land, snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
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

    def _look(self, submission: Submission, snapshot: Snapshot) -> None:
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

    def _move_done(
        self, record: TaskRecord, snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
        assert snapshot.settings is not None  # noqa: S101 - no task ends without
        try:
            result = land.move_done(self.repo, objects, record, snapshot.settings, now)
        except Busy as busy:
            result = Held(busy.line())
        if isinstance(result, Held):
            self.live.wait(f"done {record.id}", HELD_S)
            log(record.id, f"its file stays where it is: {result.reason}")

    def _push(self, action: PushTarget, snapshot: Snapshot) -> None:
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
                return PushEnd((), self._crash(error))
            return PushEnd(ids if said.pushed else (), said.error, said.moved)

        self.live.start("push", work)

    def _said(self, error: Exception) -> str:
        return error.line() if isinstance(error, GitagentError) else self._crash(error)

    def _crash(self, error: Exception) -> str:
        return crash.report(error, lambda: self.repo)

    def _order(
        self,
        record: TaskRecord,
        snapshot: Snapshot,
        action: StartAttempt | None = None,
    ) -> Order:
        newest, settings = record.newest, snapshot.settings
        assert newest is not None  # noqa: S101 - a running task has an attempt
        assert settings is not None  # noqa: S101 - no attempt starts without
        task = action.task if action else snapshot.tasks.get(record.id)
        agent = action.agent if action else snapshot.agents.get(record.agent)
        return Order(
            repo=self.repo,
            engine=self.engine,
            settings=settings,
            task=task or TaskFile(record.id, record.blob, record.title, ""),
            agent=agent or Agent(record.agent or SHELL.name, SHELL.backend),
            attempt=newest,
            branch=record.branch or "",
            target_ref=snapshot.target.ref,
            target=snapshot.target.commit or newest.base,
            feedback=record.feedback,
            tip=record.tip,
        )
