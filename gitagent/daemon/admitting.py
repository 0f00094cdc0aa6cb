"""Rulings on what attempts have proposed for the memory.

Only the work that passed its verdict teaches anything. Whatever is asked for is ruled
on, and what was refused is on record with the reason, as what was admitted is.
"""

from dataclasses import dataclass

from gitagent.core.action import Remember
from gitagent.core.distil import landing_of
from gitagent.core.remembering import Op, Operation, Ruled, Ruling
from gitagent.core.settings import Settings
from gitagent.core.task import TaskRecord
from gitagent.core.tending import weighed
from gitagent.daemon.verifying import TOTAL_S, Verifier
from gitagent.errors import GitError
from gitagent.files import proposed
from gitagent.files.proposed import Proposed
from gitagent.git import rulings
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.host.failpoint import failpoint
from gitagent.host.log import log
from gitagent.host.process import Cancel
from gitagent.lander.landing import committer
from gitagent.memory import ledger
from gitagent.memory.executor import Origin, execute
from gitagent.memory.reverts import Reverts
from gitagent.memory.shelf import Shelves


@dataclass(frozen=True, slots=True)
class Asked:
    """What a ruling is to be about."""

    operations: tuple[Operation, ...] = ()  # to be examined
    dropped: tuple[Ruled, ...] = ()  # for other reasons than what they say


def rule(
    repo: Repository,
    shelves: Shelves,
    target_ref: str,
    settings: Settings,
    action: Remember,
    cancel: Cancel,
) -> Ruling:
    """Rule on what a task's attempts have proposed; return the ruling as recorded.

    What was admitted is made a commit, which the ruling names and the lander lands. For
    a thread of its own: commands that verify items are run in the sandbox.

    Raises:
        GitagentError: it could not be ruled on just now; nothing is recorded.
    """
    record = action.record
    with repo.objects() as objects:
        asked = read(objects, action)
        at = clock.now()
        by = committer(repo, settings, at)
        if asked.operations:
            back = _taken_back(repo, objects, target_ref, record)
            origin = Origin(by, record.id, action.upto, failed=back, strict=True)
            made = execute(
                repo,
                objects,
                shelves,
                target_ref,
                asked.operations,
                origin,
                limit=settings.memory.limit,
                verify=Verifier(repo, settings, cancel, total=TOTAL_S),
                submit=True,
                dropped=asked.dropped,
            )
        else:
            stamp = clock.stamp(at)
            made = Ruling(stamp, by.ident, record.id, action.upto, asked.dropped)
            made = rulings.append(repo, objects, made)
    admitted = sum(each.admitted for each in made.ruled)
    log(record.id, f"of {len(made.ruled)} operations on the memory {admitted} admitted")
    failpoint("memory-ruled")
    return made


def _taken_back(
    repo: Repository, objects: Objects, target_ref: str, record: TaskRecord
) -> str:
    """Return that what the work is about was rolled back since, or "" if it was not."""
    name = landing_of(record.id) or record.submission or ""
    landed = ledger.submission(objects, name) if name else None
    target = objects.ref(target_ref)
    if landed is None or target is None:
        return ""
    gone = Reverts().at(repo, objects, target)
    commits = (landed.commit or "", landed.tip)
    by = next((gone[each] for each in commits if each in gone), "")
    return f"The landing {name} was taken back by {by[:12]}." if by else ""


def read(objects: Objects, action: Remember) -> Asked:
    """Return what the attempts of an action have proposed, each operation once."""
    operations: list[Operation] = []
    dropped: list[Ruled] = []
    for attempt, why in weighed(action):
        if not attempt.proposed:
            continue
        found = _proposed(objects, attempt.proposed)
        dropped += found.dropped
        if why:
            dropped += [Ruled(x, admitted=False, reason=why) for x in found.operations]
        else:
            operations += found.operations
    if not operations and not dropped:
        dropped.append(_nothing("It asks for nothing."))
    return Asked(tuple(dict.fromkeys(operations)), tuple(dict.fromkeys(dropped)))


def _proposed(objects: Objects, blob: str) -> Proposed:
    try:
        return proposed.parse(objects.blob(blob))
    except ValueError as error:
        return Proposed(dropped=(_nothing(f"It cannot be used: {error}."),))
    except GitError:
        return Proposed(dropped=(_nothing(f"The blob {blob} is not here any more."),))


def _nothing(reason: str) -> Ruled:
    return Ruled(Operation(Op.ADD, proposed.NAME), admitted=False, reason=reason)
