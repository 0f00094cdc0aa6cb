"""Whether a task can start now, and if not, who owes what.

Three answers: it can (with the agent that does it), it has to wait, or it cannot be
run at all as it is written or on this machine.
"""

from dataclasses import dataclass

from gitagent.core.agent import SHELL, Agent
from gitagent.core.layout import AGENTS
from gitagent.core.models import route, talks
from gitagent.core.pause import moved
from gitagent.core.snapshot import Snapshot
from gitagent.core.task import ENDED_WELL, TaskFile, TaskState

_ENDED_BADLY = frozenset({TaskState.FAILED, TaskState.STOPPED, TaskState.REFUSED})


@dataclass(frozen=True, slots=True)
class Ready:
    """It can start."""

    agent: Agent


@dataclass(frozen=True, slots=True)
class Wait:
    """Something has to happen first."""

    reason: str


@dataclass(frozen=True, slots=True)
class Never:
    """It cannot be run until somebody changes something and says retry."""

    reason: str


def agent_of(task: TaskFile, snapshot: Snapshot) -> Agent | None:
    """Return the agent definition that the task names, or None if there is none."""
    default = snapshot.settings.worker.agent if snapshot.settings else SHELL.name
    name = task.agent or default
    return snapshot.agents.get(name, SHELL if name == SHELL.name else None)


def admit(task: TaskFile, snapshot: Snapshot, busy: int) -> Ready | Wait | Never:
    """Decide whether ``task`` can start while ``busy`` attempts run."""
    settings = snapshot.settings
    if settings is None:
        return Wait(f"No settings could be read: {snapshot.target.complaint}")
    blocker = _blocker(task, snapshot)
    if blocker:
        return Wait(blocker)
    agent = agent_of(task, snapshot)
    never = _never(task, agent, snapshot)
    if agent is None or never:
        return Never(never)
    if (
        stopped := snapshot.machine.full
        or moved(snapshot)
        or _quiet(task, agent, snapshot)
    ):
        return Wait(stopped)
    if busy >= settings.worker.parallel:
        most = settings.worker.parallel
        return Wait(
            f"Waits for a free worker; worker.parallel lets {most} run at once."
        )
    return Ready(agent)


def _never(task: TaskFile, agent: Agent | None, snapshot: Snapshot) -> str:
    settings = snapshot.settings
    if agent is None or settings is None:
        name = task.agent or (settings.worker.agent if settings else SHELL.name)
        return _unknown(name, snapshot)
    if agent.backend == "shell" and not task.scripts:
        return (
            "A prose task needs an agent that reads prose: the agent "
            f"{agent.name} only runs fenced `sh` blocks, and the task has none; "
            f"{_readers(snapshot)}."
        )
    if agent.backend in {"command", "acp"} and not agent.argv:
        return f"Agent {agent.name} has the backend {agent.backend}, but no argv."
    if talks(agent):
        found = route(agent, settings.model)
        if isinstance(found, str):
            return found
    return snapshot.machine.sandbox or ""


def _quiet(task: TaskFile, agent: Agent, snapshot: Snapshot) -> str:
    """Return why an agent's model may be asked nothing just now; "": it may."""
    settings = snapshot.settings
    if settings is None or not talks(agent):
        return ""
    found = route(agent, settings.model)
    models = () if isinstance(found, str) else found.models
    held = [snapshot.live.providers.get(each.provider, "") for each in models]
    record = snapshot.records.get(task.id)
    more = record is not None and (record.extra_usd or record.extra_tokens)
    spent_out = "" if more else snapshot.live.spent_out
    return spent_out or (held[0] if held and all(held) else "")


def _unknown(name: str, snapshot: Snapshot) -> str:
    for refusal in snapshot.refused:
        if refusal.path.endswith(f"agents/{name}.md"):
            return f"Its agent {name} cannot be used: {refusal.reason}."
    known = ", ".join(sorted({*snapshot.agents, SHELL.name}))
    return (
        f"There is no agent definition {AGENTS}{name}.md; add it, or name "
        f"one that is there: {known}."
    )


def _readers(snapshot: Snapshot) -> str:
    """Say which agents read prose, those that are installed here first."""
    backends = {
        name: snapshot.agents[name].backend
        for name in sorted(snapshot.agents)
        if snapshot.agents[name].backend != SHELL.backend
    }
    readers = list(backends)
    here = [name for name in readers if backends[name] in snapshot.machine.agents]
    if here:
        others = f" (also here: {', '.join(here[1:])})" if here[1:] else ""
        return f'write `agent = "{here[0]}"` into it{others}'
    if readers:
        return f"name another one in it, such as {', '.join(readers)}"
    return f"add a definition to {AGENTS} and name that in it"


def _blocker(task: TaskFile, snapshot: Snapshot) -> str | None:
    for other in task.after:
        if other in snapshot.finished and other not in snapshot.tasks:
            continue
        record = snapshot.records.get(other)
        state = record.state if record else None
        if state in ENDED_WELL and other not in snapshot.tasks:
            continue
        if state in _ENDED_BADLY:
            return (
                f"Waits for {other}, which is {state}; retry it, or take it out of "
                "`after`."
            )
        if other not in snapshot.tasks:
            return (
                f"Waits for {other}, but there is no .agent/tasks/{other}.md; add it, "
                "or take it out of `after`."
            )
        if task.id in _needs(other, snapshot):
            return (
                f"Waits for {other}, which waits for {task.id}; take one of the two "
                "out of `after`."
            )
        return f"Waits for {other}, which is {state or TaskState.WAITING}."
    return None


def _needs(task_id: str, snapshot: Snapshot) -> frozenset[str]:
    """Return every open task that ``task_id`` waits for, however indirectly."""
    found: set[str] = set()
    todo = [task_id]
    while todo:
        task = snapshot.tasks.get(todo.pop())
        for other in task.after if task else ():
            if other not in found:
                found.add(other)
                todo.append(other)
    return frozenset(found)
