"""What a candidate does to the memory, and the landings that the memory's log has."""

from collections.abc import Iterator
from typing import Final

from gitagent.core.action import LandStep
from gitagent.core.candidate import PathChange, Remembered
from gitagent.core.layout import CHAPTERS, MEMORY
from gitagent.core.memory import COUNTS, Item
from gitagent.core.remembering import Filed, Ruling
from gitagent.core.task import Refusal
from gitagent.files import clean, memoryfile
from gitagent.files.text import FILE_LIMIT
from gitagent.git.objects import BLOB, Objects
from gitagent.git.repository import Repository
from gitagent.git.rulings import append, commits, read_all
from gitagent.git.tree import folder

_MANY: Final = 100_000  # items of which it is remembered whether they count

# By slug and blob, which decide it.
_counts: dict[tuple[str, str], bool] = {}


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
    items = [c for c in changed if c.new_blob and not c.path.startswith(CHAPTERS)]
    known = {(x.slug, x.blob) for each in read_all(objects) for x in each.files}
    new = {(memoryfile.name_of(each.path), each.new_blob) for each in items}
    return Remembered(
        before=_count(objects, before, known),
        count=_count(objects, after, known | new),
        problems=tuple(_problems(objects, items)),
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
        (key := (entry.name.removesuffix(".md"), entry.oid)) in known
        and _does_count(objects, *key)
        for entry in folder(objects, tree, MEMORY)
        if entry.mode == BLOB and entry.name.endswith(".md")
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
            found = _parse(objects, slug, each.new_blob)
            if isinstance(found, Refusal):
                yield f"{found.reason.rstrip('.')}."


def _does_count(objects: Objects, slug: str, blob: str) -> bool:
    key = (slug, blob)
    known = _counts.get(key)
    if known is None:
        found = _parse(objects, slug, blob)
        known = isinstance(found, Item) and found.status in COUNTS
        if len(_counts) >= _MANY:
            _counts.clear()
        _counts[key] = known
    return known


def _parse(objects: Objects, slug: str, blob: str) -> Item | Refusal:
    path = memoryfile.path_of(slug)
    if objects.size(blob) > FILE_LIMIT:
        limit = FILE_LIMIT // 1024
        return Refusal(path, f"{clean.line(path)}: it is larger than {limit} KiB")
    return memoryfile.parse(slug, blob, objects.blob(blob), path)


def _has(objects: Objects, commit: str, path: str, blob: str) -> bool:
    entry = objects.path(commit, path)
    return entry is not None and entry.oid == blob
