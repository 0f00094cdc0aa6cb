"""Which product tree vouches for a landing, told from the history alone.

A landing was checked as it is, or as part of what came with it in the same move of the
target: then it names the product tree of a later landing of that move. That the two
came together follows from where the move began, which the later one's record says: the
target was there, below both, and went from there to above both at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from gitagent.core.submission import Submission
from gitagent.errors import GitError
from gitagent.files.message import trailers
from gitagent.git.objects import Objects
from gitagent.git.tree import product_tree
from gitagent.lander.trail import Kind, Step, lands, steps

Find = Callable[[str], Submission | None]


@dataclass(slots=True)
class Covers:
    """Follows a walk from the newest commit to the oldest."""

    objects: Objects
    find: Find  # the record of a submission by its id
    _above: list[Step] = field(default_factory=list)  # landings in a row, newest first

    def walked(self, seen: Step) -> None:
        """Take in a step, after it was asked about."""
        if seen.kind is not Kind.LANDING:
            self._above.clear()
            return
        self._above.append(seen)

    def of(self, seen: Step) -> Step | None:
        """Return the landing whose product tree ``seen`` was checked as; None: none.

        That is itself, or a later one, whose record bears it out. Raises GitError.
        """
        checked = _said(seen, "Gitagent-Checked")
        for each in (seen, *reversed(self._above)):
            if _said(each, "Gitagent-Checked") != checked:
                # The other commits of a submission that was replayed say nothing.
                if each.commit.oid == each.last:
                    return None
                continue
            if product_tree(self.objects, each.commit.tree) == checked:
                return each if each is seen or self._together(seen, each) else None
        return None

    def _together(self, seen: Step, later: Step) -> bool:
        record = self.find(later.submission)
        if record is None or record.base is None or record.commit != later.commit.oid:
            return False
        if not lands(self.objects, later, record):
            return False
        try:
            below = self.objects.ancestor(record.base, seen.commit.oid)
        except GitError:
            return False
        return below and record.base != seen.commit.oid


def parents(objects: Objects, later: Step, base: str) -> tuple[str, ...]:
    """Return the parents of the candidate that ``later`` was the last step of."""
    tips: list[str] = []
    for each in steps(objects, later.commit.oid):
        if each.commit.oid == base or each.kind is not Kind.LANDING:
            break
        if tip := _said(each, "Gitagent-Tip"):
            tips.append(tip)
    return (base, *reversed(tips))


def _said(seen: Step, key: str) -> str | None:
    return dict(trailers(seen.commit.message)).get(key)
