"""Waiting for the outcome of a submission, and doing the work if nobody else does.

Everybody who waits does it here: `submit --wait`, `land`, `logs -f`, and a push with
the option ``wait``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto

from gitagent.core.submission import Submission
from gitagent.daemon import lineup
from gitagent.daemon.news import Follower, Tell
from gitagent.errors import Busy, UserError
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.host.lock import held
from gitagent.host.watch import Watch
from gitagent.lander import submit

# A run that starts is no event of the repository; the daemon has to be asked. It is
# asked often while there is news, ever less while there is none.
QUICK_S = 0.1
SLOW_S = 2.0
RESTART_S = 1.5  # that a daemon may be away before it counts as stopped


class Over(Enum):
    """Why a wait is over."""

    SETTLED = auto()
    ALONE = auto()  # nobody is at work here
    LATE = auto()  # the time is up
    GONE = auto()  # nobody reads what is told


@dataclass(frozen=True, slots=True)
class Waited:
    """What came of a wait."""

    submission: Submission  # as it was read last
    over: Over


def wait(
    repo: Repository,
    submission: str,
    tell: Tell,
    *,
    patient: bool = False,
    seconds: float | None = None,
    gone: Callable[[], bool] = lambda: False,
) -> Waited:
    """Tell the news of a submission until it is settled.

    It ends before that when ``seconds`` are over, when ``gone`` says that nobody reads
    any more, and, unless ``patient``, when no daemon or command is at work.
    """
    follower = Follower(repo, submission, tell)
    begun = seen = clock.monotonic()
    pause = QUICK_S
    with _woken(repo) as wake:
        while True:
            there = held(repo.common_dir)
            # The lineup first: a record that was read before it could be older.
            runs = lineup.ask_for(repo) if there else None
            found, now = _read(repo, submission), clock.monotonic()
            follower.look(found, runs)
            if found.settled:
                return Waited(found, Over.SETTLED)
            if gone():
                return Waited(found, Over.GONE)
            if patient:
                follower.alone(now=not there)
            elif there:
                seen = now
            elif seen == begun or now - seen >= RESTART_S:
                return Waited(found, Over.ALONE)
            left = SLOW_S if seconds is None else begun + seconds - now
            if left <= 0:
                return Waited(found, Over.LATE)
            pause = QUICK_S if follower.took_news() else min(2 * pause, SLOW_S)
            clock.sleep(QUICK_S)  # what comes in a burst is looked at once
            wake.wait(min(pause, left))


def land(repo: Repository, submission: str, tell: Tell) -> Submission:
    """Return a submission once it is settled, with or without a daemon.

    Whoever holds the lock does the work; if nobody does, it is taken and done here. ^C
    ends that, and the submission that is returned is not settled then.
    """
    while True:
        if not held(repo.common_dir):
            # The lander takes longer to load than most of what is asked of it.
            from gitagent.daemon.service import land_now  # noqa: PLC0415

            with suppress(Busy):
                return land_now(repo, submission, tell)
        waited = wait(repo, submission, tell)
        if waited.over is Over.SETTLED:
            return waited.submission


@contextmanager
def _woken(repo: Repository) -> Iterator[clock.Wake]:
    wake = clock.Wake()
    watch = Watch(repo.common_dir, wake)
    watch.start()
    try:
        yield wake
    finally:
        watch.stop()


def _read(repo: Repository, submission: str) -> Submission:
    with repo.objects(fast=True) as objects:
        found = submit.find(objects, submission)
    if found is None:
        raise UserError(f"{submission} is gone from {submit.ref_of(submission)}")
    return found
