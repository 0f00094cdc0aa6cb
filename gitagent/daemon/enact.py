"""Each action turned into its effect, by compare-and-swap.

An effect that lost a race raises LostRace and the loop reads again. An effect that
cannot be had just now is put off under the key that the decision looks at.
"""

from dataclasses import dataclass, field

from gitagent.core.action import (
    Action,
    AddTask,
    Archive,
    DropRef,
    Land,
    Look,
    MoveDone,
    Prepare,
    PushTarget,
    RecoverAttempt,
    Remember,
    StartAttempt,
    StartRun,
    StopAttempt,
    StopRuns,
    Submit,
    WriteSubmission,
    WriteTask,
)
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.daemon import archive
from gitagent.daemon.enact_queue import QueueHands
from gitagent.daemon.enact_tasks import TaskHands
from gitagent.daemon.live import Live
from gitagent.daemon.searching import Searching
from gitagent.daemon.teaching import Teacher
from gitagent.daemon.tending import TendingHands
from gitagent.git.checkout import Pool
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.engine import Engine
from gitagent.memory.landed import Past
from gitagent.memory.shelf import Shelves
from gitagent.worker.models import Models

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
    | AddTask
    | Remember
    | PushTarget
    | Archive
)


@dataclass(slots=True)
class Enactor:
    """The hands of the loop."""

    repo: Repository
    engine: Engine
    pool: Pool
    live: Live
    models: Models
    teacher: Teacher = field(init=False)
    tasks: TaskHands = field(init=False)
    queue: QueueHands = field(init=False)
    memory: TendingHands = field(init=False)

    def __post_init__(self) -> None:
        """Make the hands."""
        shelves, past = Shelves(self.repo), Past()
        searching = Searching(self.repo, shelves, self.models, past)
        self.teacher = Teacher(self.repo, shelves, searching, past)
        self.tasks = TaskHands(
            self.repo, self.engine, self.live, self.models, self.teacher
        )
        self.queue = QueueHands(self.repo, self.engine, self.pool, self.live)
        self.memory = TendingHands(self.repo, self.live, shelves)

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
                self.queue.submit(new, objects)
            case WriteSubmission():
                writes = [a for a in actions if isinstance(a, WriteSubmission)]
                self.queue.write(writes, objects)
            case DropRef():
                self.queue.drop([a for a in actions if isinstance(a, DropRef)])
            case action:
                self._enact(action, snapshot, objects, now)

    def _enact(  # noqa: C901, PLR0912 - one arm an action
        self, action: _Alone, snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
        match action:
            case WriteTask(old, new, message):
                self.tasks.write(old, new, message, snapshot)
            case StartAttempt():
                self.tasks.start(action, snapshot)
            case StopAttempt(task, outcome):
                self.live.attempts[task].order(outcome)
            case RecoverAttempt(record):
                self.tasks.recover(record, snapshot)
            case Prepare():
                self.queue.prepare(action)
            case StartRun():
                self.queue.run(action, snapshot)
            case StopRuns(runs):
                for key in runs:
                    self.live.runs[key].cancel.set()
            case Land():
                self.queue.land(action, snapshot, objects, now)
            case Look(submission):
                self.queue.look(submission, snapshot)
            case MoveDone(record):
                self.tasks.move_done(record, snapshot, objects, now)
            case AddTask():
                self.memory.add(action, snapshot, objects, now)
            case Remember():
                self.memory.remember(action, snapshot)
            case PushTarget():
                self.queue.push(action, snapshot)
            case Archive():
                archive.enact(self.repo, objects, action)
