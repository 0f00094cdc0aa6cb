"""Which tasks a submission starts, with which agent and budget."""

from collections.abc import Iterable

from gitagent.core.candidate import PathChange, Started
from gitagent.core.layout import TASKS
from gitagent.core.task import Refusal
from gitagent.files import taskfile
from gitagent.files.text import FILE_LIMIT
from gitagent.git.objects import BLOB, Objects


def started(objects: Objects, changes: Iterable[PathChange]) -> tuple[Started, ...]:
    """Return the task files that are new or changed, but for those of no use."""
    found = []
    for change in changes:
        folder, _, name = change.path.rpartition("/")
        if f"{folder}/" != TASKS or change.new_mode != BLOB:
            continue
        if objects.size(change.new_blob) > FILE_LIMIT:
            continue
        data = objects.blob(change.new_blob)
        stem = name.removesuffix(".md")
        task = taskfile.parse(stem, change.new_blob, data, change.path)
        if not isinstance(task, Refusal):
            text = data.decode(errors="surrogateescape")
            found.append(Started(change.path, task.agent, task.budget, text))
    return tuple(found)
