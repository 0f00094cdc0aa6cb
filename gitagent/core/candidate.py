"""A candidate: one submission merged onto one base, as facts.

Made by the lander from Git, judged here and in ``policy``; never stored, since the
same base, tip and merge engine always give the same candidate.
"""

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class Candidate:
    """What merging ``tip`` onto ``base`` gives."""

    base: str  # target commit
    tip: str  # submitted commit
    contained: bool = False  # tip is an ancestor of base: nothing to land
    tree: str = ""  # merged tree; empty on conflict
    product: str = ""  # its product tree; empty on conflict
    conflicts: tuple[str, ...] = ()  # paths; not empty means conflict
    fault: str = ""  # a sentence: there is something that no checkout can hold
    changes: tuple[PathChange, ...] = ()  # base tree to merged tree
    task_blob: str | None = None  # the task's file in base; None: none, or no task
    colliding: tuple[str, ...] = ()  # new paths equal to others after casefold and NFC
    commit: str = ""  # commit of the product tree with parents base and tip
