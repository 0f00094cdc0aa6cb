"""Commits on the target that move or add a task's file and nothing else."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gitagent.core.ident import id_problem
from gitagent.core.layout import DONE, TASKS
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Moment
from gitagent.core.task import TaskRecord
from gitagent.errors import Busy, LostRace, UserError
from gitagent.files.message import record_message
from gitagent.git.advance import Blocked, advance
from gitagent.git.objects import BLOB, Objects
from gitagent.git.repository import Repository
from gitagent.git.text import Person, person
from gitagent.git.tree import edit
from gitagent.host import clock
from gitagent.lander.compose import moved
from gitagent.lander.landing import committer

_TRIES: Final = 100  # commits of others on the target that may come first
_PATIENCE_S: Final = 5.0  # with a lock that others hold
_PAUSE_S: Final = 0.1
_Edit = dict[str, tuple[int, str] | None]


@dataclass(frozen=True, slots=True)
class Held:
    """Something of a person's is in the way; nothing was changed."""

    reason: str  # a sentence that says what, with the paths


def move_done(
    repo: Repository,
    objects: Objects,
    record: TaskRecord,
    settings: Settings,
    moment: Moment,
) -> str | Held | None:
    """Move the file of a task that is done to ``done/``; return the commit.

    None if the file is not there, or no longer the one that the record is about.

    Raises:
        LostRace: the target moved meanwhile.
        Busy: the target, or the index of its checkout, is locked.
    """
    ref = settings.target_ref
    old = objects.ref(ref)
    if old is None:
        return None
    file = objects.path(old, f"{TASKS}{record.id}.md")
    if file is None or file.oid != record.blob:
        return None
    who = committer(repo, settings, datetime.fromisoformat(moment.stamp))
    message = record_message(f"{record.id} is done: nothing to land", "done")
    edits = moved(objects, objects.commit(old).tree, record.id)
    new = _commit(objects, old, edits, message, who)
    result = advance(repo, ref, old, new, f"gitagent: done {record.id}")
    return Held(result.reason) if isinstance(result, Blocked) else new


def add_task(
    repo: Repository,
    objects: Objects,
    target_ref: str,
    task: str,
    data: bytes,
    author: str,
    *,
    patience_s: float = _PATIENCE_S,
) -> str:
    """Commit the file of a new task on the target; return the commit.

    ``author`` is the person, ``Name <email>``. What else they have in their checkout
    stays as it is. A lock is waited for as long as ``patience_s``.

    Raises:
        UserError: the id cannot be one or is taken, there is no target, or something
            in the checkout is in the way.
        Busy: the target, or the index of its checkout, is locked.
    """
    if problem := id_problem(task):
        raise UserError(f'"{task}" cannot be a task\'s id: {problem}')
    blob = objects.write_blob(data)
    until = clock.monotonic() + patience_s
    for _ in range(_TRIES):
        old = _free(objects, target_ref, task)
        who = person(author, clock.now())
        edits: _Edit = {f"{TASKS}{task}.md": (BLOB, blob)}
        new = _commit(
            objects, old, edits, record_message(f"Add task {task}", "task-add"), who
        )
        try:
            result = advance(repo, target_ref, old, new, f"gitagent: add task {task}")
        except LostRace:
            continue
        except Busy:
            # Most often the daemon lands something just then.
            if clock.monotonic() > until:
                raise
            clock.sleep(_PAUSE_S)
            continue
        if isinstance(result, Blocked):
            raise UserError(result.reason)
        return new
    raise LostRace(f"{target_ref} moves all the time")


def _free(objects: Objects, target_ref: str, task: str) -> str:
    """Return the target's commit if it has no such task, open or ended."""
    old = objects.ref(target_ref)
    if old is None:
        raise UserError(f"{target_ref} has no commits yet", "make a first commit")
    for path in (f"{TASKS}{task}.md", f"{DONE}{task}.md"):
        if objects.path(old, path) is not None:
            raise UserError(f"{path} exists already", "choose another id")
    return old


def _commit(objects: Objects, old: str, edits: _Edit, message: str, who: Person) -> str:
    tree = edit(objects, objects.commit(old).tree, edits)
    return objects.write_commit(tree, (old,), message, who, who)
