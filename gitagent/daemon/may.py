"""What the gate would say of an effect of an agent, by the target's commit."""

from dataclasses import dataclass

from gitagent.core.agent import Agent
from gitagent.core.conversation import Origin
from gitagent.core.effect import Context, Effect, Effects, decided, judge, runs
from gitagent.core.grants import GATED, may_of
from gitagent.core.profile import shrink
from gitagent.core.reach import Facts, Verdict
from gitagent.core.settings import SandboxMode, Settings
from gitagent.core.snapshot import Snapshot
from gitagent.core.task import TaskFile
from gitagent.daemon.asking import require_agent
from gitagent.daemon.entry import find_target
from gitagent.daemon.read import Reader
from gitagent.errors import UserError
from gitagent.files.fields import nearest
from gitagent.git.repository import Repository
from gitagent.host.confinement import WORKSPACE
from gitagent.worker.taskinfo import protected, writable


@dataclass(frozen=True, slots=True)
class Asked:
    """An effect that somebody thinks of."""

    agent: str
    kind: Effects
    what: str
    task: str = ""  # "": one without bounds
    profile: str = ""
    untrusted: bool = False  # words of others are in the conversation


@dataclass(frozen=True, slots=True)
class Said:
    """What the gate says of it."""

    verdict: Verdict
    allowed: bool  # whether it would be made
    may: tuple[str, ...]  # grants that were left


def answer(repo: Repository, asked: Asked) -> Said:
    """Return what the gate says.

    Raises:
        UserError: the target has no such agent, or no such task.
    """
    with repo.objects() as objects:
        _, commit = find_target(repo, objects)
        agent = require_agent(repo, objects, commit, asked.agent)
        snapshot = Reader(repo).read(objects, audit=False)
    task = _task(snapshot, asked.task) if asked.task else None
    record = snapshot.records.get(asked.task)
    known = facts(agent, snapshot.settings or Settings(), task)
    effect = Effect(asked.kind, asked.what)
    context = Context(
        profile=asked.profile,
        decide=agent.decide,
        origins=frozenset({Origin.WEB})
        if asked.untrusted or (agent.backend == GATED and agent.mcp)
        else frozenset(),
        decisions=decided(record.answers) if record else {},
    )
    verdict = judge(effect, known, context)
    left = shrink(known.may, asked.profile)
    return Said(verdict, runs(effect, verdict), left)


def facts(agent: Agent, settings: Settings, task: TaskFile | None) -> Facts:
    """Return what the gate would know of an attempt of an agent."""
    confined = settings.sandbox.mode is SandboxMode.REQUIRED
    return Facts(
        task=task.id if task else "",
        tree=WORKSPACE,
        writable=writable(settings, confined=confined),
        paths=task.paths if task else (),
        agent_paths=agent.paths,
        forbidden=task.forbidden if task else (),
        protected=protected(settings),
        network=(*settings.sandbox.network, *agent.network),
        may=tuple(sorted(may_of(agent))),
        confined=confined,
    )


def _task(snapshot: Snapshot, name: str) -> TaskFile:
    if found := snapshot.tasks.get(name):
        return found
    near = nearest(name, tuple(snapshot.tasks))
    mend = f"did you mean {near}?" if near else "see: gitagent task list"
    raise UserError(f"the target has no open task {name}", mend)
