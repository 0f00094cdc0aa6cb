"""Which agents there are, whether they could start here, and how they have fared."""

import os
from dataclasses import dataclass, replace

from gitagent.core.admission import Never, admit
from gitagent.core.agent import SHELL, Agent
from gitagent.core.models import Route, route, talks
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Machine, Snapshot
from gitagent.core.tally import Tally, tallies
from gitagent.core.task import Refusal, TaskFile
from gitagent.daemon.read import Reader
from gitagent.errors import UserError
from gitagent.git.repository import Repository
from gitagent.model.credentials import Credentials
from gitagent.worker import backends


@dataclass(frozen=True, slots=True)
class Known:
    """One agent."""

    agent: Agent
    default: bool  # a task that names none gets it
    model: str  # "provider:model" that it would ask; "": none
    version: str  # of its program; "": not known
    problem: str  # why it could not start from here, a sentence; "": it could
    tallies: tuple[Tally, ...]  # by model


def agents(repo: Repository) -> tuple[tuple[Known, ...], tuple[Refusal, ...]]:
    """Return the agents by name, and the definitions that cannot be used.

    What is looked for is looked for from here: a daemon that was started elsewhere can
    have another PATH, and other keys.

    Raises:
        UserError: there is no target.
    """
    with repo.objects() as objects:
        snapshot = Reader(repo).read(objects, audit=False)
    found = {SHELL.name: SHELL, **snapshot.agents}
    counted = tallies(snapshot.records.values())
    gone = {each.agent for each in counted} - found.keys()
    names = (*sorted(found), *sorted(gone - {""}))
    known = tuple(_known(found.get(name), name, snapshot, counted) for name in names)
    refused = tuple(r for r in snapshot.refused if "agents/" in r.path)
    return known, refused


def _known(
    agent: Agent | None, name: str, snapshot: Snapshot, counted: tuple[Tally, ...]
) -> Known:
    settings = snapshot.settings or Settings()
    own = tuple(each for each in counted if each.agent == name)
    if agent is None:
        problem = "Its definition is gone."
        return Known(Agent(name, ""), False, "", "", problem, own)  # noqa: FBT003
    version, problem = _version(agent)
    way = route(agent, settings.model) if talks(agent) else None
    return Known(
        agent=agent,
        default=settings.worker.agent == name,
        model=str(way.first) if isinstance(way, Route) else "",
        version=version,
        problem=_never(agent, snapshot) or problem or _no_key(way, settings),
        tallies=own,
    )


def _never(agent: Agent, snapshot: Snapshot) -> str:
    """Return why the daemon would refuse any task of an agent."""
    task = TaskFile("a", "", "", "", scripts=("true",), agent=agent.name)
    machine = Machine(agents=snapshot.machine.agents)
    answer = admit(task, replace(snapshot, machine=machine), 0)
    return answer.reason if isinstance(answer, Never) else ""


def _version(agent: Agent) -> tuple[str, str]:
    found = backends.installed(agent)
    if isinstance(found, backends.Refused):
        return "", found.reason
    return found, ""


def _no_key(way: Route | str | None, settings: Settings) -> str:
    if not isinstance(way, Route):
        return ""
    name = way.first.provider
    try:
        Credentials(os.environ).key(name, settings.model.providers[name])
    except UserError as error:
        line = error.line()
        return f"{line[0].upper()}{line[1:]}."
    return ""
