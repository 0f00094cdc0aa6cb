"""Records written without a daemon, as one would have written them."""

from dataclasses import replace
from typing import Any

from gitagent.core.receipt import Receipt, Result
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord, TaskState
from gitagent.daemon import tasks
from gitagent.git.repository import discover
from gitagent.host.clock import stamp
from gitagent.lander import receipts, submit
from tests.support.repos import Repo


def submission(repo: Repo, tip: str, **fields: Any) -> Submission:
    """Record a new submission of ``tip``."""
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        made = replace(submit.new(objects, tip), **fields)
        return submit.create(found, objects, made)


def moved(
    repo: Repo, old: Submission, state: SubmissionState, **fields: Any
) -> Submission:
    """Record the next step of a submission."""
    new = replace(old, state=state, since=stamp(), **fields)
    reason = f"{state}: {new.reason}" if new.reason else str(state)
    return submit.write(discover(repo.path), old, new, reason)


def replaced(record: TaskRecord, **fields: Any) -> TaskRecord:
    """Return the record with other values."""
    return replace(record, **fields)


def task(repo: Repo, name: str, state: TaskState, **fields: Any) -> TaskRecord:
    """Record a task in a state, with the blob of its committed file if it has one."""
    blob = repo.ref(f"HEAD:.agent/tasks/{name}.md") or "0" * 40
    defaults = {"blob": blob, "since": stamp(), "title": name}
    new = TaskRecord(id=name, state=state, **(defaults | fields))
    message = f"{state}: {new.reason}" if new.reason else str(state)
    found = discover(repo.path)
    old = None
    if state not in {TaskState.WAITING, TaskState.REFUSED, TaskState.STOPPED}:
        old = tasks.write(
            found, None, replace(new, state=TaskState.RUNNING), "attempt 1 starts"
        )
        if state is TaskState.RUNNING:
            return old
        if state is TaskState.LANDED:
            old = tasks.write(
                found, old, replace(new, state=TaskState.SUBMITTED), "submitted"
            )
    return tasks.write(found, old, new, message)


def receipt(repo: Repo, output: bytes, **fields: Any) -> Receipt:
    """Store a receipt of a run on the product tree of HEAD."""
    defaults: dict[str, Any] = {
        "check": "tests",
        "key": "0123456789abcdef",
        "product": repo.oid("HEAD^{tree}"),
        "run": 1,
        "command": "make test",
        "result": Result.PASSED,
        "exit_code": 0,
        "seconds": 1.5,
        "started": stamp(),
        "sandbox": "required",
        "environment": "e",
        "output": "",
    }
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        return receipts.store(found, objects, Receipt(**(defaults | fields)), output)
