"""A landing taken back: the commit that undoes it on the target as it is now.

Three trees are merged in memory: the target, and what was below the landing, with the
landing as their common base. Notes, tasks and memory stay, since that it landed stays
true. The commit goes through the lander like anybody's work.
"""

from dataclasses import dataclass

from gitagent.core.layout import RECORD_FOLDERS
from gitagent.core.submission import Submission
from gitagent.files.message import escape
from gitagent.git.identity import author
from gitagent.git.merge import merge
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import edit, product_tree
from gitagent.lander.trail import lands, steps


@dataclass(frozen=True, slots=True)
class Reverted:
    """What undoing a landing gives: a commit, conflicts, or nothing to undo."""

    commit: str | None = None  # None without conflicts: nothing of it is left
    conflicts: tuple[str, ...] = ()  # paths that later work has changed too


def below(objects: Objects, landed: Submission) -> str | None:
    """Return the commit that the landing was put onto; None if there is none.

    Of a submission that was replayed it is the one below all of its commits.
    """
    found = None
    for seen in steps(objects, landed.commit or ""):
        if seen.submission != landed.id or not lands(objects, seen, landed):
            break
        found = seen.commit.parents[0] if seen.commit.parents else None
    return found


def revert(
    repo: Repository, objects: Objects, landed: Submission, target: str, because: str
) -> Reverted:
    """Write the commit on ``target`` that takes ``landed`` back, in the caller's name.

    Raises:
        UserError: Git does not know who calls.
    """
    before = below(objects, landed)
    commit = objects.commit(landed.commit or "")
    onto = objects.commit(target).tree
    old = objects.commit(before).tree if before is not None else objects.write_tree(())
    sides = [_with_records(objects, tree, onto) for tree in (commit.tree, old)]
    merged = merge(repo, objects, onto, sides[1], common=sides[0])
    if merged.tree is None:
        return Reverted(conflicts=merged.conflicts)
    if product_tree(objects, merged.tree) == product_tree(objects, onto):
        return Reverted()
    who = author(repo)
    message = _message(landed, commit.message, because)
    return Reverted(objects.write_commit(merged.tree, (target,), message, who, who))


def marker(landed: Submission) -> str:
    """Return the line by which the message of a revert names its landing.

    It is the one that `git revert` writes.
    """
    return f"This reverts commit {landed.commit}."


def _message(landed: Submission, message: str, because: str) -> str:
    subject = message.strip().partition("\n")[0]
    task = f" of task {landed.task}" if landed.task else ""
    lines = [
        f'Revert "{subject}"',
        f"{marker(landed)}\nIt takes back {landed.id}{task}.",
        because.strip(),
    ]
    return escape("\n\n".join(line for line in lines if line)) + "\n"


def _with_records(objects: Objects, tree: str, onto: str) -> str:
    """Return the product of ``tree`` with the record folders of ``onto``."""
    edits: dict[str, tuple[int, str] | None] = {}
    for folder in RECORD_FOLDERS:
        entry = objects.path(onto, folder.rstrip("/"))
        if entry is not None:
            edits[folder.rstrip("/")] = (entry.mode, entry.oid)
    return edit(objects, product_tree(objects, tree), edits)
