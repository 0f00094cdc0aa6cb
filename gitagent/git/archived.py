"""Records that were moved to ``refs/gitagent/archive/<yyyy-mm>``, found again.

Each step of such a chain names the records that it took in, and keeps them alive.
"""

import json
from collections.abc import Mapping

from gitagent.core.layout import ARCHIVE
from gitagent.errors import GitError, UserError
from gitagent.git import records
from gitagent.git.objects import Objects


class Archived:
    """Looks archived records up; reads each step of a chain once."""

    def __init__(self) -> None:
        self._records: dict[str, str] = {}  # by ref: the newest record commit
        self._seen: set[str] = set()

    def record(
        self, objects: Objects, ref: str, chains: Mapping[str, str] | None = None
    ) -> str | None:
        """Return the record commit that ``ref`` held when it was archived, or None.

        ``chains`` are the refs of the archive, if they were read already.
        """
        self._look(objects, objects.refs(ARCHIVE) if chains is None else chains)
        return self._records.get(ref)

    def all(self, objects: Objects, chains: Mapping[str, str]) -> set[str]:
        """Return the record commits that refs held when they were archived last."""
        self._look(objects, chains)
        return set(self._records.values())

    def refs(self, objects: Objects, chains: Mapping[str, str]) -> dict[str, str]:
        """Return what each ref held when it was archived last."""
        self._look(objects, chains)
        return dict(self._records)

    def _look(self, objects: Objects, chains: Mapping[str, str]) -> None:
        for tip in chains.values():
            if tip not in self._seen:
                self._learn(objects, tip)

    def _learn(self, objects: Objects, tip: str) -> None:
        steps: list[dict[str, str]] = []
        for commit in records.history(objects, tip):
            if commit.oid in self._seen:
                break
            self._seen.add(commit.oid)
            steps.append(_taken_in(objects, commit.oid))
        for taken in reversed(steps):
            self._records |= taken


def _taken_in(objects: Objects, oid: str) -> dict[str, str]:
    try:
        found = json.loads(records.read(objects, oid))["records"]
        return {str(ref): str(commit) for ref, commit in found.items()}
    except (GitError, UserError, ValueError, KeyError, TypeError, AttributeError):
        return {}
