"""What each commit on the target's first-parent history says that it is.

Told from the commit alone: its trailers, and which part of the tree it changes. What
a commit claims is believed only as far as its tree bears it out; whether a landing
is one is for its record to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from gitagent.core.layout import AGENT, CONFIG, LANDINGS, MEMORY, TASKS
from gitagent.core.submission import Submission
from gitagent.errors import UserError
from gitagent.files.message import trailers
from gitagent.git.objects import Commit, MissingObject, Objects
from gitagent.git.rulings import commits
from gitagent.lander.scope import only_in

RECORD_KEY: Final = "Gitagent-Record"
SUBMISSION_KEY: Final = "Gitagent-Submission"


class Kind(StrEnum):
    """What a commit on the target is."""

    INIT = "init"  # made by `gitagent init`: it brought the settings
    RECORD = "record"  # gitagent's own, and nothing but record folders in it
    TASKS = "tasks"  # a person's, and nothing but tasks in it
    LANDING = "landing"  # it says that it lands a submission
    DIRECT = "direct"  # anything else


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of the first-parent history."""

    commit: Commit
    kind: Kind
    submission: str = ""  # that a landing names
    last: str = ""  # of the commits in a row that name this submission the newest


def steps(objects: Objects, tip: str) -> Iterator[Step]:
    """Yield what each commit from ``tip`` to the root is, newest first."""
    newer: Step | None = None
    for commit, parent in first_parents(objects, tip):
        seen = step(objects, commit, parent)
        if seen.kind is Kind.LANDING:
            same = newer is not None and newer.submission == seen.submission
            last = newer.last if newer is not None and same else commit.oid
            seen = replace(seen, last=last)
        yield seen
        newer = seen


def lands(objects: Objects, seen: Step, submission: Submission) -> bool:
    """Whether a commit is the landing that the record says, or a replayed part of it.

    What was part of the target already when it was submitted is recorded with its own
    tip, and that is nobody's landing. A part has come in the same move of the target
    as the commit that the record names, so it is not below what that move began from.
    Raises MissingObject.
    """
    if submission.commit is None or submission.commit == submission.tip:
        return False
    if submission.commit == seen.commit.oid:
        return True
    return (
        submission.commit == seen.last
        and submission.base is not None
        and not objects.ancestor(seen.commit.oid, submission.base)
    )


def step(objects: Objects, commit: Commit, parent: Commit | None) -> Step:
    """Return what a commit is, compared with its first parent (None: a root)."""
    said = dict(trailers(commit.message)) if "Gitagent-" in commit.message else {}
    if SUBMISSION_KEY in said:
        return Step(commit, Kind.LANDING, said[SUBMISSION_KEY])
    before = None if parent is None else parent.tree
    record = said.get(RECORD_KEY)
    if record == "init" and only_in(objects, before, commit.tree, (AGENT,)):
        if before is None or objects.path(before, CONFIG) is None:
            return Step(commit, Kind.INIT)
        if _same_settings(objects, before, commit.tree):
            return Step(commit, Kind.RECORD)
    elif record is not None and _is_record(objects, before, commit):
        return Step(commit, Kind.RECORD)
    elif only_in(objects, before, commit.tree, (TASKS,)):
        return Step(commit, Kind.TASKS)
    return Step(commit, Kind.DIRECT)


def _is_record(objects: Objects, before: str | None, commit: Commit) -> bool:
    """Whether a commit that says so is one of ours.

    What changes the memory has to stand in the memory's log: a copied trailer is no
    admission.
    """
    if only_in(objects, before, commit.tree, (TASKS, LANDINGS)):
        return True
    if not only_in(objects, before, commit.tree, (MEMORY,)):
        return False
    try:
        return commit.oid in commits(objects)
    except UserError:
        return False


def first_parents(objects: Objects, tip: str) -> Iterator[tuple[Commit, Commit | None]]:
    """Yield each commit from ``tip`` to the root with its first parent.

    Where a shallow clone ends the history ends.
    """
    commit: Commit | None = objects.commit(tip)
    while commit is not None:
        parent = _parent(objects, commit)
        yield commit, parent
        commit = parent


def _parent(objects: Objects, commit: Commit) -> Commit | None:
    if not commit.parents:
        return None
    try:
        return objects.commit(commit.parents[0])
    except MissingObject:
        return None


def _same_settings(objects: Objects, before: str, after: str) -> bool:
    return objects.path(before, CONFIG) == objects.path(after, CONFIG)
