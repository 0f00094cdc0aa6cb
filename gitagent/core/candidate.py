"""A candidate: the target with submissions merged onto it one after another, as facts.

Made by the lander from Git, judged here and in ``policy``; never stored, since the
same base, tips and merge engine always give the same candidate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from gitagent.core.settings import Settings


class Change(StrEnum):
    """What a submission does to one path."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path that differs between base and merged tree (renames are two)."""

    path: str
    change: Change
    old_mode: int  # 0 if added
    new_mode: int  # 0 if deleted; 0o160000 is a submodule link
    old_blob: str = ""  # empty if added
    new_blob: str = ""  # empty if deleted


Key = tuple[str, tuple[str, ...]]  # target commit, tips merged on top of it in order


@dataclass(frozen=True, slots=True)
class Candidate:
    """What merging ``tips`` onto ``base`` gives; the facts are about the last step.

    Without tips it is the bare target.
    """

    base: str  # target commit
    tips: tuple[str, ...]  # submitted commits, in order
    submission: str = ""  # id of the last one
    ends: str | None = None  # the task whose file the last one moves to done/
    contained: bool = False  # its tip is part of what is below: nothing to land
    product: str = ""  # product tree; empty on conflict
    conflicts: tuple[str, ...] = ()  # paths; not empty means conflict
    fault: str = ""  # a sentence: there is something that no checkout can hold
    final: bool = False  # the conflict is one with the bare target
    changes: tuple[PathChange, ...] = ()  # what the last step does to the tree
    colliding: tuple[str, ...] = ()  # new paths equal to others after casefold and NFC
    weakened: tuple[tuple[str, str], ...] = ()  # (test, how it judges less than before)
    starts: tuple["Started", ...] = ()  # task files that the last step puts there
    memory: "Remembered | None" = None  # what it does to the memory; None: nothing
    settings: Settings | None = None  # what the step makes of them; None: unchanged
    commit: str = ""  # of the product tree, with base and tips as parents; "": not made

    @property
    def key(self) -> Key:
        """What the candidate is made of."""
        return self.base, self.tips

    @property
    def tip(self) -> str:
        """The commit that the last step merges; empty for the bare target."""
        return self.tips[-1] if self.tips else ""


@dataclass(frozen=True, slots=True)
class Started:
    """A task file that a submission adds or changes."""

    path: str
    agent: str | None  # that it names; None: the default
    budget: tuple[tuple[str, float], ...] = ()  # that it names; (): the default
    content: str = ""  # all of it


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a step that changes the memory makes of it."""

    before: int  # how many items counted
    count: int  # how many would count
    problems: tuple[str, ...] = ()  # why a changed file could be no item, a line each
    mixed: tuple[str, ...] = ()  # changed paths that hold what the tip does not


def carried(
    candidates: Iterable[Candidate], base: str, tips: tuple[str, ...], new: str
) -> dict[Key, Candidate]:
    """Return what stays true when the target goes from ``base`` to ``new``.

    ``new`` has the product of ``base`` with ``tips`` merged onto it, and whatever else
    it brought is in record folders. So candidates that begin with those tips are what
    they were, without them; one that could not be merged has to be tried again, since
    the records or the history of the old base may have been what was in the way. So
    has one that changes the memory, of which the new base may have more.
    """
    count = len(tips)
    return {
        (new, each.tips[count:]): replace(
            each, base=new, tips=each.tips[count:], commit=""
        )
        for each in candidates
        if each.base == base
        and each.tips[:count] == tips
        and each.product
        and each.memory is None
    }
