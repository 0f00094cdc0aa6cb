"""What an item came from: landings, and what its work had been given of the memory.

Read from the records of tasks and submissions, which are final by then; where they are
not in this clone, nothing is said.
"""

from typing import Final

from gitagent.core.distil import landing_of
from gitagent.core.exposure import Way
from gitagent.core.memory import From, Item
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.memory.ledger import Ledger

_NONE: Final[frozenset[str]] = frozenset()


class Provenance:
    """Where one repository's items are from. For one thread; reads a record once."""

    def __init__(self) -> None:
        self._archived = Archived()
        self._landed: dict[str, Submission] = {}
        self._tasks: dict[str, TaskRecord | None] = {}

    def begin(self, objects: Objects) -> Ledger:
        """Return the records as they are now; what was missing is looked for again."""
        self._tasks = {x: y for x, y in self._tasks.items() if y and y.settled}
        return Ledger(objects, self._archived)

    def commits(self, ledger: Ledger, item: Item) -> frozenset[str]:
        """Return the commits by which what it came from landed, tips included.

        That is the landing that it cites, that its work distils, or that its work made.
        """
        cited = [each for each in item.sources if each.kind is From.LANDING]
        record = self._task(ledger, item.work)
        names = {each.name for each in cited}
        names |= {landing_of(item.work) or "", (record and record.submission) or ""}
        found = {each.oid for each in cited}
        for name in names:
            landed = self._landing(ledger, name)
            if landed is not None:
                found |= {landed.commit or landed.tip, landed.tip}
        return frozenset(found)

    def received(self, ledger: Ledger, item: Item) -> frozenset[str]:
        """Return the slugs of what the work behind an item was given of the memory.

        Whoever tends the memory sees all of it, which makes nothing of it a premise.
        """
        landed = self._landing(ledger, landing_of(item.work) or "")
        works = {item.work, (landed and landed.task) or ""}
        return _NONE.union(*(self._given(ledger, work) for work in works))

    def _given(self, ledger: Ledger, work: str) -> frozenset[str]:
        record = self._task(ledger, work)
        if record is None:
            return _NONE
        asked = [each for each in record.attempts if each.proposed] or record.attempts
        return frozenset(
            given.slug
            for attempt in asked
            for given in attempt.memory.received
            if given.way is not Way.ALL
        )

    def _task(self, ledger: Ledger, name: str) -> TaskRecord | None:
        if name and name not in self._tasks:
            self._tasks[name] = ledger.task(name)
        return self._tasks.get(name)

    def _landing(self, ledger: Ledger, name: str) -> Submission | None:
        if name and name not in self._landed:
            known = ledger.submission(name)
            if known is None or known.state is not SubmissionState.LANDED:
                return None
            self._landed[name] = known
        return self._landed.get(name)
