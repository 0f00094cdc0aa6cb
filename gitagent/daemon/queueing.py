"""A person pauses, drains or resumes the queue, or puts a submission at its head.

All of it is a record, so it holds over a restart, and works without a daemon.
"""

from dataclasses import replace
from typing import Final

from gitagent.core.layout import QUEUE
from gitagent.core.submission import Submission, in_order
from gitagent.core.switch import Position, Switch
from gitagent.daemon import tasks
from gitagent.daemon.entry import SUBMISSION, poke
from gitagent.daemon.findings import DIRECT
from gitagent.daemon.overview import open_submissions, overview
from gitagent.errors import LostRace, UserError
from gitagent.git.identity import author
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.lander import submit, switch

_TRIES: Final = 10
_ACCEPTED: Final = 100  # that are kept; whoever makes more of them does not guard
_SAID: Final = {
    Position.RUNNING: "resumed",
    Position.PAUSED: "paused",
    Position.DRAINING: "drained: what comes from now on waits",
}


def turn(repo: Repository, position: Position, why: str = "") -> bool:
    """Put the queue's switch; return whether that changed anything.

    To let it run is to accept what came to the target past the lander until now.

    Raises:
        LostRace: others turn it all the time.
    """
    who = author(repo).ident
    direct = _direct(repo) if position is Position.RUNNING else ()
    with repo.objects(fast=True) as objects:
        for _ in range(_TRIES):
            old = switch.read(objects, objects.refs(QUEUE))
            accepted = tuple(dict.fromkeys((*old.accepted, *direct)))[-_ACCEPTED:]
            same = old.position is position and (not why or old.why == why)
            if same and accepted == old.accepted:
                return False
            new = Switch(position, clock.stamp_us(), who, why, accepted)
            try:
                switch.write(repo, old, new, f"{_SAID[position]} by {who}")
            except LostRace:
                continue
            poke(repo)
            return True
    raise LostRace("the queue's switch is turned all the time; try again")


def _direct(repo: Repository) -> tuple[str, ...]:
    found = overview(repo).findings
    return tuple(each.commit for each in found if each.kind == DIRECT)


def promote(repo: Repository, name: str) -> Submission:
    """Put an open submission, or the one of a task, before all others; return it.

    Those that it stands on still come before it. Its time of entry stays.

    Raises:
        UserError: there is none, or it is settled.
        LostRace: its record changes all the time.
    """
    with repo.objects() as objects:
        for _ in range(_TRIES):
            found = _find(objects, name)
            if found.settled:
                raise UserError(f"{found.id} is {found.state} for good")
            queue = open_submissions(repo, objects)
            if queue and in_order(queue)[0].id == found.id:
                return found
            most = max(each.priority for each in queue if each.id != found.id)
            new = replace(found, priority=max(most, found.priority) + 1)
            try:
                made = submit.write(
                    repo, found, new, f"promoted by {author(repo).ident}"
                )
            except LostRace:
                continue
            poke(repo)
            return made
    raise LostRace(f"{name} changes all the time; try again")


def _find(objects: Objects, name: str) -> Submission:
    known = name
    if not SUBMISSION.match(name):
        record = tasks.read(objects, name)
        if record is None or record.submission is None:
            raise UserError(f'"{name}" is no submission', "see: gitagent status")
        known = record.submission
    found = submit.find(objects, known)
    if found is None:
        raise UserError(f"there is no submission {known}", "see: gitagent status")
    return found
