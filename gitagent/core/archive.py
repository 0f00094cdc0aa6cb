"""Which settled records are old enough to leave the refs that every read lists."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gitagent.core.action import Archive
from gitagent.core.distil import landing_of
from gitagent.core.layout import (
    APPROVALS,
    CONVERSATIONS,
    EXCHANGES,
    SUBMISSIONS,
    TASK_RECORDS,
)
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Push
from gitagent.core.tending import owed

_BATCH = 500  # refs moved by one action


def decide_archive(snapshot: Snapshot, now: Moment) -> Iterator[Archive]:
    """Yield what moves to the archive.

    A record stays while something could still ask for it: a task's file, a ref that
    offers the object, a push under way, a ruling that is owed, the landing that a task
    has looked at.
    """
    if snapshot.settings is None:
        return
    keep = timedelta(seconds=snapshot.settings.records.keep)
    before = datetime.fromisoformat(now.stamp) - keep
    offered = {offer.tip for offer in snapshot.offers}
    asked = {each.record.id for each in owed(snapshot)}
    old: dict[str, list[tuple[str, str]]] = {}
    for task in snapshot.records.values():
        if (
            task.settled
            and task.id not in snapshot.tasks
            and task.id not in asked
            and landing_of(task.id) not in snapshot.submissions
            and _older(task.since, before)
        ):
            going = old.setdefault(task.since[:7], [])
            # First: where an action is cut short, they are found by their task.
            if said := snapshot.exchanges.get(task.id):
                going.append((EXCHANGES + task.id, said))
            if talk := snapshot.conversations.get(task.id):
                going.append((CONVERSATIONS + task.id, talk))
            going.append((TASK_RECORDS + task.id, task.oid))
    for submission in snapshot.submissions.values():
        if (
            submission.settled
            and submission.tip not in offered
            and submission.push in {None, Push.PUSHED}
            and _older(submission.since, before)
        ):
            ref = SUBMISSIONS + submission.id
            old.setdefault(submission.since[:7], []).append((ref, submission.oid))
            if approval := snapshot.approvals.get(submission.id):
                word = (APPROVALS + submission.id, approval.oid)
                old[submission.since[:7]].append(word)
    for month, refs in sorted(old.items()):
        yield Archive(month, tuple(refs[:_BATCH]))


def _older(stamp: str, before: datetime) -> bool:
    return datetime.fromisoformat(stamp) < before
