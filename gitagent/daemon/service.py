"""A daemon as a process: started once, woken by events, stopped without a trace."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitagent import __version__
from gitagent.core.snapshot import Snapshot
from gitagent.core.submission import Submission
from gitagent.daemon import chats, inbox, lineup, recover
from gitagent.daemon.loop import Loop
from gitagent.daemon.news import Follower, Tell
from gitagent.daemon.read import Reader
from gitagent.daemon.rehearsal import load_all
from gitagent.daemon.swap import Swap, change_over, code
from gitagent.errors import Busy, GitagentError
from gitagent.git.refs import swift
from gitagent.git.repository import Repository
from gitagent.host import clock, kin, place, process
from gitagent.host.lock import DaemonLock, held, holder
from gitagent.host.log import log
from gitagent.host.socket import Listener, ask
from gitagent.host.watch import Watch

READY_FD = "GITAGENT_READY_FD"  # descriptor that `up --detach` waits on
START_S = 60.0  # for the first read of a daemon started with --detach
STOP_S = 20.0  # for workers to end before the daemon leaves them to the kernel
CHATS_S = 8.0  # for chats beyond that, which end beside the workers
ASK_S = 5.0


def up(repo: Repository) -> int:
    """Be the daemon until SIGTERM, ^C or `gitagent down`; return the exit code.

    A daemon that already runs is no failure. Raises Busy when a command holds the
    lock, and UserError when the repository has no settings.
    """
    failed: Swap | None = None
    while True:
        lock = DaemonLock.acquire(repo.common_dir)
        if lock is None:
            return _already(repo)
        swap, swapping = _be(repo, lock, failed)
        if not swapping:
            return 0
        try:
            change_over()
        except OSError as error:  # else nobody would be the daemon
            new = code(repo)
            if new is not None:
                swap.fail(new, f"it cannot be started: {error}")
            failed = swap.again()


def _be(repo: Repository, lock: DaemonLock, failed: Swap | None) -> tuple[Swap, bool]:
    """Be the daemon until it is to end; True: for newer code of its own.

    ``failed`` is the swap that the daemon before ended for in vain.
    """
    wake = clock.Wake()
    swap = failed or Swap(repo, code(repo))

    def announce() -> None:
        lock.announce(swap.running.commit if swap.running else "", swap.problem)

    swap.tell, swap.wake = announce, wake.set
    if swap.running is not None:
        load_all()  # what is loaded later would be of whatever lies there then
    try:
        with _signals(wake) as stop, repo.objects() as objects:
            Reader(repo).read(objects, audit=False)  # refuse before announcing
            announce()
            inbox.begin(repo, objects)
            with swift(repo.git):
                swapping = _serve(repo, wake, stop, swap)
    finally:
        swap.close()
        lock.release()
    return swap, swapping and not stop


def _already(repo: Repository) -> int:
    there = holder(repo.common_dir)
    if there is None:
        raise Busy(
            f"{repo.common_dir} is locked by a gitagent command",
            "try again when it has ended",
        )
    log("gitagent", f"a daemon runs already, process {there.pid}")
    return 0


def _serve(repo: Repository, wake: clock.Wake, stop: list[int], swap: Swap) -> bool:
    """Take turns until told to stop; True: it is for newer code of its own."""
    loop = Loop(repo, wake)
    path = place.socket_path(repo.common_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    talks = chats.make(repo, loop.models, loop.enactor.teacher)

    def answer(message: dict[str, object]) -> dict[str, object]:
        if message.get("op") == chats.OP:
            return talks.answer(message, loop.snapshot)
        if message.get("op") == lineup.OP:  # no reason for a turn
            return lineup.answer(lineup.present(loop.live, loop.snapshot))
        if message.get("op") == "down":
            stop.append(signal.SIGTERM)
        wake.set()
        return {"ok": True, "pid": os.getpid(), "version": __version__}

    swapping = False

    def told(snapshot: Snapshot) -> bool:
        nonlocal swapping
        if not watch.healthy():  # its thread died, or there are new folders of refs
            watch.stop()
            watch.start()
        swapping = not stop and swap.due(snapshot)
        return swapping or bool(stop)

    listener = Listener(path, answer)
    watch = Watch(repo.common_dir, wake)
    recover.orphans(repo)
    recover.locks(repo)
    recover.leftovers(repo)
    chats.clear(repo)
    watch.start()
    listener.start()
    log("gitagent", f"{__version__} on {repo.common_dir}, process {os.getpid()}")
    try:
        loop.turn()
        _tell_ready()
        loop.run(told)
        talks.stop()
        _wind_down(loop, stop)
        loop.teller.close()
    finally:
        talks.stop(CHATS_S)
        listener.stop()
        watch.stop()
    log(
        "gitagent", "stopped, to change over to its new code" if swapping else "stopped"
    )
    return swapping


def _wind_down(loop: Loop, stop: list[int]) -> None:
    """Stop what runs and account for it; a second signal leaves that to the next up."""
    loop.stopping = True
    loop.live.stop_all()
    deadline = clock.monotonic() + STOP_S
    loop.run(
        lambda _: not loop.live.busy or len(stop) > 1 or clock.monotonic() > deadline
    )


@contextmanager
def _signals(wake: clock.Wake) -> Iterator[list[int]]:
    """Collect SIGTERM, SIGINT and SIGHUP instead of dying of them."""
    caught: list[int] = []

    def note(number: int, _frame: object) -> None:
        caught.append(number)
        wake.set()

    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_ready() -> None:
    fd = os.environ.pop(READY_FD, "")
    if fd.isdigit():
        with suppress(OSError):
            os.write(int(fd), b"ready\n")
            os.close(int(fd))


def up_detached(repo: Repository) -> int:
    """Start a daemon in the background and return once its first read is done."""
    running = _ask(repo, "poke")
    if running or (held(repo.common_dir) and holder(repo.common_dir) is None):
        return _already(repo)
    log_path = place.state_dir(repo.common_dir) / "log" / "daemon.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    start = log_path.stat().st_size if log_path.exists() else 0
    reading, writing = os.pipe()
    try:
        process.start_detached(
            [sys.executable, "-m", "gitagent.cli", "-C", str(repo.common_dir), "up"],
            env={**os.environ, READY_FD: str(writing)},
            cwd=Path("/"),
            log=log_path,
            pass_fds=(writing,),
        )
        os.close(writing)
        told = _word(reading)
    finally:
        os.close(reading)
    if told == b"ready\n" or _ask(repo, "poke"):
        return 0
    with log_path.open("rb") as lines:
        lines.seek(start)
        last = lines.read().decode(errors="replace").strip().splitlines()
    reason = last[-1].removeprefix("gitagent: ") if last else "no word from it"
    raise GitagentError(f"the daemon did not start: {reason}", f"see {log_path}")


def _ask(repo: Repository, what: str) -> bool:
    """Ask the daemon for something; False: none listens."""
    return ask(place.socket_path(repo.common_dir), {"op": what}, ASK_S) is not None


def _word(fd: int) -> bytes:
    """Return the one word a starting daemon says, or nothing if it ends or hangs."""
    poll = select.poll()
    poll.register(fd, select.POLLIN | select.POLLHUP)
    return os.read(fd, 64) if poll.poll(START_S * 1000) else b""


def down(repo: Repository) -> bool:
    """Stop the daemon and wait until it is gone; False if none runs."""
    there = holder(repo.common_dir)
    if not _ask(repo, "down"):
        if there is None:
            return False
        kin.terminate(there.pid, there.ticks)
    lock = _acquire_within(repo, STOP_S + 10.0)
    if lock is None:
        raise Busy("the daemon is still stopping its workers", "try again")
    lock.release()
    return True


def _acquire_within(repo: Repository, seconds: float) -> DaemonLock | None:
    deadline = clock.monotonic() + seconds
    while (lock := DaemonLock.acquire(repo.common_dir)) is None:
        if clock.monotonic() > deadline:
            return None
        clock.sleep(0.02)
    return lock


def land_now(repo: Repository, submission_id: str, tell: Tell) -> Submission:
    """Do the lander's work until one submission is settled; for when no daemon runs.

    Its news are told. Raises Busy when a daemon or another command holds the lock.
    """
    lock = DaemonLock.acquire(repo.common_dir)
    if lock is None:
        raise Busy("a daemon or another command is at work here", "try again")
    wake = clock.Wake()
    loop = Loop(repo, wake, work=False)
    follower = Follower(repo, submission_id, tell)

    def settled(snapshot: Snapshot) -> bool:
        submission = snapshot.submissions[submission_id]
        follower.look(submission, lineup.present(loop.live, snapshot))
        return submission.settled

    try:
        with _signals(wake) as stop, swift(repo.git):
            recover.orphans(repo)
            recover.locks(repo)
            loop.run(lambda snapshot: settled(snapshot) or bool(stop))
            loop.stopping = True
            loop.live.stop_all()
            loop.run(lambda _: not loop.live.busy)
    finally:
        lock.release()
    loop.teller.close()
    assert loop.snapshot is not None  # noqa: S101 - at least one turn was taken
    return loop.snapshot.submissions[submission_id]
