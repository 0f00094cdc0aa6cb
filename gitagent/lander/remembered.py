"""What a candidate does to the memory, and the landings that the memory's log has."""

from collections.abc import Iterator

from gitagent.core.action import LandStep
from gitagent.core.candidate import PathChange, Remembered
from gitagent.core.layout import CHAPTERS, MEMORY
from gitagent.core.remembering import Filed, Ruling
from gitagent.core.task import Refusal
from gitagent.files import clean, memoryfile
from gitagent.git import items
from gitagent.git.objects import BLOB, Objects
from gitagent.git.repository import Repository
from gitagent.git.rulings import append, commits, read_all


def remembered(
    objects: Objects,
    before: str,
    after: str,
    tip: str,
    changes: tuple[PathChange, ...],
) -> Remembered | None:
    """Return what a step from one tree to another makes of the memory; None: nothing.

    ``tip`` is the commit that it merges.
    """
    changed = [each for each in changes if each.path.startswith(MEMORY)]
    if not changed:
        return None
    new = [c for c in changed if c.new_blob and not c.path.startswith(CHAPTERS)]
    known = {(x.slug, x.blob) for each in read_all(objects) for x in each.files}
    brought = {(memoryfile.name_of(each.path), each.new_blob) for each in new}
    return Remembered(
        before=_count(objects, before, known),
        count=_count(objects, after, known | brought),
        problems=tuple(_problems(objects, new)),
        mixed=tuple(
            each.path
            for each in changed
            if each.new_blob and not _has(objects, tip, each.path, each.new_blob)
        ),
    )


def _count(objects: Objects, tree: str, known: set[tuple[str, str]]) -> int:
    """Return how many items of a tree count.

    A file that none of ``known`` is, by slug and blob, came past every door: nobody
    reads it, and it takes up no room.
    """
    return sum(
        each in known and items.counts(objects, *each)
        for each in items.files(objects, tree)
    )


def log_landings(
    repo: Repository,
    objects: Objects,
    steps: tuple[LandStep, ...],
    made: list[str],
    stamp: str,
) -> None:
    """Record landings that change the memory, before the target has their commits."""
    for step, commit in zip(steps, made, strict=True):
        if step.candidate.memory is None or commit in commits(objects):
            continue
        files = tuple(
            Filed(memoryfile.name_of(each.path), each.new_blob)
            for each in step.candidate.changes
            if each.path.startswith(MEMORY)
        )
        who, name = step.submission.submitter, step.submission.id
        ruling = Ruling(stamp, who, commit=commit, files=files, submission=name)
        append(repo, objects, ruling)


def _problems(objects: Objects, changes: list[PathChange]) -> Iterator[str]:
    for each in changes:
        slug = memoryfile.slug_of(each.path)
        if slug is None:
            shown = clean.line(each.path)
            yield f"{shown} is no place for an item: that is {MEMORY}NAME.md."
        elif each.new_mode == BLOB:
            found = items.read(objects, slug, each.new_blob)
            if isinstance(found, Refusal):
                yield f"{found.reason.rstrip('.')}."


def _has(objects: Objects, commit: str, path: str, blob: str) -> bool:
    entry = objects.path(commit, path)
    return entry is not None and entry.oid == blob
