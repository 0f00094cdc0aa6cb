"""Everything that ``decide`` may know: one read of Git and of this daemon."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitagent.core.agent import Agent
from gitagent.core.approval import Approval
from gitagent.core.candidate import Candidate, Key
from gitagent.core.question import AnswerFile
from gitagent.core.receipt import Receipt
from gitagent.core.remembering import Ruling
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission
from gitagent.core.switch import RUNNING, Switch
from gitagent.core.task import AttemptEnd, Refusal, TaskFile, TaskRecord


@dataclass(frozen=True, slots=True)
class Moment:
    """The time at which a decision is made."""

    stamp: str  # UTC, whole seconds
    precise: str  # UTC, microseconds
    monotonic: float  # seconds since some start


@dataclass(frozen=True, slots=True)
class Target:
    """The target ref and what its commit says."""

    ref: str
    commit: str | None  # None: no commits yet
    tree: str | None = None
    config: str | None = None  # blob of the settings in force
    problem: str | None = None  # why the committed settings cannot be used
    direct: tuple[str, ...] = ()  # commits that got past the lander, newest first

    @property
    def complaint(self) -> str:
        """The problem as the end of a sentence."""
        text = self.problem or ""
        return text if text.endswith(("?", ".")) else f"{text}."


@dataclass(frozen=True, slots=True)
class Offer:
    """A ref under ``lander.submit`` and the commit that it offers."""

    ref: str
    tip: str
    author: str  # "Name <email>" of the tip


@dataclass(frozen=True, slots=True)
class Live:
    """What runs inside this daemon; empty after a restart. Keyed by task at first."""

    attempts: frozenset[str] = frozenset()  # with a worker, or one that just ended
    stopping: frozenset[str] = frozenset()  # of these, the ones told to stop
    pids: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # pid, ticks
    ended: tuple[AttemptEnd, ...] = ()  # not yet accounted for
    runs: frozenset[tuple[str, int]] = frozenset()  # (check key, run) under way
    halting: frozenset[tuple[str, int]] = frozenset()  # of these, told to stop
    candidates: Mapping[Key, Candidate] = field(default_factory=dict)
    preparing: bool = False  # candidates are being made
    waits: Mapping[str, float] = field(default_factory=dict)  # key: not before
    held: Mapping[str, str] = field(
        default_factory=dict
    )  # submission: what is in the way
    troubles: Mapping[str, str] = field(default_factory=dict)  # check key: no run yet
    pushed: frozenset[str] = frozenset()  # landings that reached the remote
    push_error: str = ""  # why the newest push failed; empty if it did not
    remote: str | None = None  # commit of the remote that the target lacks
    providers: Mapping[str, str] = field(
        default_factory=dict
    )  # of models: why none may be asked anything just now
    spent_out: str = ""  # why models may be asked nothing more today
    remembering: str = ""  # task whose proposals are being ruled on; "": none


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine offers."""

    sandbox: str | None = None  # why no sandbox can be had; None: usable
    environment: str = ""  # digest of what a check's result may depend on
    full: str | None = None  # why nothing can be started for want of disk space
    boot: str = ""
    cores: int = 1
    agents: tuple[str, ...] = ()  # coding agents that are installed


@dataclass(frozen=True, slots=True)
class Tended:
    """What is on record of the memory's own work."""

    distillers: Mapping[str, str] = field(
        default_factory=dict
    )  # blob of settings that want landings distilled: agent that does it
    rulings: tuple[Ruling, ...] = ()  # on operations, oldest first
    archived: frozenset[str] = frozenset()  # of their submissions
    readable: bool = True  # False: nothing of it is known, so nothing is owed


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view; two equal snapshots give the same actions."""

    target: Target
    settings: Settings | None  # None: none ever parsed
    tasks: Mapping[str, TaskFile] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    finished: frozenset[str] = frozenset()  # ids under .agent/tasks/done
    answer_files: Mapping[str, AnswerFile] = field(
        default_factory=dict
    )  # of tasks that run or ask
    agents: Mapping[str, Agent] = field(default_factory=dict)
    records: Mapping[str, TaskRecord] = field(default_factory=dict)
    submissions: Mapping[str, Submission] = field(default_factory=dict)
    ahead: Mapping[str, str] = field(default_factory=dict)  # task: work not on target
    offers: tuple[Offer, ...] = ()
    below: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # open submission: others whose tips it holds and the target does not
    landed: frozenset[str] = frozenset()  # open submissions whose commit is on target
    receipts: Mapping[str, tuple[Receipt, ...]] = field(default_factory=dict)  # by key
    approvals: Mapping[str, Approval] = field(default_factory=dict)  # by submission
    # By task: newest record commit of its exchanges with models.
    exchanges: Mapping[str, str] = field(default_factory=dict)
    # By task: newest record commit of its conversation with the built-in agent.
    conversations: Mapping[str, str] = field(default_factory=dict)
    switch: Switch = RUNNING
    memory: Tended = field(default_factory=Tended)
    live: Live = field(default_factory=Live)
    machine: Machine = field(default_factory=Machine)
