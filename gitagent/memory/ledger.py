"""Records of tasks and submissions, found by their id wherever they lie by now."""

from collections.abc import Mapping

from gitagent.core.layout import ARCHIVE, SUBMISSIONS, TASK_RECORDS
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.errors import GitError, UserError
from gitagent.files import record
from gitagent.git import records
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects


class Ledger:
    """The records of one repository, as they are now; looks the archive up once.

    For one thread, and for one look at them: it sees nothing of what comes later.
    """

    def __init__(self, objects: Objects, archived: Archived | None = None) -> None:
        """``archived`` is what was learnt of the archive before."""
        self._objects = objects
        self._archived = archived or Archived()
        self._chains: Mapping[str, str] | None = None

    def submission(self, name: str) -> Submission | None:
        """Return a submission; None if it cannot be read here."""
        oid = self._at(SUBMISSIONS + name)
        if oid is None:
            return None
        try:
            return record.load_submission(records.read(self._objects, oid), oid)
        except (GitError, UserError):
            return None

    def task(self, name: str) -> TaskRecord | None:
        """Return a task; None if it cannot be read here."""
        oid = self._at(TASK_RECORDS + name)
        if oid is None:
            return None
        try:
            return record.load_task(records.read(self._objects, oid), oid)
        except (GitError, UserError):
            return None

    def _at(self, ref: str) -> str | None:
        found = self._objects.ref(ref)
        if found is not None:
            return found
        if self._chains is None:
            self._chains = self._objects.refs(ARCHIVE)
        return self._archived.record(self._objects, ref, self._chains)


def submission(objects: Objects, name: str) -> Submission | None:
    """Return a submission as it is recorded; None if it cannot be read here."""
    return Ledger(objects).submission(name)


def task(objects: Objects, name: str) -> TaskRecord | None:
    """Return a task as it is recorded; None if it cannot be read here."""
    return Ledger(objects).task(name)
