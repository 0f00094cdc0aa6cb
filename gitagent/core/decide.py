"""The decision: a snapshot and a time in, actions out."""

from gitagent.core.action import Action
from gitagent.core.progress import decide_tasks
from gitagent.core.queue import decide_submissions
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.tending import decide_memory


def decide(snapshot: Snapshot, now: Moment) -> list[Action]:
    """Return everything that can be done now, in order.

    Submissions come first, so that a landing is recorded before the task behind it is
    looked at. Each action is enacted with compare-and-swap; after a lost race the rest
    is dropped and everything is read again.
    """
    return [
        *decide_submissions(snapshot, now),
        *decide_tasks(snapshot, now),
        *decide_memory(snapshot, now),
    ]
