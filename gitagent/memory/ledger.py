"""Records of tasks and submissions, found by their id wherever they lie by now."""

from gitagent.core.layout import SUBMISSIONS, TASK_RECORDS
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.errors import GitError, UserError
from gitagent.files import record
from gitagent.git import records
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects


def submission(
    objects: Objects, name: str, archived: Archived | None = None
) -> Submission | None:
    """Return a submission as it is recorded; None if it cannot be read here."""
    oid = _at(objects, SUBMISSIONS + name, archived)
    if oid is None:
        return None
    try:
        return record.load_submission(records.read(objects, oid), oid)
    except (GitError, UserError):
        return None


def task(
    objects: Objects, name: str, archived: Archived | None = None
) -> TaskRecord | None:
    """Return a task as it is recorded; None if it cannot be read here."""
    oid = _at(objects, TASK_RECORDS + name, archived)
    if oid is None:
        return None
    try:
        return record.load_task(records.read(objects, oid), oid)
    except (GitError, UserError):
        return None


def _at(objects: Objects, ref: str, archived: Archived | None) -> str | None:
    found = objects.ref(ref)
    if found is not None:
        return found
    return (archived or Archived()).record(objects, ref)
