"""One tree of a product and of records that have gone their own way.

A candidate is made on one commit of the target, and what it becomes lands on a later
one, which has the same product and more notes and tasks.
"""

from collections.abc import Iterable

from gitagent.core.candidate import PathChange
from gitagent.core.layout import AGENT, DONE, RECORD_FOLDERS, TASKS
from gitagent.errors import LostRace, UserError
from gitagent.git.objects import Objects
from gitagent.git.tree import edit

_Edits = dict[str, tuple[int, str] | None]


def compose(
    objects: Objects, product: str, onto: str, changes: Iterable[PathChange]
) -> str:
    """Return the product tree with the record folders of the tree ``onto``.

    Those of ``changes`` that are in record folders are made there.

    Raises:
        LostRace: the records have changed where the changes do; merge anew.
    """
    edits: _Edits = {}
    for folder in RECORD_FOLDERS:
        entry = objects.path(onto, folder.rstrip("/"))
        if entry is not None:
            edits[folder.rstrip("/")] = (entry.mode, entry.oid)
    tree = edit(objects, product, edits)
    wanted: _Edits = {}
    for change in changes:
        if not change.path.startswith(RECORD_FOLDERS):
            continue
        there = objects.path(tree, change.path)
        was = (0, "") if there is None else (there.mode, there.oid)
        if was != (change.old_mode, change.old_blob):
            raise LostRace(f"{change.path} was changed on the target meanwhile")
        gone = change.new_mode == 0
        wanted[change.path] = None if gone else (change.new_mode, change.new_blob)
    try:
        return edit(objects, tree, wanted)
    except UserError as error:
        raise LostRace(f"{AGENT} was changed on the target meanwhile") from error


def moved(objects: Objects, tree: str, task: str) -> dict[str, tuple[int, str] | None]:
    """Return the edit that moves a task's file to ``done/``; empty without one."""
    file = objects.path(tree, f"{TASKS}{task}.md")
    if file is None:
        return {}
    return {f"{TASKS}{task}.md": None, f"{DONE}{task}.md": (file.mode, file.oid)}
