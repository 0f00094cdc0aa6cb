"""The one commit point: landings are recorded, then the target is swapped.

A crash before the swap leaves records that name commits which are not on the target;
one after it, landings whose records are completed from the target. Which of the two it
is, the target says.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from gitagent.core.action import LandStep
from gitagent.core.layout import RECEIPTS
from gitagent.core.settings import Settings, Strategy
from gitagent.core.snapshot import Moment
from gitagent.core.submission import Submission
from gitagent.errors import LostRace
from gitagent.git.advance import Blocked, advance
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.failpoint import failpoint
from gitagent.lander import receipts, submit
from gitagent.lander.landing import build, committer
from gitagent.lander.remembered import log_landings
from gitagent.lander.tasks import add_task, move_done

__all__ = ["Landed", "Obstructed", "add_task", "land", "move_done"]

# A held landing is tried every few seconds; a fresh commit, and a record of it, each
# time would bury the submission's story.
SAME_COMMIT: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Landed:
    """The target has the landings."""

    submissions: tuple[Submission, ...]  # as recorded, each with its commit

    @property
    def commit(self) -> str:
        """The last landing commit."""
        return self.submissions[-1].commit or ""


@dataclass(frozen=True, slots=True)
class Obstructed:
    """Something of a person's is in the way; nothing was changed."""

    reason: str  # a sentence that says what, with the paths
    submissions: tuple[str, ...]  # those that it is in the way of


def land(
    repo: Repository,
    objects: Objects,
    steps: tuple[LandStep, ...],
    settings: Settings,
    moment: Moment,
) -> Landed | Obstructed:
    """Land submissions whose candidates are green, in order, by one move of the target.

    Each comes with the newest record and the verdicts of its checks. Calling it again,
    after a crash too, never lands twice: the base has to be the target's commit.

    Raises:
        LostRace: a record or the target moved, or has to be merged anew.
        Busy: the target, or the index of its checkout, is locked.
    """
    ref, base = settings.target_ref, steps[0].candidate.base
    if objects.ref(ref) != base:
        raise LostRace(f"{ref} was moved meanwhile")
    now = datetime.fromisoformat(moment.stamp)
    made = _build(repo, objects, steps, settings, now)
    recorded = _record(repo, objects, steps, made)
    log_landings(repo, objects, steps, made, moment.stamp)
    failpoint("landing-recorded")
    reflog = "gitagent: land " + ", ".join(step.submission.id for step in steps[:8])
    result = advance(repo, ref, base, made[-1], reflog)
    if isinstance(result, Blocked):
        return Obstructed(result.reason, _concerned(steps, result.paths))
    failpoint("landing-swapped")
    there = objects.ref(ref)
    if there is None or not objects.ancestor(made[-1], there):
        raise LostRace(f"{ref} was moved back meanwhile")
    return Landed(recorded)


def _build(
    repo: Repository,
    objects: Objects,
    steps: tuple[LandStep, ...],
    settings: Settings,
    now: datetime,
) -> list[str]:
    """Return the landing commits; those of an earlier try if they are still right."""
    when = _earlier(objects, steps[0].submission.commit, now)
    made = _chain(repo, objects, steps, settings, when)
    recorded = [step.submission.commit for step in steps]
    if when != now and made != recorded:
        made = _chain(repo, objects, steps, settings, now)
    return made


def _chain(
    repo: Repository,
    objects: Objects,
    steps: tuple[LandStep, ...],
    settings: Settings,
    when: datetime,
) -> list[str]:
    made = [steps[0].candidate.base]
    who = committer(repo, settings, when)
    refs = objects.refs(RECEIPTS)
    stored = {
        checked: tuple(receipts.look_up(objects, checked, refs))
        for checked in {step.checked for step in steps}
    }
    # Replaying builds on the landing before it, which has to be on the disk for git.
    at_once = settings.lander.strategy is not Strategy.REBASE
    with objects.together() if at_once else nullcontext():
        for step in steps:
            with objects.together():
                known = stored[step.checked]
            made.append(build(repo, objects, step, made[-1], settings, who, known))
    return made[1:]


def _record(
    repo: Repository, objects: Objects, steps: Iterable[LandStep], made: list[str]
) -> tuple[Submission, ...]:
    """Record the commits of the landings before the target has them."""
    changes = []
    for step, commit in zip(steps, made, strict=True):
        old = step.submission
        if old.commit != commit:
            new = replace(old, commit=commit, base=step.candidate.base)
            changes.append((old, new, f"lands as {commit[:12]}", (commit,)))
    written = {}
    for result in submit.write_many(repo, objects, changes):
        if isinstance(result, LostRace):
            raise result
        written[result.id] = result
    return tuple(written.get(step.submission.id, step.submission) for step in steps)


def _concerned(steps: Iterable[LandStep], paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the submissions that change one of the paths; all if none does."""
    every = tuple(step.submission.id for step in steps)
    found = tuple(
        step.submission.id
        for step in steps
        if any(change.path in paths for change in step.candidate.changes)
    )
    return found or every


def _earlier(objects: Objects, commit: str | None, now: datetime) -> datetime:
    """Return the time of the commit that an earlier try made, if that was lately."""
    if commit is None or objects.kind(commit) != "commit":
        return now
    when = datetime.fromtimestamp(objects.commit(commit).committer.when, now.tzinfo)
    return when if timedelta() <= now - when < SAME_COMMIT else now
