"""Task records written, and what a person asks of a task."""

from dataclasses import replace
from typing import Literal

from gitagent.core import answering
from gitagent.core.ident import id_problem
from gitagent.core.layout import TASK_RECORDS
from gitagent.core.task import ENDED_WELL, TRANSITIONS, TaskRecord, TaskState
from gitagent.errors import LostRace, UserError
from gitagent.files import record as codec
from gitagent.git import records
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock

_TRIES = 10


def write(
    repo: Repository, old: TaskRecord | None, new: TaskRecord, message: str
) -> TaskRecord:
    """Append ``new`` to the chain that is still at ``old``; return it as stored.

    A step that the table of transitions does not have is a bug. Raises LostRace.
    """
    before = old.state if old else None
    if new.state is not before and new.state not in TRANSITIONS[before]:
        raise AssertionError(f"BUG: task {new.id} cannot go {before} -> {new.state}")
    attachments = {}
    newest = new.newest
    if newest and newest.log and not (old and old.newest == newest):
        attachments["log"] = newest.log
        if newest.transcript:
            attachments["transcript"] = newest.transcript
        if newest.proposed:
            attachments["proposed"] = newest.proposed
        for number, each in enumerate(newest.instructions, 1):
            attachments[f"instruction-{number:02}"] = each.blob
    oid = records.Records(repo).append(
        TASK_RECORDS + new.id,
        (old.oid or None) if old else None,
        codec.dump_task(new),
        what=message,
        kind="task",
        attachments=attachments,
    )
    return replace(new, oid=oid)


def read(objects: Objects, task_id: str) -> TaskRecord | None:
    """Return the record of a task, None if it has none yet."""
    if id_problem(task_id):
        return None
    oid = objects.ref(TASK_RECORDS + task_id)
    if oid is None:
        return None
    return replace(codec.load_task(records.read(objects, oid)), oid=oid)


def request(
    repo: Repository, objects: Objects, task_id: str, wish: Literal["stop", "retry"]
) -> TaskRecord:
    """Ask that a task be stopped or tried again; asking twice is no change.

    The daemon that runs, or the next one, does it. Raises UserError when there is
    nothing to stop or to try again.
    """
    for _ in range(_TRIES):
        old = read(objects, task_id)
        if old is None:
            raise UserError(
                f"task {task_id} has not been seen yet",
                "start the daemon with: gitagent up",
            )
        if old.request == wish:
            return old
        _judge(old, wish)
        new, message = replace(old, request=wish), f"a person asks: {wish}"
        if wish == "stop" and old.state is TaskState.WAITING:
            reason = "A person stopped it."
            new = replace(
                old, state=TaskState.STOPPED, reason=reason, since=clock.stamp()
            )
            message = f"stopped: {reason}"
        try:
            return write(repo, old, new, message)
        except LostRace:
            continue
    raise LostRace(f"task {task_id} changes all the time; try again")


def _judge(record: TaskRecord, wish: str) -> None:
    if wish == "stop" and record.settled:
        raise UserError(f"task {record.id} is {record.state} already")
    if wish == "retry" and record.state in ENDED_WELL:
        raise UserError(
            f"task {record.id} is {record.state}", "commit its task file again"
        )
    if wish == "retry" and record.gone:
        raise UserError(f"the file of task {record.id} was deleted", "commit it again")
    if wish == "retry" and record.state is TaskState.QUESTION:
        if not answering.asks(record):
            raise UserError(f"task {record.id} is answered, and goes on by itself")
        mend = f"answer it: {answering.command(record)}"
        raise UserError(f"task {record.id} waits for an answer", mend)
    if wish == "retry" and not record.settled:
        raise UserError(
            f"task {record.id} is {record.state}; there is nothing to retry"
        )
