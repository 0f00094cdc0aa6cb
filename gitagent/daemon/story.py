"""One task or one submission, with all that its chain of records tells."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gitagent.core.ident import id_problem
from gitagent.core.layout import SUBMISSIONS, TASK_RECORDS
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.errors import UserError
from gitagent.files import record
from gitagent.git import records
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.host.clock import stamp


@dataclass(frozen=True, slots=True)
class Told:
    """One step of a chain."""

    when: str  # UTC
    text: str  # what happened


@dataclass(frozen=True, slots=True)
class Story:
    """A record and how it came to be."""

    ref: str
    archived: bool
    record: TaskRecord | Submission
    steps: tuple[Told, ...]  # oldest first


def tell(objects: Objects, name: str) -> Story | None:
    """Return the story of a task or a submission by its id; None if there is none.

    Settled ones that were archived are found too. A task comes before a submission.

    Raises:
        UserError: its record cannot be read.
    """
    if id_problem(name):
        return None
    for prefix in (TASK_RECORDS, SUBMISSIONS):
        found = _find(objects, prefix + name)
        if found is not None:
            oid, archived = found
            data = records.read(objects, oid)
            load = (
                record.load_task if prefix == TASK_RECORDS else record.load_submission
            )
            steps = tuple(_steps(objects, oid))
            return Story(
                prefix + name, archived, replace(load(data), oid=oid), steps[::-1]
            )
    return None


def unknown(name: str) -> UserError:
    """Return the error for an id that is nobody's."""
    return UserError(
        f'there is no task and no submission "{name}" here',
        "see: gitagent status --all",
    )


def _find(objects: Objects, ref: str) -> tuple[str, bool] | None:
    oid = objects.ref(ref)
    if oid is not None:
        return oid, False
    oid = Archived().record(objects, ref)
    return None if oid is None else (oid, True)


def _steps(objects: Objects, oid: str) -> list[Told]:
    return [
        Told(
            stamp(datetime.fromtimestamp(commit.time, UTC)),
            commit.message.partition("\n")[0],
        )
        for commit in records.history(objects, oid)
    ]
