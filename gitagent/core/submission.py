"""The life of a submission: a request to land one tip.

A submission pins an object id, not a branch. Once settled it never changes again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class SubmissionState(StrEnum):
    """Where a submission stands; what is true in each state."""

    QUEUED = "queued"  # it waits for its turn
    CHECKING = "checking"  # its candidate is being made, checked or landed
    HELD = "held"  # something of a person's is in the way; the reason says what
    LANDED = "landed"  # its landing commit is an ancestor of the target
    REJECTED = "rejected"  # the answer is no; the reason and the output say why
    WITHDRAWN = "withdrawn"  # its submitter took it back, or amended its task


SETTLED = frozenset(
    {SubmissionState.LANDED, SubmissionState.REJECTED, SubmissionState.WITHDRAWN}
)

_OPEN = frozenset(SubmissionState)

TRANSITIONS: dict[SubmissionState | None, frozenset[SubmissionState]] = {
    None: frozenset({SubmissionState.QUEUED}),
    SubmissionState.QUEUED: _OPEN,
    SubmissionState.CHECKING: _OPEN,
    SubmissionState.HELD: _OPEN,
    SubmissionState.LANDED: frozenset(),
    SubmissionState.REJECTED: frozenset(),
    SubmissionState.WITHDRAWN: frozenset(),
}


class Push(StrEnum):
    """How far the landing got on its way to ``lander.push``."""

    PENDING = "pending"
    PUSHED = "pushed"
    FAILED = "failed"  # it is tried again; the landing stands


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One check of a submission as people see it."""

    name: str
    state: str  # waiting, running, passed, flaky, failed
    seconds: float | None = None  # of the run that decided; None: has not ended
    receipt: str | None = None  # "<ref>:<path>" of the receipt that decided


@dataclass(frozen=True, slots=True)
class Submission:
    """The newest commit of ``refs/gitagent/submissions/<id>``."""

    id: str
    tip: str  # commit that was submitted; pinned by the record
    state: SubmissionState
    created: str  # UTC with microseconds; the order of the queue
    since: str  # UTC; when the state was entered
    branch: str | None = None  # full ref it came from, or None
    task: str | None = None
    closes: str | None = None  # open task that a person's work is for
    task_blob: str | None = None  # the task file that the attempt read
    request_id: str | None = None
    divergence: str | None = None  # the submitter's own statement
    commands: tuple[str, ...] = ()  # commands the worker claims pass; run again
    submitter: str = ""  # "Name <email>"
    priority: int = 0  # higher first
    reason: str | None = None  # a full sentence that names who owes what
    base: str | None = None  # target commit of the newest candidate
    candidate: str | None = None  # candidate commit under check
    commit: str | None = None  # landing commit; recorded before the swap
    config: str | None = None  # blob of the settings used
    checks: tuple[CheckLine, ...] = ()
    needs: tuple[str, ...] = ()  # submissions that it stood on in the queue
    output: str = ""  # failing output, trimmed for people
    remembers: bool = False  # its commit is the memory executor's
    push: Push | None = None  # None: nothing to push
    oid: str = field(default="", compare=False)  # record commit this was read from

    @property
    def ends(self) -> str | None:
        """The task that is done when this lands: a worker's own, or what it closes."""
        return self.task or self.closes

    @property
    def settled(self) -> bool:
        """Whether the outcome is final."""
        return self.state in SETTLED


def in_order(submissions: Iterable[Submission]) -> list[Submission]:
    """Return the open ones of these in the order in which they may land.

    That is by priority and age, but each after those that it stands on.
    """
    pending = (s for s in submissions if not s.settled)
    by_age = sorted(pending, key=lambda s: (-s.priority, s.created, s.id))
    waiting = {s.id: s for s in by_age}
    placed: dict[str, Submission] = {}
    for each in by_age:
        todo = [each]
        while todo:
            top = todo.pop()
            lower = [waiting[n] for n in top.needs if n in waiting and n not in placed]
            if lower:
                todo += [top, lower[0]]
            else:
                placed[top.id] = top
    return list(placed.values())
