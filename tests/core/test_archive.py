"""Which records are old enough for the archive, and what goes along."""

from gitagent.core.approval import Approval
from gitagent.core.archive import decide_archive
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Moment, Snapshot, Target
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord, TaskState

OLD, NEW = "2026-09-30T12:00:00Z", "2026-11-30T12:00:00Z"
NOW = Moment(NEW, NEW, 0.0)
STATE = SubmissionState


def archived(*submissions: Submission, approved: str = "") -> dict[str, str]:
    approval = Approval(approved, "tip", (), "Boss <b@x>", OLD, oid="word")
    snapshot = Snapshot(
        target=Target("refs/heads/main", "c"),
        settings=Settings(),
        submissions={each.id: each for each in submissions},
        approvals={approved: approval} if approved else {},
    )
    return {
        ref: oid for each in decide_archive(snapshot, NOW) for ref, oid in each.refs
    }


def test_what_settled_long_ago_goes_and_the_rest_stays():
    old = Submission("s-1", "tip", STATE.LANDED, OLD, OLD, oid="one")
    new = Submission("s-2", "tip2", STATE.LANDED, OLD, NEW, oid="two")
    waiting = Submission("s-3", "tip3", STATE.HELD, OLD, OLD, oid="three")

    assert {"refs/gitagent/submissions/s-1": "one"} == archived(old, new, waiting)


def test_what_was_said_in_a_task_goes_with_it():
    old = TaskRecord("old", TaskState.FAILED, "b", OLD, oid="one")
    new = TaskRecord("new", TaskState.FAILED, "b", NEW, oid="two")
    silent = TaskRecord("silent", TaskState.DONE, "b", OLD, oid="three")
    snapshot = Snapshot(
        target=Target("refs/heads/main", "c"),
        settings=Settings(),
        records={each.id: each for each in (old, new, silent)},
        exchanges={"old": "said", "new": "said too"},
        conversations={"old": "talk", "_chat": "chat"},
    )
    found = [ref for each in decide_archive(snapshot, NOW) for ref in each.refs]

    assert [
        ("refs/gitagent/exchanges/old", "said"),
        ("refs/gitagent/conversations/old", "talk"),
        ("refs/gitagent/tasks/old", "one"),
        ("refs/gitagent/tasks/silent", "three"),
    ] == found


def test_an_approval_goes_with_its_submission():
    old = Submission("s-1", "tip", STATE.REJECTED, OLD, OLD, oid="one")
    held = Submission("s-2", "tip", STATE.HELD, OLD, OLD, oid="two")

    assert {
        "refs/gitagent/submissions/s-1": "one",
        "refs/gitagent/approvals/s-1": "word",
    } == archived(old, approved="s-1")
    assert {} == archived(held, approved="s-2")
