"""What a person has to approve, on the target as it is now."""

from dataclasses import dataclass

from gitagent.core.agent import Agent
from gitagent.core.approval import Needed
from gitagent.core.candidate import PathChange
from gitagent.core.glob import named
from gitagent.core.policy import rule
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.errors import UserError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.lander.prepare import Stuck, prepare


@dataclass(frozen=True, slots=True)
class Needs:
    """What has to be approved, and what it does to the target."""

    needed: tuple[Needed, ...]
    changes: tuple[PathChange, ...] = ()  # of the same paths, in the same order


def needs(
    repo: Repository,
    objects: Objects,
    submission: Submission,
    target: str,
    settings: Settings,
    agent: Agent | None = None,
    record: TaskRecord | None = None,
) -> Needs:
    """Return what a submission needs an approval for, on this commit of the target.

    ``agent`` and ``record`` are those of the task whose result it is.

    Raises:
        UserError: it cannot be merged as it is.
    """
    try:
        ((*_, candidate),) = prepare(repo, objects, target, [[submission]], {})
    except Stuck as stuck:
        said = f"{submission.id} could not be merged: {stuck.error}"
        raise UserError(said) from stuck
    if candidate.conflicts:
        where = named(candidate.conflicts)
        raise UserError(
            f"{submission.id} conflicts with the target in {where}, so what would land"
            " is not known yet",
            "merge the target into it, and submit that",
        )
    if candidate.fault:
        raise UserError(f"{submission.id} is no candidate: {candidate.fault}")
    ruling = rule(
        candidate,
        submission,
        settings,
        agent=agent,
        weakened=candidate.weakened,
        record=record,
    )
    changes = {change.path: change for change in candidate.changes}
    paths = tuple(changes[need.path] for need in ruling.approve)
    return Needs(ruling.approve, paths)
