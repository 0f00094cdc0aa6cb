"""What a daemon finds at its start, and puts in order.

Attempts that were under way are the loop's matter (``RecoverAttempt``). Here are the
things that no record speaks of any more.
"""

from gitagent.core.layout import CANDIDATES
from gitagent.core.task import TaskRecord, TaskState
from gitagent.daemon.tasks import read
from gitagent.errors import Busy, GitError
from gitagent.git.advance import settle
from gitagent.git.locks import remove_dead
from gitagent.git.objects import Objects
from gitagent.git.refs import RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.host import place
from gitagent.host.engine import LocalEngine
from gitagent.host.log import log
from gitagent.worker import attempt as worker
from gitagent.worker.folder import attempts_root


def orphans(repo: Repository) -> None:
    """End workers and checks of a daemon that died before they could notice it."""
    count = LocalEngine(place.owner(repo.common_dir)).end_orphans()
    if count:
        log("gitagent", f"ended {count} processes that a dead daemon left")


def locks(repo: Repository) -> None:
    """Remove what dead git processes left: locks on refs, half of an advance."""
    for lock in remove_dead(repo.common_dir):
        log("gitagent", f"removed {lock}: its owner is dead")
    try:
        settle(repo)
    except (Busy, GitError) as error:
        # The next advance does the same before anything else.
        log("gitagent", error.line())


def leftovers(repo: Repository) -> None:
    """Remove attempts whose work is safe, and pins of candidates nobody checks."""
    with repo.objects() as objects:
        _attempts(repo, objects)
        _pins(repo, objects)


def _attempts(repo: Repository, objects: Objects) -> None:
    folder = attempts_root(repo.common_dir)
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    for name in sorted(names):
        task, _, number = name.rpartition("-")
        record = read(objects, task)
        if number.isdigit() and record and _ended(record, int(number)):
            worker.discard(repo, task, int(number), settled=record.settled)
            if not (folder / name).exists():
                log(
                    task, f"removed what was left of attempt {number}; its work is kept"
                )


def _ended(record: TaskRecord, number: int) -> bool:
    """Whether an attempt is accounted for; if its work is safe, it knows itself."""
    if record.state is TaskState.RUNNING and record.attempt == number:
        return False
    return any(a.number == number for a in record.attempts)


def _pins(repo: Repository, objects: Objects) -> None:
    """Drop every pin of a candidate; the new daemon makes its own."""
    drops = [RefUpdate(ref, None, oid) for ref, oid in objects.refs(CANDIDATES).items()]
    update(repo.git, drops, "gitagent: no longer checked")
