"""Handoffs: a task's state as text, with what only Git knows of it looked up."""

from collections.abc import Iterable

from gitagent.core.candidate import PathChange
from gitagent.core.handoff import handoff
from gitagent.core.layout import RECORD_FOLDERS
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord
from gitagent.daemon import entry
from gitagent.daemon.story import tell, unknown
from gitagent.errors import GitError, UserError
from gitagent.files import clean
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import walk_changes
from gitagent.memory.brief import withdrawn
from gitagent.memory.shelf import Shelf, Shelves


def text(
    objects: Objects, record: TaskRecord, submission: Submission | None, shelf: Shelf
) -> str:
    """Return a task's state for whoever goes on; "" before its first attempt.

    ``shelf`` is the memory on the target as it is now.
    """
    if not record.attempts:
        return ""
    received = (r for attempt in record.attempts for r in attempt.memory.received)
    changes = _changes(objects, record, submission, shelf.commit)
    made = handoff(record, submission, changes, withdrawn(shelf, received))
    return clean.visible(made)


def of_task(repo: Repository, task: str) -> str:
    """Return the handoff of a task by its id, archived or not.

    Raises:
        UserError: there is no such task, or a record cannot be read.
    """
    with repo.objects() as objects:
        _, commit = entry.find_target(repo, objects)
        story = tell(objects, task)
        if story is None or not isinstance(story.record, TaskRecord):
            raise unknown(task)
        record, submission = story.record, None
        found = tell(objects, record.submission) if record.submission else None
        if found is not None and isinstance(found.record, Submission):
            submission = found.record
        return text(objects, record, submission, Shelves(repo).at(objects, commit))


def _changes(
    objects: Objects, record: TaskRecord, submission: Submission | None, target: str
) -> tuple[PathChange, ...]:
    """Return what the work does to the target, or did when it landed."""
    try:
        if (
            submission is not None
            and submission.state is SubmissionState.LANDED
            and submission.commit
        ):
            new = submission.commit
            old = objects.commit(new).parents[0]
        elif record.tip:
            new = record.tip
            old = objects.merge_base(target, new) or ""
        else:
            return ()
        before = objects.commit(old).tree if old else None
        found = walk_changes(objects, before, objects.commit(new).tree)
    except (GitError, UserError, IndexError):  # it is not here any more
        return ()
    return tuple(_product(found))


def _product(changes: Iterable[PathChange]) -> Iterable[PathChange]:
    return (each for each in changes if not each.path.startswith(RECORD_FOLDERS))
