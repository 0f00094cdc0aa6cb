"""People answer what a task asks: read for them, and written by compare-and-swap."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gitagent.core import answering
from gitagent.core.ident import id_problem
from gitagent.core.question import Misfit, parse
from gitagent.core.task import TaskRecord, TaskState
from gitagent.daemon import tasks
from gitagent.daemon.story import unknown
from gitagent.errors import ConfigError, LostRace, UserError
from gitagent.git.identity import author
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock

_TRIES = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of answering."""

    record: TaskRecord
    notes: tuple[str, ...]  # sentences that the one who answers has to know


def asked(repo: Repository, task: str) -> TaskRecord:
    """Return the record of a task that asks something.

    Raises:
        UserError: there is no such task, or it asks nothing.
    """
    with repo.objects(fast=True) as objects:
        return _asking(objects, task)


def answer(
    repo: Repository, task: str, words: Iterable[str], because: str = ""
) -> Outcome:
    """Answer questions of a task; the daemon that runs, or the next one, goes on.

    ``words`` are as ``1=b``. All or none of them are taken.

    Raises:
        ConfigError: a word is no answer.
        UserError: there is no such task, it asks nothing or not that, an answer cannot
            be one, or Git does not know who answers.
    """
    said = parse(words)
    if isinstance(said, Misfit):
        raise _error(said)
    with repo.objects(fast=True) as objects:
        by = ""
        for _ in range(_TRIES):
            old = _asking(objects, task)
            by = by or author(repo).ident
            taken = answering.answered(
                old, said, by=by, at=clock.stamp(), because=because.strip()
            )
            if isinstance(taken, Misfit):
                raise _error(taken)
            try:
                new = tasks.write(repo, old, taken.record, taken.message)
            except LostRace:
                continue
            return Outcome(replace(taken.record, oid=new.oid), taken.notes)
    raise LostRace(f"task {task} changes all the time; try again")


def _asking(objects: Objects, task: str) -> TaskRecord:
    record = None if id_problem(task) else tasks.read(objects, task)
    if record is None:
        raise unknown(task)
    if record.state is not TaskState.QUESTION or record.card is None:
        raise UserError(f"task {task} asks nothing: it is {record.state}")
    return record


def _error(misfit: Misfit) -> UserError | ConfigError:
    kind = ConfigError if misfit.form else UserError
    return kind(misfit.problem, misfit.mend)
