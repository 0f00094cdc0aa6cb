"""What is decided about the memory turned into its effect: tasks and rulings."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from gitagent.core.action import AddTask, Remember
from gitagent.core.distil import task_of
from gitagent.core.layout import TASKS
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.daemon import admitting, crash, distilling
from gitagent.daemon.live import Live, Report, RulingEnd
from gitagent.errors import Busy, GitagentError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.failpoint import failpoint
from gitagent.host.log import log
from gitagent.host.process import Cancel
from gitagent.lander.landing import committer
from gitagent.lander.tasks import add_task
from gitagent.memory.shelf import Shelves

HELD_S = 2.0  # a person clears what is in the way in seconds, not milliseconds


@dataclass(slots=True)
class TendingHands:
    """The hands of the loop for the memory."""

    repo: Repository
    live: Live
    shelves: Shelves

    def add(
        self, action: AddTask, snapshot: Snapshot, objects: Objects, now: Moment
    ) -> None:
        """Commit the file of a task that distils; one that is there is no change."""
        assert snapshot.settings is not None  # noqa: S101 - nothing is owed without
        name = task_of(action.submission.id)
        ref = snapshot.target.ref
        commit = objects.ref(ref)
        if commit and objects.path(commit, f"{TASKS}{name}.md") is not None:
            return
        data = distilling.task_file(action.submission, action.agent)
        when = datetime.fromisoformat(now.stamp)
        author = committer(self.repo, snapshot.settings, when).ident
        try:
            add_task(self.repo, objects, ref, name, data, author, patience_s=0)
        except Busy as busy:
            self.live.wait(f"distil {action.submission.id}", HELD_S)
            log(name, f"it is not added yet: {busy.line()}")
            return
        log(name, f"it looks at what {action.submission.id} teaches")
        failpoint("distil-added")

    def remember(self, action: Remember, snapshot: Snapshot) -> None:
        """Rule in a thread on what was proposed, which reports that it has ended."""
        assert snapshot.settings is not None  # noqa: S101 - nothing is owed without
        task, cancel = action.record.id, Cancel()
        self.live.remembering, self.live.halt = task, cancel
        work = partial(
            admitting.rule,
            self.repo,
            self.shelves,
            snapshot.target.ref,
            snapshot.settings,
            action,
            cancel,
        )

        def body() -> Report:
            try:
                work()
            except GitagentError as error:
                return RulingEnd(task, error.line())
            except Exception as error:  # noqa: BLE001 - told, with the place of the log
                return RulingEnd(task, crash.report(error, lambda: self.repo))
            return RulingEnd(task)

        self.live.start(f"remember {task}", body)
