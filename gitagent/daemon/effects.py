"""What the records, archived ones too, say of whether memory helps."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from gitagent.core.layout import ARCHIVE, MEMORY, SUBMISSIONS, TASK_RECORDS
from gitagent.core.outcomes import Rows, rows
from gitagent.core.receipt import Result
from gitagent.core.reviewing import Against
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord
from gitagent.core.uplift import hurting
from gitagent.errors import GitError, UserError
from gitagent.files import record
from gitagent.git import items, records
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects


def read(objects: Objects) -> Rows:
    """Return a row for each task whose coin was tossed and which has ended."""
    tasks, submissions = every_record(objects)
    targets = {
        attempt.target
        for task in tasks
        for attempt in task.attempts
        if attempt.memory.rate > 0
    }
    return rows(
        tasks, submissions, _sound(objects, submissions), _counted(objects, targets)
    )


def harmful(objects: Objects) -> tuple[Against, ...]:
    """Return the items that the outcomes speak against, for the memory's review."""
    return tuple(
        Against(each.slug, each.sentence, each.evidence, (each.kind,))
        for each in hurting(read(objects).rows)
    )


def every_record(objects: Objects) -> tuple[list[TaskRecord], list[Submission]]:
    """Return all tasks and submissions that can be read, the archived ones too.

    Of one that is there and in the archive, it is the one that is there.
    """
    archived = Archived().refs(objects, objects.refs(ARCHIVE))
    tasks, submissions = [], []
    for prefix in (TASK_RECORDS, SUBMISSIONS):
        tips = {ref: oid for ref, oid in archived.items() if ref.startswith(prefix)}
        tips |= objects.refs(prefix)
        for ref, data in records.read_all(objects, tips).items():
            with suppress(UserError):
                if isinstance(data, UserError):
                    raise data
                if prefix == TASK_RECORDS:
                    task = record.load_task(data)
                    tasks.append(replace(task, oid=tips[ref]))
                else:
                    submission = record.load_submission(data)
                    submissions.append(replace(submission, oid=tips[ref]))
    return tasks, submissions


def _sound(objects: Objects, submissions: Iterable[Submission]) -> frozenset[str]:
    """Return those of the cited receipts that are there and say that it passed."""
    places = {
        line.receipt
        for each in submissions
        if each.state is SubmissionState.LANDED and each.task is not None
        for line in each.checks
        if line.receipt
    }
    split = {place: place.partition(":") for place in places}
    tips = {ref: objects.ref(ref) for ref in {ref for ref, _, _ in split.values()}}
    asked = [
        (place, tip, path)
        for place, (ref, _, path) in split.items()
        if (tip := tips[ref]) is not None
    ]
    found = objects.blobs_at((tip, path) for _, tip, path in asked)
    return frozenset(
        place
        for (place, _, _), data in zip(asked, found, strict=True)
        if data is not None and _passed(data)
    )


def _passed(data: bytes) -> bool:
    with suppress(UserError):
        return record.load_receipt(data).result is Result.PASSED
    return False


def _counted(objects: Objects, commits: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the slugs of the items that counted, by commit of the target."""
    by_tree: dict[str, frozenset[str]] = {}
    found = {}
    for commit in commits:
        with suppress(GitError):
            entry = objects.path(commit, MEMORY.rstrip("/")) if commit else None
            if entry is None:
                continue
            if entry.oid not in by_tree:
                by_tree[entry.oid] = frozenset(
                    slug
                    for slug, blob in items.files(objects, commit)
                    if items.counts(objects, slug, blob)
                )
            found[commit] = by_tree[entry.oid]
    return found
