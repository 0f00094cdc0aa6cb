"""What the records, archived ones too, say of whether memory helps."""

from gitagent.core.outcomes import Rows
from gitagent.core.reviewing import Against
from gitagent.core.uplift import hurting
from gitagent.git.objects import Objects


def read(objects: Objects) -> Rows:
    """Return a row for each task whose coin was tossed and which has ended."""
    raise NotImplementedError


def harmful(objects: Objects) -> tuple[Against, ...]:
    """Return the items that the outcomes speak against, for the memory's review."""
    return tuple(
        Against(each.slug, each.sentence, each.evidence, (each.kind,))
        for each in hurting(read(objects).rows)
    )
