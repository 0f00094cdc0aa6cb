"""What of the repository and of the system's own records speaks against items.

Nothing is decided here: `core.reviewing` says what follows from it.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from gitagent.core.following import follow
from gitagent.core.memory import COUNTS, QUOTE, From, Item, Marks, Source, written
from gitagent.core.proposal import Why
from gitagent.core.receipt import Receipt, Result
from gitagent.core.reviewing import Against, Instead, Looked
from gitagent.core.task import TaskState
from gitagent.errors import GitagentError, GitError
from gitagent.files import clean, record
from gitagent.git.objects import Objects
from gitagent.lander import receipts
from gitagent.memory.evidence import Verify
from gitagent.memory.ledger import Ledger
from gitagent.memory.lines import file_problem, lines_of
from gitagent.memory.shelf import Shelf

_RED: Final = frozenset({Result.FAILED, Result.TIMEOUT})


def look(
    objects: Objects,
    shelf: Shelf,
    now: str,
    *,
    verify: Verify,
    harmful: tuple[Against, ...] = (),
) -> tuple[Looked, str]:
    """Return all that a review looks at, and why commands could not be run, or ""."""
    items = {slug: item for slug, item in shelf.items.items() if item.status in COUNTS}
    failing, problem = _failing(objects, shelf, items, verify)
    unlooked = frozenset({Why.VERIFY}) if problem else frozenset()
    looked = Looked(
        shelf.items,
        shelf.marks,
        now,
        shelf.commit,
        instead={
            slug: found
            for slug, item in items.items()
            if _is_changed(shelf, slug)
            and (found := tuple(_instead(objects, shelf.commit, item)))
        },
        failing=failing,
        failed=tuple(_failed(objects, items)),
        harmful=harmful,
        unlooked=unlooked,
    )
    return looked, problem


def _is_changed(shelf: Shelf, slug: str) -> bool:
    return any(mark.mark is Marks.CHANGED for mark in shelf.marks.get(slug, ()))


def _failing(
    objects: Objects,
    shelf: Shelf,
    items: Mapping[str, Item],
    verify: Verify,
) -> tuple[tuple[Against, ...], str]:
    """Return the items whose command fails on the target, or why none was run."""
    tree = objects.commit(shelf.commit).tree
    found = []
    for slug, item in items.items():
        if not item.verify:
            continue
        try:
            why = verify(item.verify, tree)
        except GitagentError as error:
            return (), error.line()
        if why:
            same = (item.verify, why)
            found.append(
                Against(slug, f"What verifies it fails: {why}", (shelf.commit,), same)
            )
    return tuple(found), ""


def _instead(objects: Objects, commit: str, item: Item) -> Iterator[Instead]:
    """Yield what stands where the cited lines of an item were that changed."""
    for source in item.sources:
        if source.kind is not From.LINES:
            continue
        new, blob = _lines(objects, commit, source.name)
        old, _ = _lines(objects, source.oid, source.name)
        text = written(source)
        span = follow(old, new, source.first, source.last) if blob else None
        if span is None:
            yield Instead(text)
            continue
        said = "\n".join(new[span[0] - 1 : span[1]])
        if said == source.quote:
            continue
        now = written(Source(From.LINES, commit, source.name, *span))
        yield Instead(text, now if len(said) <= QUOTE else "", said, blob)


def _lines(objects: Objects, commit: str, path: str) -> tuple[list[str], str]:
    """Return the lines of a committed file and its blob; nothing if it is none."""
    with suppress(GitError):
        entry = objects.path(commit, path)
        if entry is not None and not file_problem(entry):
            lines = lines_of(objects, entry.oid)
            return (lines, entry.oid) if lines is not None else ([], "")
    return [], ""


def _failed(objects: Objects, items: Mapping[str, Item]) -> Iterator[Against]:
    """Yield the items whose task, or whose cited run of a check, failed later."""
    ledger = Ledger(objects)
    for slug, item in items.items():
        if item.work:
            task = ledger.task(item.work)
            if task is not None and task.state is TaskState.FAILED:
                why = f": {clean.sentence(task.reason)}" if task.reason else "."
                sentence = f"The task {task.id} that it came from has failed since{why}"
                yield Against(slug, sentence, (task.oid,))
        for source in item.sources:
            if source.kind is From.RECEIPT:
                with suppress(GitagentError):
                    yield from _red(objects, slug, source.oid)


def _red(objects: Objects, slug: str, blob: str) -> Iterator[Against]:
    """Yield the first later run of the very check on the very tree that failed."""
    cited = record.load_receipt(objects.blob(blob))
    if cited.result is not Result.PASSED:
        return
    later = [
        (each.receipt, each.blob)
        for each in receipts.look_up(objects, cited.product)
        if each.receipt is not None and _contradicts(each.receipt, cited)
    ]
    if later:
        run, oid = min(later, key=lambda pair: (pair[0].started, pair[1]))
        sentence = (
            f"The check {clean.sentence(run.check)} that it cites failed on the same"
            f" tree at {run.started}."
        )
        yield Against(slug, sentence, (oid,))


def _contradicts(run: Receipt, cited: Receipt) -> bool:
    return run.key == cited.key and run.result in _RED and run.started > cited.started
