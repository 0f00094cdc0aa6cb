"""The life of a task: its file, its states, its record.

A task is a committed file. Its record says how far it has come; the file says what
is wanted. Wherever the two disagree (the file was amended or deleted), the file wins.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from gitagent.core.exposure import NOTHING as NO_MEMORY
from gitagent.core.exposure import Exposure
from gitagent.core.question import Answer, Asker, Card, Question
from gitagent.core.usage import NOTHING, Usage


class TaskState(StrEnum):
    """Where a task stands; what is true in each state."""

    WAITING = "waiting"  # nothing runs; the reason says what has to happen first
    RUNNING = "running"  # an attempt was started and has not been accounted for
    QUESTION = "question"  # a person has to answer before it goes on
    SUBMITTED = "submitted"  # its work is with the lander, or waits for `land`
    LANDED = "landed"  # its work is part of the target
    DONE = "done"  # it ended well and there was nothing to land
    FAILED = "failed"  # no attempt is left
    STOPPED = "stopped"  # a person stopped it or deleted its file
    REFUSED = "refused"  # it cannot be run as it is written, or not on this machine


SETTLED = frozenset(
    {
        TaskState.LANDED,
        TaskState.DONE,
        TaskState.FAILED,
        TaskState.STOPPED,
        TaskState.REFUSED,
    }
)
ENDED_WELL = frozenset({TaskState.LANDED, TaskState.DONE})

# Asked for anew: its file was amended or came back, or a person said retry.
_ANEW = frozenset({TaskState.WAITING, TaskState.RUNNING, TaskState.REFUSED})

TRANSITIONS: dict[TaskState | None, frozenset[TaskState]] = {
    None: _ANEW,
    TaskState.WAITING: _ANEW | {TaskState.STOPPED},
    TaskState.RUNNING: frozenset(TaskState) - {TaskState.LANDED},
    TaskState.QUESTION: _ANEW | {TaskState.STOPPED},
    TaskState.SUBMITTED: _ANEW
    | {TaskState.LANDED, TaskState.FAILED, TaskState.STOPPED},
    TaskState.LANDED: _ANEW,
    TaskState.DONE: _ANEW,
    TaskState.FAILED: _ANEW | {TaskState.STOPPED},
    TaskState.STOPPED: _ANEW,
    TaskState.REFUSED: _ANEW | {TaskState.STOPPED},
}


class Land(StrEnum):
    """What happens to the work of an attempt that ended well."""

    AUTO = "auto"  # it is submitted
    MANUAL = "manual"  # it waits until a person says `gitagent land <task>`


class Outcome(StrEnum):
    """How an attempt ended."""

    OK = "ok"  # the agent ended with exit code 0
    NOTHING = "nothing"  # the agent's return says that there is nothing to do
    BLOCKED = "blocked"  # the agent's return says that it cannot go on
    FAILED = "failed"  # it ended with another exit code, or its result is unusable
    TIMEOUT = "timeout"  # it ran past its time limit
    STOPPED = "stopped"  # a person stopped it
    AMENDED = "amended"  # its task file changed while it ran
    QUESTION = "question"  # it has to be told something, or may spend no more
    INTERRUPTED = "interrupted"  # the daemon went away; costs no retry
    CLAIMED = "claimed"  # another daemon has claimed the task; costs no retry
    REFUSED = "refused"  # it could not be started on this machine


@dataclass(frozen=True, slots=True)
class TaskFile:
    """What a task file asks for. One value per (id, blob); never changes."""

    id: str  # the file's stem; see ident.id_problem
    blob: str  # object id of the file's content
    title: str  # front matter, else first heading, else the id
    text: str  # the body after the front matter, as written
    scripts: tuple[str, ...] = ()  # its fenced sh blocks, in order
    agent: str | None = None  # name of an agent definition; None: worker.agent
    kind: str | None = None
    priority: int = 0  # higher first
    after: tuple[str, ...] = ()  # ids that must have landed or be done
    paths: tuple[str, ...] = ()  # globs its result may touch; empty: all
    forbidden: tuple[str, ...] = ()  # globs its result may not touch
    accept: tuple[str, ...] = ()  # commands that must pass on the result
    timeout: int | None = None  # seconds; None: worker.timeout
    retries: int | None = None  # attempts after the first; None: worker.retries
    land: Land = Land.AUTO
    budget: tuple[tuple[str, float], ...] = ()  # (unit, limit) pairs


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that cannot be used, and why; it harms nothing else."""

    path: str
    reason: str  # one line: what, where (line), and the mend


@dataclass(frozen=True, slots=True)
class Instruction:
    """A text that an agent was given beyond its task."""

    path: str  # for people: where it is from
    blob: str  # object id of its content


@dataclass(frozen=True, slots=True)
class Attempt:
    """One go of a worker at a task."""

    number: int  # from 1, never used twice for one task
    blob: str  # the task blob that it read
    base: str  # commit its worktree started from
    started: str  # UTC, ISO 8601 with Z
    target: str = ""  # commit of the target then; "": an older release made it
    boot: str = ""  # boot id of the machine that ran it
    pid: int = 0  # outermost process; 0 until it is known
    ticks: int = 0  # start time of that process in clock ticks since boot
    ended: str = ""  # UTC; empty while it runs
    outcome: Outcome | None = None  # None while it runs
    exit_code: int | None = None  # of the agent; None if it was never reaped
    tip: str = ""  # harvested commit; empty if nothing was harvested
    reason: str = ""  # a sentence; empty if it ended well
    log: str = ""  # blob of its whole output, up to a limit; empty while it runs
    summary: str = ""  # from the agent's return, as are the next two
    divergence: str = ""  # what it did other than it was asked; "" if it did not say
    commands: tuple[str, ...] = ()  # commands it claims to have run; run again
    model: str = ""  # "provider:model" that it was to talk to; "": none
    program: str = ""  # version of the agent's program, as it says itself
    session: str = ""  # name of the agent's saved conversation; "": it has none
    resumed: bool = False  # whether it went on from a saved conversation
    answer: str = ""  # the agent's last words, up to a limit; a claim
    usage: Usage = NOTHING  # of models, as their providers count
    transcript: str = ""  # blob of what it did, a JSON object a line; "": none
    instructions: tuple[Instruction, ...] = ()  # in the order that it was given them
    questions: tuple[Question, ...] = ()  # that it ended with
    untrusted: tuple[str, ...] = ()  # origins of others' words that it went on from
    memory: Exposure = NO_MEMORY  # what of it the attempt was given
    proposed: str = (
        ""  # blob of the operations on the memory that it asks for; "": none
    )


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How an attempt ended, as the worker reports it to the loop."""

    task: str
    attempt: Attempt  # with ended, outcome, tip and reason filled in
    start: str  # commit the attempt's work began from
    changed: bool  # whether its tip is something the target does not have
    output: str = ""  # tail of its output, for the next attempt
    asker: Asker = Asker.AGENT  # of the attempt's questions


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """How far a task has come: the newest commit of ``refs/gitagent/tasks/<id>``."""

    id: str
    state: TaskState
    blob: str  # the task blob that this state is about
    since: str  # UTC; when the state was entered
    title: str = ""
    agent: str = ""
    reason: str | None = None  # a full sentence that names who owes what
    attempt: int = 0  # number of the newest attempt; 0: none yet
    failures: int = 0  # attempts of this blob that cost a retry
    attempts: tuple[Attempt, ...] = ()  # oldest first
    branch: str | None = None  # full ref that holds the work; None: no work yet
    tip: str | None = None  # newest harvested commit
    submission: str | None = None  # id of the newest submission
    feedback: str = ""  # failing output that the next attempt is given
    request: str | None = None  # "stop", "retry" or "answer", and not yet done
    card: Card | None = None  # what it asks; None unless it is in `question`
    answers: tuple[Answer, ...] = ()  # to its questions so far, oldest first
    extra_usd: float = 0.0  # that people added to its budget
    extra_tokens: int = 0
    answer_blob: str = ""  # of the committed answer file that was taken last
    claim: str | None = None  # object id of the claim pushed to the remote
    oid: str = field(default="", compare=False)  # record commit this was read from

    @property
    def settled(self) -> bool:
        """Whether nothing more happens unless somebody asks."""
        return self.state in SETTLED

    @property
    def gone(self) -> bool:
        """Whether its file was deleted, so that there is nothing to try again."""
        return not self.blob

    @property
    def newest(self) -> Attempt | None:
        """The newest attempt, or None before the first."""
        return self.attempts[-1] if self.attempts else None

    @property
    def usage(self) -> Usage:
        """What its attempts have used of models."""
        return sum((each.usage for each in self.attempts), NOTHING)
