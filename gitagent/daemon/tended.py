"""What is on record of the memory's own work; see `core.tending`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitagent.core.layout import ARCHIVE, OPERATIONS
from gitagent.core.remembering import Ruling
from gitagent.core.settings import Distill
from gitagent.core.snapshot import Tended
from gitagent.core.submission import Submission
from gitagent.core.task import Refusal
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import UserError
from gitagent.git import rulings
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.lander.submit import ref_of


@dataclass(slots=True)
class Facts:
    """Reads what is on record; remembers what follows from an object id."""

    settings: SettingsInForce
    _archived: Archived = field(default_factory=Archived)
    _gone: set[str] = field(default_factory=set)  # submissions that were archived
    _tip: str | None = None
    _rulings: tuple[Ruling, ...] = ()
    _submitted: frozenset[str] = frozenset()  # by them
    _distillers: dict[str, str] = field(default_factory=dict)  # by settings; "": none

    def read(
        self,
        objects: Objects,
        refs: Mapping[str, str],
        submissions: Mapping[str, Submission],
    ) -> tuple[Tended, tuple[Refusal, ...]]:
        """Return what is known, and why the log of the memory cannot be read."""
        try:
            self._follow(objects, refs)
        except UserError as error:
            return Tended(readable=False), (Refusal(OPERATIONS, error.line()),)
        return (
            Tended(
                distillers=self._named(objects, submissions.values()),
                rulings=self._rulings,
                archived=self._only_archived(objects, refs, submissions),
            ),
            (),
        )

    def _follow(self, objects: Objects, refs: Mapping[str, str]) -> None:
        tip = refs.get(OPERATIONS)
        if tip != self._tip:
            found = rulings.read_all(objects, refs)
            # Landings stand there too, for their files alone.
            self._rulings = tuple(
                each for each in found if each.ruled or not each.files
            )
            self._submitted = frozenset(
                each.submission for each in self._rulings if each.submission
            )
            self._tip = tip

    def _named(
        self, objects: Objects, submissions: Iterable[Submission]
    ) -> dict[str, str]:
        blobs = {each.config for each in submissions if each.task and each.config}
        for blob in blobs - self._distillers.keys():
            found = self.settings.of(objects, blob)
            wants = found is not None and found.memory.distill is Distill.LANDINGS
            self._distillers[blob] = found.memory.distiller if found and wants else ""
        return {blob: name for blob in blobs if (name := self._distillers[blob])}

    def _only_archived(
        self,
        objects: Objects,
        refs: Mapping[str, str],
        submissions: Mapping[str, Submission],
    ) -> frozenset[str]:
        unknown = self._submitted - submissions.keys() - self._gone
        if unknown:
            chains = {ref: oid for ref, oid in refs.items() if ref.startswith(ARCHIVE)}
            self._gone |= {
                each
                for each in unknown
                if self._archived.record(objects, ref_of(each), chains) is not None
            }
        return frozenset(self._gone)
