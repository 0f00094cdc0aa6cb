"""Tasks on record that were given memory, and what they came to by receipts."""

from typing import Any

from gitagent.core.action import Archive
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.ident import submission_id
from gitagent.core.layout import SUBMISSIONS, TASK_RECORDS
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState
from gitagent.daemon import archive
from gitagent.git.repository import discover
from gitagent.host.clock import stamp
from tests.support import ledger
from tests.support.repos import Repo

BLOB = "a" * 40


def given(repo: Repo, slug: str, way: Way = Way.BRIEF) -> Received:
    """Return that an item was given as it is on the target."""
    return Received(slug, repo.oid(f"main:.agent/memory/{slug}.md"), way)


def attempt(repo: Repo, memory: Exposure, tip: str = "", **fields: Any) -> Attempt:
    """Return an attempt that has ended, well if it has a tip."""
    usual = {
        "number": 1,
        "blob": BLOB,
        "base": repo.oid("main"),
        "started": stamp(),
        "target": repo.oid("main"),
        "ended": stamp(),
        "outcome": Outcome.OK if tip else Outcome.FAILED,
        "tip": tip,
        "memory": memory,
    }
    return Attempt(**(usual | fields))


def failed(repo: Repo, name: str, memory: Exposure) -> TaskRecord:
    """Record a task whose one attempt failed."""
    made = (attempt(repo, memory),)
    return ledger.task(repo, name, TaskState.FAILED, blob=BLOB, attempts=made)


def landed(
    repo: Repo, name: str, memory: Exposure, *, receipt: str | None = None
) -> Submission:
    """Land the work of a task, with a receipt of its check or another that is cited."""
    started = stamp()
    repo.commit({f"{name}.txt": name}, f"Do {name}")
    tip = repo.oid("main")
    place = receipt or ledger.receipt(repo, b"well\n").place
    new = ledger.submission(repo, tip, id=submission_id(tip, name, BLOB), task=name)
    lines = (CheckLine("tests", "passed", 1.5, place),)
    done = ledger.moved(repo, new, SubmissionState.LANDED, commit=tip, checks=lines)
    ledger.task(
        repo,
        name,
        TaskState.LANDED,
        blob=BLOB,
        attempts=(attempt(repo, memory, tip, started=started),),
        submission=done.id,
    )
    return done


def archived(repo: Repo, task: str, submission: str) -> None:
    """Move a task and its submission to the archive."""
    refs = [TASK_RECORDS + task, SUBMISSIONS + submission]
    found = discover(repo.path)
    with found.objects() as objects:
        moved = tuple((ref, repo.oid(ref)) for ref in refs)
        archive.enact(found, objects, Archive("2026-11", moved))
