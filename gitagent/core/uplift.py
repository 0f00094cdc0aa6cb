"""Whether memory helps: tasks that were given it beside tasks that were not."""

from collections.abc import Sequence
from dataclasses import dataclass

from gitagent.core.outcomes import Row


@dataclass(frozen=True, slots=True)
class Harm:
    """An item that hurts, or has been given often enough and does not help."""

    slug: str
    sentence: str
    evidence: tuple[str, ...]  # records of tasks
    kind: str  # "hurts" or "never helps"


def hurting(rows: Sequence[Row]) -> list[Harm]:
    """Return the items that the outcomes speak against, by slug."""
    raise NotImplementedError
