"""What ``decide`` can ask for. Each is enacted with compare-and-swap."""

from dataclasses import dataclass

from gitagent.core.agent import Agent
from gitagent.core.approval import Approval
from gitagent.core.candidate import Candidate
from gitagent.core.settings import Check
from gitagent.core.submission import Submission
from gitagent.core.task import Outcome, TaskFile, TaskRecord


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Append ``new`` to the chain of a task whose record is still ``old``."""

    old: TaskRecord | None
    new: TaskRecord
    message: str  # what happened, in words


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Record ``new`` (state running), then start a worker."""

    old: TaskRecord | None
    new: TaskRecord
    task: TaskFile
    agent: Agent
    message: str


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """Stop a live worker; its result arrives with this outcome."""

    task: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class RecoverAttempt:
    """Find what an attempt of an earlier daemon left behind, and account for it."""

    record: TaskRecord


@dataclass(frozen=True, slots=True)
class Submit:
    """Create a submission; creating it again is no change."""

    submission: Submission


@dataclass(frozen=True, slots=True)
class WriteSubmission:
    """Append ``new`` to the chain of a submission whose record is still ``old``."""

    old: Submission
    new: Submission
    message: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make the candidates of these lines, each with all that it begins with.

    Each line is merged onto the target commit ``base``; an empty one is that alone.
    """

    base: str
    lines: tuple[tuple[Submission, ...], ...]


@dataclass(frozen=True, slots=True)
class StartRun:
    """Run one check on one candidate."""

    submissions: tuple[str, ...]  # in the candidate, in order
    candidate: Candidate
    check: Check
    key: str
    run: int


@dataclass(frozen=True, slots=True)
class StopRuns:
    """Stop runs by key and number; a stopped run leaves no receipt."""

    runs: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class LandStep:
    """One submission of a landing."""

    submission: Submission  # with the verdicts of its checks
    candidate: Candidate  # that it is the last step of
    record: TaskRecord | None  # of the task whose file moves to done/
    checked: str  # product tree whose receipts vouch for it
    approval: Approval | None = None  # that it needed, or that is there anyway


@dataclass(frozen=True, slots=True)
class Land:
    """Build one landing commit a step, record them, and advance the target once."""

    steps: tuple[LandStep, ...]  # candidates on one base, each one tip more


@dataclass(frozen=True, slots=True)
class Look:
    """See whether what was in the way of a submission still is."""

    submission: Submission


@dataclass(frozen=True, slots=True)
class DropRef:
    """Delete a ref that offered what has landed, if it still holds that object."""

    ref: str
    tip: str


@dataclass(frozen=True, slots=True)
class MoveDone:
    """Move the file of a task that is done, and had nothing to land, to done/."""

    record: TaskRecord


@dataclass(frozen=True, slots=True)
class AddTask:
    """Commit the file of the task that says what a landing teaches."""

    submission: Submission  # that has landed
    agent: str  # that does it


@dataclass(frozen=True, slots=True)
class Remember:
    """Rule in a thread on what attempts of a task have proposed for the memory."""

    record: TaskRecord
    after: int  # number of the attempt up to which another ruling reaches; 0: none does
    upto: int  # number of the attempt up to which this one does
    dropped: str = ""  # why none of it is admitted, whatever it is; "": it is examined


@dataclass(frozen=True, slots=True)
class PushTarget:
    """Push the target to ``lander.push``."""

    submissions: tuple[Submission, ...]


@dataclass(frozen=True, slots=True)
class Archive:
    """Move settled records to ``refs/gitagent/archive/<yyyy-mm>``."""

    month: str
    refs: tuple[tuple[str, str], ...]  # (ref, record commit)


Action = (
    WriteTask
    | StartAttempt
    | StopAttempt
    | RecoverAttempt
    | Submit
    | WriteSubmission
    | Prepare
    | StartRun
    | StopRuns
    | Land
    | Look
    | DropRef
    | MoveDone
    | AddTask
    | Remember
    | PushTarget
    | Archive
)


def told(state: str, reason: str | None) -> str:
    """Return what a change of state says; it begins with the state, in lower case."""
    if reason and reason.lower().startswith(f"{state} "):
        return reason[0].lower() + reason[1:]
    return f"{state}: {reason}" if reason else str(state)
