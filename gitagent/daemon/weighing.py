"""Whether an operation that an agent proposes may stand, while it still works.

What can be told already is told at once. What cites the agent's own commits, and what a
command has to prove, is looked at when the work has landed, as all of it is then.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from gitagent.core.ident import is_oid
from gitagent.core.memory import SOURCES, From, read_source
from gitagent.core.remembering import Operation, Ruled
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.memory import ledger
from gitagent.memory.evidence import examine
from gitagent.memory.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Weighing:
    """What operations of one task are weighed by; nothing is written."""

    repo: Repository
    objects: Objects
    target: str  # commit
    shelf: Shelf
    task: str
    limit: int

    def weigh(self, asked: Operation, own: Collection[str]) -> tuple[Ruled, bool]:
        """Return what there is to say by now, and whether a part waits.

        ``own`` are commits that are there where the agent works, and not here yet.
        """
        some = asked.sources[:SOURCES]  # with more it is refused, and none is looked up
        waits = [each for each in some if self._waits(each, own)]
        ruled = examine(
            self.repo,
            self.objects,
            self.target,
            self.shelf,
            asked,
            now=clock.stamp(),
            verify=_later,
            strict=True,
            work=self.task,
            limit=self.limit,
            waits=waits,
        ).ruled
        if waits and ruled.admitted:
            ruled = replace(ruled, reason="")  # what it rests on is not known yet
        return ruled, bool(waits)

    def _waits(self, text: str, own: Collection[str]) -> bool:
        """Whether a source is of work of this task that has not landed."""
        source = read_source(text)
        if isinstance(source, str) or source.kind is not From.LINES:
            return False
        if not is_oid(source.oid):
            return False
        if self.objects.kind(source.oid) is None:
            return source.oid in own
        if self.objects.ancestor(source.oid, self.target):
            return False
        record = ledger.task(self.objects, self.task)
        tip = record.tip if record else None
        return tip is not None and self.objects.ancestor(source.oid, tip)


def _later(command: str, tree: str) -> str:
    """Let a command pass: it is run when the work has landed."""
    del command, tree
    return ""
