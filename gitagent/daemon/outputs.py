"""The output of attempts and checks: what runs from its file, what ended from Git."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitagent.core.receipt import Receipt
from gitagent.core.submission import Submission
from gitagent.core.task import Attempt, TaskRecord
from gitagent.daemon import follow, tasks
from gitagent.daemon.news import Alone, Ended, News, Standing
from gitagent.daemon.story import tell, unknown
from gitagent.errors import GitError, UserError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.clock import Wake
from gitagent.host.lock import held
from gitagent.host.watch import Watch
from gitagent.lander import receipts
from gitagent.worker.attempt import log_path

# A growing file gives no event that is worth the watching: each line would be one.
POLL_S = 0.2
IDLE = "no daemon runs, so this waits for one: gitagent up --detach"
_CHUNK = 1 << 16
_PLACE = re.compile(  # of a receipt, in its chain
    r":(?P<fan>[0-9a-f]{2})/(?P<rest>[0-9a-f]+)/(?P<key>[0-9a-f]+)-\d+\.json\Z"
)

Write = Callable[[bytes], None]
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a check and its whole output."""

    receipt: Receipt
    output: bytes

    @property
    def place(self) -> str:
        """Where the whole output is, as ``git show`` takes it."""
        return f"{self.receipt.place.removesuffix('.json')}.log"


def attempt_output(
    repo: Repository, objects: Objects, task: TaskRecord, number: int
) -> bytes:
    """Return the output of an attempt, as far as there is one.

    Raises:
        UserError: there is no such attempt, or its output is gone.
    """
    attempt = require_attempt(task, number)
    try:
        return log_path(repo, task.id, number).read_bytes()
    except OSError:
        pass
    try:
        if attempt.log:
            return objects.blob(attempt.log)
    except GitError:
        pass
    if attempt.outcome is None:
        return b""
    raise UserError(f"attempt {number} of {task.id} left no output")


def require_attempt(task: TaskRecord, number: int) -> Attempt:
    """Return an attempt by its number. Raises UserError without one."""
    for attempt in task.attempts:
        if attempt.number == number:
            return attempt
    if not task.attempts:
        why = f": {task.reason.rstrip('.')}" if task.reason else ""
        raise UserError(
            f"no attempt at {task.id} has been made; it is {task.state}{why}"
        )
    numbers = ", ".join(str(each.number) for each in task.attempts)
    raise UserError(f"{task.id} has no attempt {number}; it has {numbers}")


def follow_attempt(
    repo: Repository, task_id: str, number: int | None, write: Write, note: Note
) -> None:
    """Write the output of an attempt as it comes, until the attempt has ended.

    Without ``number`` it is the newest one, waited for if there is none yet.
    """
    wake = Wake()
    watch = Watch(repo.common_dir, wake)
    watch.start()
    fd: int | None = None
    idle = _Idle(repo, note)
    try:
        while True:
            with repo.objects(fast=True) as objects:
                task = tasks.read(objects, task_id)
                if task is None:
                    raise unknown(task_id)
                number = number or _newest(task)
                ended = number is not None and _ended(task, number)
                if fd is None and number is not None:
                    fd = _open(repo, task_id, number)
                if fd is None and ended and number is not None:
                    write(attempt_output(repo, objects, task, number))
            if fd is not None:
                _copy(fd, write)
            if ended:
                return
            idle.look()
            _until_news(wake, fd, write)
    finally:
        watch.stop()
        if fd is not None:
            os.close(fd)


class _Idle:
    """Says once that nobody is at work."""

    def __init__(self, repo: Repository, note: Note) -> None:
        self._repo = repo
        self._note = note
        self._said = False

    def look(self) -> None:
        """Say so if that is how it is."""
        if not self._said and not held(self._repo.common_dir):
            self._said = True
            self._note(IDLE)


def _newest(task: TaskRecord) -> int | None:
    """Return the attempt to follow; None while the first is to come."""
    if task.settled or task.attempts:
        return require_attempt(task, task.attempt).number
    return None


def _until_news(wake: Wake, fd: int | None, write: Write) -> None:
    """Copy what comes until a ref moved; nothing comes for long without one."""
    for _ in range(int(10 / POLL_S)):
        if wake.wait(POLL_S):
            return
        if fd is not None:
            _copy(fd, write)


def runs(objects: Objects, submission: Submission) -> Iterator[Run]:
    """Yield the runs of a submission's checks, in the order of the checks."""
    known: dict[str, dict[str, tuple[Receipt, ...]]] = {}  # by product tree
    for line in submission.checks:
        match = _PLACE.search(line.receipt or "")
        if match is None:
            continue
        product = match["fan"] + match["rest"]
        if product not in known:
            known[product] = receipts.of_product(objects, product)
        for receipt in known[product].get(match["key"], ()):
            yield Run(receipt, objects.blob(receipt.output))


def follow_runs(
    repo: Repository, submission_id: str, write: Callable[[Run], None], note: Note
) -> None:
    """Write each run of a submission's checks once it ended, until it is settled."""
    told: set[str] = set()

    def tell(news: News) -> None:
        with repo.objects(fast=True) as objects:
            match news:
                case Standing(submission):
                    found = tuple(runs(objects, submission))
                case Ended(receipt=Receipt() as receipt):
                    found = (Run(receipt, objects.blob(receipt.output)),)
                case Alone():
                    found = ()
                    note(IDLE)
                case _:
                    return
        for run in found:
            if run.receipt.place not in told:
                told.add(run.receipt.place)
                write(run)

    follow.wait(repo, submission_id, tell, patient=True)


def find(objects: Objects, name: str) -> TaskRecord | Submission:
    """Return the record of a task or a submission. Raises UserError without one."""
    story = tell(objects, name)
    if story is None:
        raise unknown(name)
    return story.record


def _ended(task: TaskRecord, number: int) -> bool:
    return require_attempt(task, number).outcome is not None


def _open(repo: Repository, task_id: str, number: int) -> int | None:
    path = log_path(repo, task_id, number)
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None


def _copy(fd: int, write: Write) -> None:
    while data := os.read(fd, _CHUNK):
        write(data)
