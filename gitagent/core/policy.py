"""What a submission may change: the rules of the target, applied to a candidate.

Every rule is about the difference between the target and the merged tree, so what
the target already has, or what a merge drops, is nobody's offence.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitagent.core.agent import SHELL, Agent
from gitagent.core.approval import Approval, Needed, missing
from gitagent.core.candidate import Candidate, Change, PathChange
from gitagent.core.distil import is_file
from gitagent.core.divergence import mismatches
from gitagent.core.gate import gates
from gitagent.core.glob import barred, matching, named
from gitagent.core.grants import widening
from gitagent.core.layout import (
    ANSWERS,
    CHAPTERS,
    DONE,
    LANDINGS,
    MEMORY,
    RECORD_FOLDERS,
    REMOTES,
    TASKS,
)
from gitagent.core.settings import Settings
from gitagent.core.starting import undecided
from gitagent.core.submission import Submission
from gitagent.core.task import TaskFile, TaskRecord

_SPECIAL = re.compile(r"[\\*?\[\]! #]")  # what gitignore(5) gives a meaning

_REGULAR = 0o100644
_GITLINK = 0o160000

_STARTS = "a task of an agent, on which no person has decided"
_BY_HAND = "memory, by hand"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether a candidate may land, and if not, whose word is missing."""

    no: tuple[str, ...] = ()  # a sentence a broken rule: rejected
    approve: tuple[Needed, ...] = ()  # not yet approved: held


def rule(
    candidate: Candidate,
    submission: Submission,
    settings: Settings,
    task: TaskFile | None = None,
    agent: Agent | None = None,
    approval: Approval | None = None,
    *,
    weakened: Iterable[tuple[str, str]] = (),
    agents: Mapping[str, Agent] | None = None,
    record: TaskRecord | None = None,
) -> Ruling:
    """Judge a candidate.

    ``task`` and ``agent`` are those of a worker's result, None for a person's.
    ``approval`` is one whose author is beyond doubt. ``weakened`` is what
    ``weakening.weakened`` says of the candidate; a worker needs an approval for it,
    in a person's submission it only stands in the note. ``agents`` are those of the
    target by name: what a worker's tasks are done by has to be within its own agent.
    ``record`` is that of the worker's task: what its attempts had heard, and what
    people said to the questions of the gate.
    """
    changes = candidate.changes
    records = tuple(c for c in changes if c.path.startswith(RECORD_FOLDERS))
    product = tuple(c for c in changes if not c.path.startswith(RECORD_FOLDERS))
    found = [
        _say("Only regular .md files belong in record folders", _odd_records(records)),
        *([] if _landed_there(submission) else _records_of_others(records)),
        *_memory_offences(candidate, submission, settings),
        _say("These names differ only in case or accents", candidate.colliding),
        _say("This is a Git repository inside the tree", _embedded(product)),
    ]
    signs: list[tuple[str, str]] = []
    started: tuple[PathChange, ...] = ()
    if submission.task is not None:
        started = undecided(records, candidate.starts, agent, record)
        signs = [*gates(settings.check, product), *weakened]
        found += _worker_offences(records, product, submission.task, task, agent)
        if agent is not None and "start_task" in agent.may:
            found += _wider(candidate, settings, agent, agents or {})
            found += _dearer(candidate, settings, task)
        if task is not None:
            found += mismatches(task, product, submission.divergence or "")
    needed = (
        *_needed(product, settings, signs),
        *(Needed(c.path, c.new_mode, c.new_blob, _STARTS) for c in started),
        *_by_hand(submission, records),
    )
    return Ruling(
        tuple(sentence for sentence in found if sentence),
        missing(approval, submission.id, candidate.tip, needed),
    )


def _landed_there(submission: Submission) -> bool:
    """Whether it is what the remote's target has: notes of landings made elsewhere.

    Its branch is a ref that the daemon alone writes.
    """
    return submission.task is None and (submission.branch or "").startswith(REMOTES)


def _records_of_others(records: tuple[PathChange, ...]) -> list[str]:
    return [_say("Only the lander writes here", _under(records, LANDINGS, DONE))]


def _memory_offences(
    candidate: Candidate, submission: Submission, settings: Settings
) -> list[str]:
    """Return what no approval helps against: a file that is no item, too many of them.

    The executor's own commit changes nothing else, and lands as it was examined.
    """
    changes, found = candidate.changes, candidate.memory
    said = []
    if submission.remembers:
        others = tuple(c.path for c in changes if not c.path.startswith(MEMORY))
        said.append(_say("A commit of the memory changes nothing else", others))
    elif not _landed_there(submission):
        said.append(
            _say("Only `gitagent chapter` writes here", _under(changes, CHAPTERS))
        )
    if found is None:
        return said
    if submission.remembers and found.mixed:
        said.append(_say("Merged line by line, which nobody examined", found.mixed))
    limit = settings.memory.limit
    if found.count > max(limit, found.before):
        had = f"{found.count} items of the memory would count, and {limit} are the most"
        said.append(f"{had}: `gitagent memory withdraw` makes room.")
    return [*said, *found.problems]


def _by_hand(
    submission: Submission, records: tuple[PathChange, ...]
) -> tuple[Needed, ...]:
    """Return the items that a submission changes past the memory's executor."""
    if submission.remembers or _landed_there(submission):
        return ()
    return tuple(
        Needed(c.path, c.new_mode, c.new_blob, _BY_HAND)
        for c in records
        if c.path.startswith(MEMORY)
    )


def _needed(
    product: tuple[PathChange, ...],
    settings: Settings,
    signs: Iterable[tuple[str, str]],
) -> tuple[Needed, ...]:
    """Return what a person has to approve, one entry a path."""
    why: dict[str, list[str]] = {}
    for change in protected(settings, product):
        why.setdefault(change.path, []).append("protected")
    for path, sign in signs:
        why.setdefault(path, []).append(sign)
    return tuple(
        Needed(c.path, c.new_mode, c.new_blob, ", ".join(why[c.path]))
        for c in product
        if c.path in why
    )


def protected(
    settings: Settings, changes: Iterable[PathChange]
) -> tuple[PathChange, ...]:
    """Return those of the changes that need an approval by their path alone."""
    changes = tuple(changes)
    paths = frozenset(barred(_protected(settings), _paths(changes)))
    return tuple(change for change in changes if change.path in paths)


def _protected(settings: Settings) -> tuple[str, ...]:
    """Return the globs of protected paths.

    Who may approve is never decided without an approval: the file of the signers is
    one of them. Its name is no glob, and comes last, where no ``!`` undoes it.
    """
    signers = settings.trust.allowed_signers.strip("/")
    globs = settings.lander.protected
    if not signers:
        return globs
    return (*globs, "/" + _SPECIAL.sub(r"\\\g<0>", signers))


def _worker_offences(
    records: tuple[PathChange, ...],
    product: tuple[PathChange, ...],
    task_id: str,
    task: TaskFile | None,
    agent: Agent | None,
) -> list[str]:
    own = f"{TASKS}{task_id}.md"
    paths = _paths(product)
    found = [
        _say("A worker may not edit its own task", _under(records, own)),
        _say("Only people answer questions", _under(records, ANSWERS)),
        _say(
            "Only gitagent starts what looks at a landing",
            tuple(c.path for c in records if is_file(c.path) and c.path != own),
        ),
        _say(
            "A submodule link that the target does not have",
            tuple(c.path for c in product if c.new_mode == _GITLINK != c.old_mode),
        ),
    ]
    if agent is None or "start_task" not in agent.may:
        others = tuple(
            c for c in records if c.path != own and not c.path.startswith(ANSWERS)
        )
        found.append(
            _say("Its agent lacks the grant start_task", _under(others, TASKS))
        )
    for whose, writable in (
        ("the task's `paths`", task.paths if task else ()),
        ("its agent's `paths`", agent.paths if agent else ()),
    ):
        if writable:
            allowed = set(matching(writable, paths))
            outside = tuple(path for path in paths if path not in allowed)
            found.append(_say(f"Outside {whose}", outside))
    if task and task.forbidden:
        found.append(
            _say("The task's `forbidden` names", barred(task.forbidden, paths))
        )
    return found


def _wider(
    candidate: Candidate, settings: Settings, agent: Agent, agents: Mapping[str, Agent]
) -> list[str]:
    """Return what the tasks that a worker starts could do, and it itself could not."""
    found = []
    for each in candidate.starts:
        path, name = each.path, each.agent or settings.worker.agent
        child = agents.get(name, SHELL if name == SHELL.name else None)
        if child is None:
            found.append(
                f"The target has no agent {name}, which {named((path,))} names."
            )
            continue
        if extra := widening(child, agent):
            start = f"A task has at most the grants of what starts it: {named((path,))}"
            found.append(f"{start} names an agent that has more. {' '.join(extra)}")
    return found


def _dearer(
    candidate: Candidate, settings: Settings, task: TaskFile | None
) -> list[str]:
    """Return which tasks that a worker starts may spend more than its own may."""
    own = dict(task.budget if task else ()) or settings.budget.task
    dear = [
        each.path
        for each in candidate.starts
        if any(
            (dict(each.budget) or settings.budget.task).get(unit, math.inf) > limit
            for unit, limit in own.items()
        )
    ]
    return [_say("May spend more than the task that starts it", tuple(dear))]


def _paths(changes: tuple[PathChange, ...]) -> tuple[str, ...]:
    return tuple(change.path for change in changes)


def _under(changes: tuple[PathChange, ...], *prefixes: str) -> tuple[str, ...]:
    return tuple(c.path for c in changes if c.path.startswith(prefixes))


def _odd_records(records: tuple[PathChange, ...]) -> tuple[str, ...]:
    return tuple(
        c.path
        for c in records
        if c.change is not Change.DELETED
        and (c.new_mode != _REGULAR or not c.path.endswith(".md"))
    )


def _embedded(product: tuple[PathChange, ...]) -> tuple[str, ...]:
    """Return folders that get ``HEAD`` and ``objects/``: git(1) would run there."""
    new = [c.path for c in product if c.change is Change.ADDED]
    homes = {path[: -len("HEAD")] for path in new if path.split("/")[-1] == "HEAD"}
    return tuple(
        sorted(
            home or "."
            for home in homes
            if any(path.startswith(f"{home}objects/") for path in new)
        )
    )


def _say(rule: str, paths: tuple[str, ...]) -> str:
    return f"{rule}: {named(paths)}." if paths else ""
