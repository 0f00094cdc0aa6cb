"""An attempt made once more from its record, to see whether it comes to the same.

It has a workspace of its own, and models answer from the record alone. No claim is
made, no branch moves, nothing is submitted, and no record is written.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gitagent.core.conversation import Kind
from gitagent.core.exchange import Exchange
from gitagent.core.grants import GATED
from gitagent.core.layout import CONVERSATIONS
from gitagent.core.models import talks
from gitagent.core.settings import Provider
from gitagent.core.task import Outcome
from gitagent.errors import GitagentError
from gitagent.git import refs
from gitagent.git.objects import Objects
from gitagent.git.refs import ANY, RefUpdate
from gitagent.git.repository import Repository
from gitagent.git.sweep import remove_tree
from gitagent.git.tree import walk_changes
from gitagent.host import kin
from gitagent.host.place import cache_root, make_private
from gitagent.model import gateway
from gitagent.model.recorded import Entry, Recorded
from gitagent.worker import (
    agent,
    ahead,
    conversation,
    harvest,
    leftovers,
    workspace,
)
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.loop import printed, record
from gitagent.worker.models import Models
from gitagent.worker.order import Ending, Order, Stop
from gitagent.worker.setup import Setup

__all__ = ["Entry", "Replayed", "Step", "replay"]

_CONVERSATION = "-replay-"  # no task or chat has such a name

# Of an attempt that ended so, the last request may never have been answered, or made:
# a budget that is short asks a question.
_STOPPED = frozenset(
    {
        Outcome.INTERRUPTED,
        Outcome.STOPPED,
        Outcome.TIMEOUT,
        Outcome.AMENDED,
        Outcome.QUESTION,
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """An attempt to be made once more; its order's models are not used."""

    order: Order
    entries: tuple[Entry, ...]  # its exchanges with models, oldest first
    tree: str  # that it came to


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it."""

    problem: str = ""  # why it came to nothing that could be compared, a sentence
    paths: tuple[str, ...] = ()  # that differ
    left: int = 0  # recorded requests that were not made
    output: str = ""  # the end of what the agent said


def replay(steps: Sequence[Step]) -> Replayed:
    """Make attempts one after the other, each with the HOME of the one before.

    Returns what came of the last one, or of the first that came to nothing. Has to be
    called from a thread that lives until it returns.

    Raises:
        GitagentError: the workspace could not be made.
    """
    order = steps[0].order
    root = _root(order.repo) / f"{order.task.id}-{_me()}"
    _sweep(order.repo)
    done = Replayed("There is nothing to replay.")
    before: Folder | None = None
    make_private(root)
    try:
        for step in steps:
            number = step.order.attempt.number
            folder = Folder(root / str(number), step.order.confined)
            folder.path.mkdir(mode=0o700)
            done = _step(step, folder, before)
            if done.problem:
                break
            before = folder
    finally:
        _remove(order.repo, root)
    return done


class _Recall(Models):
    """Models that are a record of what they said."""

    def __init__(self, repo: Repository, recorded: Recorded) -> None:
        super().__init__(repo)
        self.owner = f"replay-{os.getpid()}"  # no daemon clears its sockets away
        self._loaded = True  # what was spent does not count here
        self.upstream = recorded

    def conversation(self, task: str) -> str:
        """Return a name of this replay's own."""
        del task
        return _CONVERSATION + _me()

    def problem(self, name: str, provider: Provider) -> str:
        """Return "": no provider is asked, so no key is needed."""
        del name, provider
        return ""

    def journal(
        self, task: str, program: str, parts: Sequence[tuple[str, str]]
    ) -> gateway.Journal:
        """Return what keeps nothing."""
        del task, program, parts
        return _Unwritten()


class _Unwritten:
    def sent(self, exchange: Exchange, body: bytes) -> Exchange:
        del body
        return exchange

    def ended(self, exchange: Exchange, answer: bytes) -> Exchange:
        del answer
        return exchange


def _step(step: Step, folder: Folder, before: Folder | None) -> Replayed:
    stop, problems = Stop(), list[str]()

    def missed(sentence: str) -> None:
        problems.append(sentence)
        stop.order(Outcome.STOPPED)

    outcome = step.order.attempt.outcome
    over = partial(stop.order, outcome) if outcome in _STOPPED else None
    recorded = Recorded(step.entries, missed, over)
    order = step.order
    if talks(order.agent):
        # What it cost is no matter now.
        settings = replace(
            order.settings, budget=replace(order.settings.budget, task={}, day={})
        )
        task = replace(order.task, budget=())
        models = _Recall(order.repo, recorded)
        order = replace(order, settings=settings, task=task, models=models)
    with Log(folder.log) as log, _conversing(order):
        made = _run(order, folder, before, log, stop)
        if problems or isinstance(made, Ending):
            refused = made.reason if isinstance(made, Ending) else ""
            return Replayed([*problems, refused][0], output=log.tail())
        left = leftovers.commit(order, folder, made, log)
        try:
            with harvest.borrowed(order, folder, left) as tip:
                paths = _differences(order.repo, step.tree, tip)
        except GitagentError as error:
            why = f"What it came to cannot be had: {error.line()}."
            return Replayed(why, output=log.tail())
        return Replayed(paths=paths, left=recorded.left, output=log.tail())


def _run(
    order: Order, folder: Folder, before: Folder | None, log: Log, stop: Stop
) -> tuple[str, ...] | Ending:
    """Run the agent; return the covered paths, or why it did not run."""
    with ahead.ahead(order, stop) as waiting:
        with order.repo.objects() as objects:
            covered = workspace.make(order, objects, folder, partial(_home, before))
            if isinstance(covered, Ending):
                return covered
            unready = Setup(order, folder, covered, log, stop).run(objects)
        if unready is not None:
            return unready
        ending = agent.run(order, folder, covered, log, stop, lambda *_: None, waiting)
    return ending if ending.outcome is Outcome.REFUSED else covered


@contextmanager
def _conversing(order: Order) -> Iterator[None]:
    """Let the built-in agent go on from the conversation as it was then."""
    if order.agent.backend != GATED or order.models is None:
        yield
        return
    name = order.models.conversation(order.task.id)
    with order.repo.objects() as objects:
        tip = _before(objects, order)
    if tip:
        _move(order.repo, RefUpdate(CONVERSATIONS + name, tip, None))
    try:
        yield
    finally:
        _forget(order.repo, name)


def _before(objects: Objects, order: Order) -> str:
    """Return the last entry of a task's conversation before an attempt began."""
    number, tip = order.attempt.number, ""
    for each in record.read(objects, order.task.id):
        mine = each.attempt == number and each.kind is Kind.BEGIN
        if mine or each.attempt > number:
            break
        tip = each.oid
    return tip


def _forget(repo: Repository, name: str) -> None:
    with repo.objects() as objects:
        there = objects.ref(CONVERSATIONS + name)
    if there:
        _move(repo, RefUpdate(CONVERSATIONS + name, None, ANY))
    with suppress(OSError):
        remove_tree(printed.folder(repo.common_dir, name))


def _move(repo: Repository, update: RefUpdate) -> None:
    refs.update(repo.git, [update], "replay")


def _home(before: Folder | None, order: Order, folder: Folder) -> bool:
    """Take the HOME of the attempt before, as `conversation.take` does."""
    session = conversation.session_of(before) if before else ""
    if before is None or not session:
        return False
    before.home.rename(folder.home)
    conversation.keep(order, folder, session)
    return True


def _differences(repo: Repository, tree: str, tip: str) -> tuple[str, ...]:
    with repo.objects() as objects:
        changes = walk_changes(objects, tree, objects.commit(tip).tree)
    return tuple(change.path for change in changes)


def _root(repo: Repository) -> Path:
    return cache_root(repo.common_dir) / "replays"


def _sweep(repo: Repository) -> None:
    """Remove what replays have left that were killed."""
    root = _root(repo)
    for path in root.iterdir() if root.is_dir() else ():
        if not _lives(path.name):
            _remove(repo, path)
    with repo.objects() as objects:
        found = objects.refs(CONVERSATIONS + _CONVERSATION)
    for ref in found:
        if not _lives(ref):
            _forget(repo, ref.removeprefix(CONVERSATIONS))


def _me() -> str:
    return f"{os.getpid()}-{kin.ticks(os.getpid())}"


def _lives(name: str) -> bool:
    """Whether the replay lives whose name this is."""
    _, pid, ticks = (*name.rsplit("-", 2), "", "")[:3]
    return pid.isdigit() and ticks.isdigit() and kin.alive(int(pid), int(ticks))


def _remove(repo: Repository, root: Path) -> None:
    for path in root.iterdir():
        workspace.strip(repo, Folder(path, confined=True))
    with suppress(OSError):
        remove_tree(root)
