"""What an item came from: landings, and what its work had been given of the memory.

Read from the records of tasks and submissions, which are final by then; where they are
not in this clone, nothing is said.
"""

from typing import Final

from gitagent.core.exposure import Way
from gitagent.core.memory import From, Item
from gitagent.core.submission import SubmissionState
from gitagent.core.task import TaskRecord
from gitagent.core.tending import landing_of
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.memory import ledger

_NONE: Final[frozenset[str]] = frozenset()


class Origins:
    """The origins of one repository's items. For one thread; reads a record once."""

    def __init__(self) -> None:
        self._archived = Archived()
        self._landed: dict[str, frozenset[str]] = {}  # by submission
        self._tasks: dict[str, TaskRecord] = {}

    def commits(self, objects: Objects, item: Item) -> frozenset[str]:
        """Return the commits by which what it came from landed, tips included.

        That is the landing that it cites, that its work distils, or that its work made.
        """
        names = {each.name for each in item.sources if each.kind is From.LANDING}
        distilled = landing_of(item.work)
        record = self._task(objects, item.work)
        names |= {distilled or "", (record and record.submission) or ""}
        found = (self._landing(objects, name) for name in names if name)
        cited = {each.oid for each in item.sources if each.kind is From.LANDING}
        return _NONE.union(cited, *found)

    def received(self, objects: Objects, item: Item) -> frozenset[str]:
        """Return the slugs of what the work behind an item was given of the memory.

        Whoever tends the memory sees all of it, which makes nothing of it a premise.
        """
        works = [item.work]
        if distilled := landing_of(item.work):
            known = ledger.submission(objects, distilled, self._archived)
            works.append((known and known.task) or "")
        return _NONE.union(*(self._given(objects, work) for work in works))

    def _given(self, objects: Objects, work: str) -> frozenset[str]:
        record = self._task(objects, work)
        if record is None:
            return _NONE
        asked = [each for each in record.attempts if each.proposed] or record.attempts
        return frozenset(
            given.slug
            for attempt in asked
            for given in attempt.memory.received
            if given.way is not Way.ALL
        )

    def _task(self, objects: Objects, name: str) -> TaskRecord | None:
        if not name:
            return None
        known = self._tasks.get(name)
        if known is None:
            known = ledger.task(objects, name, self._archived)
            if known is not None and known.settled:
                self._tasks[name] = known
        return known

    def _landing(self, objects: Objects, name: str) -> frozenset[str]:
        if name not in self._landed:
            known = ledger.submission(objects, name, self._archived)
            if known is None or known.state is not SubmissionState.LANDED:
                return _NONE
            self._landed[name] = frozenset({known.commit or known.tip, known.tip})
        return self._landed[name]
