"""What a submission may change: the rules of the target, applied to a candidate.

Every rule is about the difference between the target and the merged tree, so what
the target already has, or what a merge drops, is nobody's offence.
"""

from gitagent.core.agent import Agent
from gitagent.core.candidate import Candidate, Change, PathChange
from gitagent.core.glob import barred, matching, named
from gitagent.core.layout import DONE, LANDINGS, MEMORY, RECORD_FOLDERS, TASKS
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission
from gitagent.core.task import TaskFile

_REGULAR = 0o100644
_GITLINK = 0o160000


def offences(
    candidate: Candidate,
    submission: Submission,
    settings: Settings,
    task: TaskFile | None = None,
    agent: Agent | None = None,
) -> tuple[str, ...]:
    """Return why the candidate may not land, one sentence a rule; empty if it may.

    ``task`` and ``agent`` are those of a worker's result, None for a person's.
    """
    changes = candidate.changes
    records = tuple(c for c in changes if c.path.startswith(RECORD_FOLDERS))
    product = tuple(c for c in changes if not c.path.startswith(RECORD_FOLDERS))
    found = [
        _say("Only regular .md files belong in record folders", _odd_records(records)),
        _say("Only the lander writes here", _under(records, LANDINGS, DONE)),
        _say("Memory is written by `gitagent memory` alone", _under(records, MEMORY)),
        _say(
            "These paths are protected and need an approval",
            barred(settings.lander.protected, _paths(product)),
        ),
        _say("These names differ only in case or accents", candidate.colliding),
        _say("This is a Git repository inside the tree", _embedded(product)),
    ]
    if submission.task is not None:
        found += _worker_offences(records, product, submission.task, task, agent)
    return tuple(sentence for sentence in found if sentence)


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
        _say(
            "A submodule link that the target does not have",
            tuple(c.path for c in product if c.new_mode == _GITLINK != c.old_mode),
        ),
    ]
    if agent is None or "start_task" not in agent.may:
        others = tuple(c for c in records if c.path != own)
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
