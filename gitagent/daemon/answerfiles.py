"""The answer files of the target that matter: those of tasks that run or ask.

Others are passed over, so that one left behind costs nothing and is nobody's trouble.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gitagent.core.layout import ANSWERS
from gitagent.core.question import AnswerFile
from gitagent.core.task import Refusal, TaskRecord, TaskState
from gitagent.daemon.committed import unreadable
from gitagent.git.objects import Objects

LOOKED_BACK: Final = 200  # commits in which the one who wrote a file is looked for

Memo = dict[tuple[str, str], AnswerFile | Refusal]  # by path and blob


def read(
    objects: Objects, commit: str, tasks: Iterable[TaskRecord], memo: Memo
) -> tuple[dict[str, AnswerFile], list[Refusal]]:
    """Return the answer files by task, and those that cannot be used."""
    files: dict[str, AnswerFile] = {}
    refused: list[Refusal] = []
    for record in tasks:
        if record.state not in {TaskState.RUNNING, TaskState.QUESTION}:
            continue
        found = _file(objects, commit, record, memo)
        if isinstance(found, AnswerFile):
            files[record.id] = found
        elif found is not None:
            refused.append(found)
    return files, refused


def _file(
    objects: Objects, commit: str, record: TaskRecord, memo: Memo
) -> AnswerFile | Refusal | None:
    path = f"{ANSWERS}{record.id}.md"
    entry = objects.path(commit, path)
    if entry is None:
        return None
    key = (path, entry.oid)
    found = memo.get(key) or unreadable(objects, path, entry)
    if found is None:
        # Loading the reader costs a command more than reading all that it shows.
        from gitagent.files import answerfile  # noqa: PLC0415

        found = answerfile.parse(record.id, entry.oid, objects.blob(entry.oid), path)
    fresh = record.state is TaskState.QUESTION and entry.oid != record.answer_blob
    if isinstance(found, AnswerFile) and fresh and not found.by:
        found = replace(found, by=_author(objects, commit, path, entry.oid))
    memo[key] = found
    return found


def _author(objects: Objects, commit: str, path: str, blob: str) -> str:
    """Return who brought a file's content to the target; empty if it is long ago."""
    newest = objects.commit(commit)
    for _ in range(LOOKED_BACK):
        before = newest.parents[0] if newest.parents else None
        entry = None if before is None else objects.path(before, path)
        if before is None or entry is None or entry.oid != blob:
            return newest.author.ident
        newest = objects.commit(before)
    return ""
