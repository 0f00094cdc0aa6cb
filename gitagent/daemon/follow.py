"""Waiting for the outcome of a submission, and doing the work if nobody else does."""

from collections.abc import Callable
from contextlib import suppress

from gitagent.core.submission import Submission
from gitagent.errors import Busy, UserError
from gitagent.git.repository import Repository
from gitagent.host.clock import Wake
from gitagent.host.lock import held
from gitagent.host.watch import Watch
from gitagent.lander import submit

POLL_S = 2.0  # beside the events; a daemon that went away sends none

Say = Callable[[Submission], None]


def wait(
    repo: Repository, submission: str, say: Say, idle: Callable[[], bool]
) -> Submission | None:
    """Return a submission once it is settled.

    ``say`` gets it whenever its state or reason changed. ``idle`` is called when nobody
    is at work any more; if it returns True the wait is over, with None.
    """
    wake = Wake()
    watch = Watch(repo.common_dir, wake)
    watch.start()
    news: tuple[str, str | None] | None = None
    working = True
    try:
        while True:
            found = _read(repo, submission)
            if (found.state, found.reason) != news:
                news = (found.state, found.reason)
                say(found)
            if found.settled:
                return found
            was, working = working, held(repo.common_dir)
            if was and not working and idle():
                return None
            wake.wait(POLL_S)
    finally:
        watch.stop()


def land(repo: Repository, submission: str, say: Say) -> Submission:
    """Return a submission once it is settled, with or without a daemon.

    Whoever holds the lock does the work; if nobody does, it is taken and done here. ^C
    ends that, and the submission that is returned is not settled then.
    """
    while True:
        if not held(repo.common_dir):
            # The lander takes longer to load than most of what is asked of it.
            from gitagent.daemon.service import land_now  # noqa: PLC0415

            with suppress(Busy):
                return land_now(repo, submission, say)
        found = wait(repo, submission, say, lambda: True)
        if found is not None:
            return found


def _read(repo: Repository, submission: str) -> Submission:
    with repo.objects(fast=True) as objects:
        found = submit.find(objects, submission)
    if found is None:
        raise UserError(f"{submission} is gone from {submit.ref_of(submission)}")
    return found
