"""What an attempt was given, found again in the records, to make it once more."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gitagent.core.agent import BUILT_IN, SHELL, Agent
from gitagent.core.layout import AGENTS, CLAUDE_AGENTS, KEPT, TASKS
from gitagent.core.task import Attempt, Outcome, TaskFile, TaskRecord
from gitagent.daemon.definitions import Definitions
from gitagent.daemon.exchanges import of_attempt
from gitagent.daemon.outputs import require_attempt
from gitagent.daemon.target import SettingsInForce, require_target
from gitagent.errors import UserError
from gitagent.files import agentfile, record, taskfile
from gitagent.git import records
from gitagent.git.objects import MissingObject, Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.host.engine import LocalEngine
from gitagent.worker import exchanges
from gitagent.worker.order import Order
from gitagent.worker.replay import Entry, Step

_UNSTARTED = frozenset({Outcome.REFUSED, Outcome.CLAIMED})


@dataclass(frozen=True, slots=True)
class _Source:
    """Where all of it is read from."""

    repo: Repository
    objects: Objects
    task: TaskRecord
    begun: dict[int, TaskRecord]  # by attempt: the task's record when it began
    target_ref: str
    target: str  # commit


def steps(
    repo: Repository, objects: Objects, task: TaskRecord, number: int
) -> list[Step]:
    """Return what has to be made to make an attempt once more, itself last.

    One that went on from a saved conversation needs those that had it before.

    Raises:
        UserError: there is no such attempt, or not all that it was given is there.
    """
    refs = objects.refs()
    ref = require_target(objects, refs)
    source = _Source(repo, objects, task, _begun(objects, task), ref, refs[ref])
    attempt = require_attempt(task, number)
    found = [_step(source, attempt)]
    while attempt.resumed and number > 1:
        number -= 1
        attempt = require_attempt(task, number)
        if attempt.outcome not in _UNSTARTED and attempt.session:
            found.append(_step(source, attempt))
    return found[::-1]


def _begun(objects: Objects, task: TaskRecord) -> dict[int, TaskRecord]:
    found: dict[int, TaskRecord] = {}
    for commit in records.history(objects, task.oid):
        step = record.load_task(records.read(objects, commit.oid))
        if step.newest is not None:
            found[step.newest.number] = step
    return found


def _step(source: _Source, attempt: Attempt) -> Step:
    objects, task = source.objects, source.task
    name = f"attempt {attempt.number} at {task.id}"
    if attempt.outcome is None:
        raise UserError(f"{name} is still running")
    if attempt.outcome in _UNSTARTED:
        raise UserError(f"{name} was never started: {attempt.reason}")
    begun = source.begun[attempt.number]
    target = _target(source, attempt, begun)
    settings, _, _ = SettingsInForce().at(objects, target)
    if settings is None:
        raise UserError(f"{target[:12]}, which {name} was made on, has no settings")
    earlier = [each for each in task.attempts if each.number < attempt.number]
    order = Order(
        repo=source.repo,
        engine=LocalEngine(),
        settings=settings,
        task=_task(source, attempt),
        agent=_agent(source, attempt, begun.agent, target),
        attempt=attempt,
        branch=begun.branch or "",
        target_ref=source.target_ref,
        target=target,
        feedback=begun.feedback,
        tip=begun.tip,
        answers=begun.answers,
        before=earlier[-1] if earlier else None,
    )
    entries = tuple(
        Entry(each, exchanges.body(objects, each), exchanges.answer(objects, each))
        for each in of_attempt(objects, task, attempt.number)
    )
    return Step(order, entries, _tree(source, attempt))


def _target(source: _Source, attempt: Attempt, begun: TaskRecord) -> str:
    """Return the target's commit when an attempt began."""
    if attempt.target:
        return attempt.target
    if begun.tip is None or begun.tip != attempt.base:
        return attempt.base
    objects = source.objects
    step: str | None = source.target
    while step is not None:
        commit = objects.commit(step)
        if clock.stamp(datetime.fromtimestamp(commit.time, UTC)) <= attempt.started:
            return step
        step = commit.parents[0] if commit.parents else None
    return attempt.base


def _task(source: _Source, attempt: Attempt) -> TaskFile:
    path = f"{TASKS}{source.task.id}.md"
    data = _blob(source.objects, attempt.blob, path)
    found = taskfile.parse(source.task.id, attempt.blob, data, path)
    if not isinstance(found, TaskFile):
        raise UserError(found.reason)
    return found


def _agent(source: _Source, attempt: Attempt, name: str, target: str) -> Agent:
    """Return the agent by the definition that was recorded."""
    name = name or SHELL.name
    for each in attempt.instructions[:1]:
        if each.path.rpartition("/")[2].removeprefix(BUILT_IN) != f"{name}.md":
            continue
        data = _blob(source.objects, each.blob, each.path)
        found = agentfile.parse(name, data, each.path, each.blob)
        if not isinstance(found, Agent):
            raise UserError(found.reason)
        committed = each.path.startswith((AGENTS, CLAUDE_AGENTS))
        return found if committed else replace(found, source=data.decode())
    if name == SHELL.name:
        return SHELL
    agents, _ = Definitions(source.repo).at(source.objects, target)
    if name not in agents:
        raise UserError(f"the definition of the agent {name} is not there any more")
    return agents[name]


def _tree(source: _Source, attempt: Attempt) -> str:
    """Return the tree that an attempt came to, refused or not."""
    kept = f"{KEPT}{source.task.id}/{attempt.number}/result"
    tip = attempt.tip or source.objects.ref(kept) or attempt.base
    return source.objects.commit(tip).tree


def _blob(objects: Objects, oid: str, path: str) -> bytes:
    try:
        return objects.blob(oid)
    except MissingObject:
        raise UserError(f"{path} as it was then ({oid[:12]}) is not here") from None
