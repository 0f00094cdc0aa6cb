"""The one commit point: the landing is recorded, then the target is swapped.

A crash before the swap leaves a record that names a commit which is not on the
target; one after it, a landing whose record is completed from the target. Which of
the two it is, the target says.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from gitagent.core.candidate import Candidate
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Moment
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.errors import LostRace
from gitagent.git.advance import Blocked, advance
from gitagent.git.merge import merge
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.failpoint import failpoint
from gitagent.lander import submit
from gitagent.lander.landing import build
from gitagent.lander.tasks import Held, add_task, move_done

__all__ = ["Held", "Landed", "add_task", "land", "move_done"]

# A held landing is tried every few seconds; a fresh commit, and a record of it, each
# time would bury the submission's story.
SAME_COMMIT: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Landed:
    """The target has the landing."""

    submission: Submission  # as recorded, with its commit
    commit: str


def land(
    repo: Repository,
    objects: Objects,
    submission: Submission,
    candidate: Candidate,
    record: TaskRecord | None,
    settings: Settings,
    moment: Moment,
) -> Landed | Held:
    """Land a submission whose candidate is green on the target as it is.

    ``submission`` is the newest record with the verdicts of its checks. Calling it
    again, after a crash too, never lands twice: the candidate's base has to be the
    target's commit.

    Raises:
        LostRace: the record or the target moved.
        Busy: the target, or the index of its checkout, is locked.
    """
    ref = settings.target_ref
    if objects.ref(ref) != candidate.base:
        raise LostRace(f"{ref} was moved meanwhile")
    _restore(repo, objects, candidate)
    now = datetime.fromisoformat(moment.stamp)
    facts = (repo, objects, submission, candidate, record, settings)
    when = _earlier(objects, submission.commit, now)
    commit = build(*facts, when)
    if when != now and commit != submission.commit:
        commit = build(*facts, now)
    if commit != submission.commit:
        submission = submit.write(
            repo,
            submission,
            replace(submission, commit=commit, base=candidate.base),
            f"lands as {commit[:12]}",
            keep=(commit,),
        )
    failpoint("landing-recorded")
    reflog = f"gitagent: land {submission.id}"
    result = advance(repo, ref, candidate.base, commit, reflog)
    if isinstance(result, Blocked):
        return Held(result.reason)
    failpoint("landing-swapped")
    there = objects.ref(ref)
    if there is None or not objects.ancestor(commit, there):
        raise LostRace(f"{ref} was moved back meanwhile")
    submit.unpin(repo, submission)
    return Landed(submission, commit)


def _earlier(objects: Objects, commit: str | None, now: datetime) -> datetime:
    """Return the time of the commit that an earlier try made, if that was lately."""
    if commit is None or objects.kind(commit) != "commit":
        return now
    when = datetime.fromtimestamp(objects.commit(commit).committer.when, now.tzinfo)
    return when if timedelta() <= now - when < SAME_COMMIT else now


def _restore(repo: Repository, objects: Objects, candidate: Candidate) -> None:
    """Make the merged tree again if it was pruned: only its product tree is pinned."""
    if objects.kind(candidate.tree) is None:
        merge(repo, objects, candidate.base, candidate.tip)
