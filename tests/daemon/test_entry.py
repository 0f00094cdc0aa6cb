"""Ways in make the same submission, whichever of them was taken."""

from dataclasses import replace

from gitagent.core.action import Submit
from gitagent.core.progress import decide_tasks
from gitagent.core.settings import Settings
from gitagent.core.settle import submission_for
from gitagent.core.snapshot import Moment, Offer, Snapshot, Target
from gitagent.core.task import Attempt, Land, Outcome, TaskFile, TaskState
from gitagent.daemon import entry
from gitagent.git.repository import discover
from gitagent.lander import submit
from tests.support import ledger
from tests.support.cli import call

WHEN = "2026-01-01T00:00:00Z"
NOW = Moment(WHEN, "2026-01-01T00:00:00.000000Z", 0.0)


def test_a_person_hands_a_task_over_as_the_daemon_would(repo):
    call(repo, "init", "--no-check")
    repo.add_task("fix", "true", front='land = "manual"\npriority = 7')
    blob = repo.oid("HEAD:.agent/tasks/fix.md")
    tip = repo.commit({"a": "a"}, branch="agent/fix")
    attempt = Attempt(
        1,
        blob,
        repo.head(),
        WHEN,
        outcome=Outcome.OK,
        tip=tip,
        divergence="None",
        commands=("make test",),
    )
    record = ledger.task(
        repo,
        "fix",
        TaskState.SUBMITTED,
        agent="claude",
        attempt=1,
        attempts=(attempt,),
        tip=tip,
        branch="refs/heads/agent/fix",
    )
    file = TaskFile("fix", blob, "fix", "", priority=7, land=Land.AUTO)
    snapshot = Snapshot(
        Target("refs/heads/main", repo.head()),
        Settings(),
        tasks={"fix": file},
        records={"fix": record},
    )
    (decided,) = decide_tasks(snapshot, NOW)
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        entered = entry.submit_task(found, objects, record)
        again = entry.submit_task(
            found, objects, replace(record, submission=entered.submission.id)
        )

    assert isinstance(decided, Submit)
    assert decided.submission == replace(
        entered.submission, created=NOW.precise, since=NOW.stamp
    )
    assert (True, False) == (entered.new, again.new)


def test_a_person_hands_a_branch_over_as_an_offered_ref_would_be(repo):
    tip = repo.commit({"a": "a"}, branch="land/a")
    offer = Offer("refs/heads/land/a", tip, "Test Person <person@example.org>")
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        made = submit.new(objects, tip, branch="refs/heads/land/a")

    assert submission_for(offer, NOW) == replace(
        made, created=NOW.precise, since=NOW.stamp
    )
