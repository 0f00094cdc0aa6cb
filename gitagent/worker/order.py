"""What an attempt is asked to do, how it is told to stop, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gitagent.core.agent import Agent
from gitagent.core.budget import Need
from gitagent.core.ending import worker_identity
from gitagent.core.exposure import Delivery
from gitagent.core.question import Answer, Asker, Question
from gitagent.core.settings import SandboxMode, Settings
from gitagent.core.task import Attempt, Outcome, TaskFile
from gitagent.git.repository import Repository
from gitagent.host.engine import Engine
from gitagent.host.process import Cancel
from gitagent.worker.models import Models


class Stop(Cancel):
    """Tells a running attempt to end, and with which outcome; the first counts."""

    def __init__(self) -> None:
        super().__init__()
        self.outcome: Outcome | None = None

    def order(self, outcome: Outcome) -> None:
        """Stop the attempt; what it has done so far is kept all the same."""
        if self.outcome is None:
            self.outcome = outcome
        self.set()


class Teacher(Protocol):
    """What tells attempts what earlier work has shown; for any thread, never raises.

    An agent is known by the name of its task, or of its chat with ``_`` in front.
    """

    def begin(
        self, task: TaskFile, agent: Agent, attempt: Attempt, target: str
    ) -> Delivery:
        """Return what an attempt is told at its start; ``target`` is a commit."""

    def asked(
        self, name: str, agent: Agent, op: str, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the answer to what an agent asks while it works.

        ``{"error": sentence}`` where there is none.
        """


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt at one task."""

    repo: Repository
    engine: Engine
    settings: Settings
    task: TaskFile
    agent: Agent
    attempt: Attempt  # number, blob, base, started and boot are known
    branch: str  # full ref that keeps the work
    target_ref: str  # full ref
    target: str  # commit of the target
    feedback: str = ""  # failing output of the attempt before; "": none
    tip: str | None = None  # newest harvested commit of the task
    answers: tuple[Answer, ...] = ()  # to the task's questions, oldest first
    before: Attempt | None = None  # the attempt before this one; None: it is the first
    extra: Need = field(default_factory=Need)  # that people added to the task's budget
    models: Models | None = None  # the ways to models; None: there are none here
    teacher: Teacher | None = None  # None: nothing is remembered here

    @property
    def confined(self) -> bool:
        """Whether a worker runs in a sandbox."""
        return self.settings.sandbox.mode is SandboxMode.REQUIRED

    @property
    def network(self) -> tuple[str, ...]:
        """The hosts that the agent may reach, as ``host:port``."""
        both = (*self.settings.sandbox.network, *self.agent.network)
        return tuple(dict.fromkeys(both))

    @property
    def timeout_s(self) -> int:
        """The time limit of the agent."""
        return self.task.timeout or self.settings.worker.timeout

    @property
    def identity(self) -> tuple[str, str]:
        """Name and address that the agent commits under."""
        name, _, email = worker_identity(self.agent.name).partition(" <")
        return name, email.rstrip(">")

    @property
    def local_branch(self) -> str:
        """The branch that HEAD is on inside, without ``refs/heads/``."""
        return self.branch.removeprefix("refs/heads/")


@dataclass(frozen=True, slots=True)
class Ending:
    """Why an attempt goes no further, or how its agent ended."""

    outcome: Outcome
    reason: str = ""  # a sentence; empty if it ended well
    exit_code: int | None = None  # of the agent; None if it was never reaped
    output: str = ""  # for the next attempt, instead of the end of the log
    summary: str = ""
    divergence: str = ""
    commands: tuple[str, ...] = ()
    spoken: bool = False  # whether its program tells how it ended
    answer: str = ""  # its last words, if it tells
    program: str = ""  # its version
    questions: tuple[Question, ...] = ()
    asker: Asker = Asker.AGENT  # of the questions
