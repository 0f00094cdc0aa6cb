"""What is decided about tasks turned into its effect: records, workers, files."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from gitagent.core import answering
from gitagent.core.action import StartAttempt
from gitagent.core.agent import SHELL, Agent
from gitagent.core.budget import Need
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.task import AttemptEnd, Outcome, TaskFile, TaskRecord, TaskState
from gitagent.daemon import crash, tasks
from gitagent.daemon.live import Live, Report, Started
from gitagent.errors import Busy
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.clock import stamp
from gitagent.host.engine import Engine
from gitagent.host.failpoint import failpoint
from gitagent.host.log import log
from gitagent.lander.tasks import Held, move_done
from gitagent.worker import attempt as worker
from gitagent.worker import claim
from gitagent.worker.attempt import Order, Stop
from gitagent.worker.models import Models
from gitagent.worker.order import Teacher

HELD_S = 2.0  # a person clears what is in the way in seconds, not milliseconds

# An attempt that ended so is tried again at once, if nothing holds it back.
_PAUSES = {Outcome.CLAIMED: 300.0, Outcome.INTERRUPTED: 2.0}
# What has landed stays claimed: a clone that has not seen the landing yet would do the
# task again.
_GIVEN_UP = frozenset({TaskState.FAILED, TaskState.STOPPED, TaskState.REFUSED})


@dataclass(slots=True)
class TaskHands:
    """The hands of the loop for tasks."""

    repo: Repository
    engine: Engine
    live: Live
    models: Models
    teacher: Teacher

    def write(
        self,
        old: TaskRecord | None,
        new: TaskRecord,
        message: str,
        snapshot: Snapshot,
    ) -> None:
        """Append to the chain of a task, and let go of what it needs no more."""
        ended = self.live.ended.get(new.id)
        tasks.write(self.repo, old, new, message)
        log(new.id, message)
        if new.state is TaskState.QUESTION and (not old or old.state != new.state):
            log(new.id, f"it asks: {answering.spoken(new)}")
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
        given_up = settled and new.state in _GIVEN_UP
        if settings and settings.lander.push and given_up:
            self._unclaim(new.id, settings.lander.push)

    def _unclaim(self, task: str, remote: str) -> None:
        """Let others claim the task; a claim that stays is still our own."""
        release = partial(claim.release, self.repo, remote, task)
        threading.Thread(target=release, name=f"unclaim {task}", daemon=True).start()

    def start(self, action: StartAttempt, snapshot: Snapshot) -> None:
        """Record an attempt, then start its worker in a thread."""
        record = tasks.write(self.repo, action.old, action.new, action.message)
        log(record.id, action.message)
        failpoint("attempt-recorded")
        order, stop = self._order(record, snapshot, action), Stop()
        started = partial(self._started, record.id)
        self._attempt(order, stop, partial(worker.run_attempt, started=started))

    def _started(self, task: str, pid: int, ticks: int) -> None:
        self.live.report(Started(task, pid, ticks))

    def recover(self, record: TaskRecord, snapshot: Snapshot) -> None:
        """Find in a thread what an earlier daemon's attempt has left."""
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
                reason = (
                    f"gitagent itself failed: {crash.report(error, lambda: self.repo)}."
                )
                failed = replace(
                    attempt, ended=stamp(), outcome=Outcome.FAILED, reason=reason
                )
                return AttemptEnd(task, failed, attempt.base, changed=False)

        self.live.began(task, stop)
        self.live.start(f"attempt {task}", body)

    def move_done(
        self, record: TaskRecord, snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
        """Move the file of a task that is done, unless something is in the way."""
        assert snapshot.settings is not None  # noqa: S101 - no task ends without
        try:
            result = move_done(self.repo, objects, record, snapshot.settings, now)
        except Busy as busy:
            result = Held(busy.line())
        if isinstance(result, Held):
            self.live.wait(f"done {record.id}", HELD_S)
            log(record.id, f"its file stays where it is: {result.reason}")

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
            answers=record.answers,
            extra=Need(record.extra_usd, record.extra_tokens),
            models=self.models,
            teacher=self.teacher,
            before=record.attempts[-2] if len(record.attempts) > 1 else None,
        )
