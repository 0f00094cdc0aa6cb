"""What a person has to approve, found by merging onto the target as it is now."""

from collections.abc import Iterable
from dataclasses import dataclass

from gitagent.core import weakening
from gitagent.core.approval import Needed
from gitagent.core.candidate import Candidate, PathChange
from gitagent.core.glob import named
from gitagent.core.policy import rule
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission
from gitagent.errors import UserError
from gitagent.git.merge import merge
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import walk_changes

_TEXT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Needs:
    """What has to be approved, and between which trees it differs."""

    before: str  # the target's tree
    after: str  # merged tree
    needed: tuple[Needed, ...]


def needs(
    repo: Repository,
    objects: Objects,
    submission: Submission,
    target: str,
    settings: Settings,
) -> Needs:
    """Return what a submission needs an approval for, on this commit of the target.

    Raises:
        UserError: it cannot be merged as it is.
        GitError: an object is not here.
    """
    before = objects.commit(target).tree
    # Git would unfold a tree of any size, and end with all the memory there is.
    walk_changes(objects, before, objects.commit(submission.tip).tree)
    merged = merge(repo, objects, target, submission.tip)
    if merged.tree is None:
        where = f" in {named(merged.conflicts)}" if merged.conflicts else ""
        raise UserError(
            f"{submission.id} conflicts with the target{where}, so what would land is"
            " not known yet",
            "merge the target into it, and submit that",
        )
    changes = walk_changes(objects, before, merged.tree)
    weak = () if submission.task is None else weakened(objects, changes)
    candidate = Candidate(target, (submission.tip,), changes=changes)
    ruling = rule(candidate, submission, settings, weakened=weak)
    return Needs(before, merged.tree, ruling.approve)


def weakened(
    objects: Objects, changes: Iterable[PathChange]
) -> tuple[tuple[str, str], ...]:
    """Return (path, what happened to it) of tests that judge less than before."""
    return tuple(weakening.weakened(changes, lambda blob: _text(objects, blob)))


def _text(objects: Objects, oid: str) -> str:
    """Return a blob as text; nothing for a submodule or what nobody wrote by hand."""
    if objects.kind(oid) != "blob" or objects.size(oid) > _TEXT_BYTES:
        return ""
    return objects.blob(oid).decode(errors="replace")
