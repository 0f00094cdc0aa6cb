"""What runs inside this daemon: worker threads, check threads, what they reported.

Threads only report; the loop takes the reports in at the start of a turn. Nothing
here survives a restart, and nothing here has to.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from gitagent.core import snapshot
from gitagent.core.candidate import Candidate, Key, carried
from gitagent.core.receipt import Receipt
from gitagent.core.task import AttemptEnd, Outcome
from gitagent.host.clock import Wake, monotonic, stamp
from gitagent.host.process import Cancel
from gitagent.worker.attempt import Stop


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A check run that ended; receipt None means that it was stopped."""

    key: tuple[str, int]
    receipt: Receipt | None
    output: bytes = b""
    error: str = ""  # why it could not be run; empty if it was, or was stopped


@dataclass(frozen=True, slots=True)
class Started:
    """A worker's outermost process is there."""

    task: str
    pid: int
    ticks: int


@dataclass(frozen=True, slots=True)
class PushEnd:
    """A push of the target ended, or a look at what the remote has."""

    submissions: tuple[str, ...]  # that the remote has now
    error: str  # empty: nothing went wrong
    remote: str | None = None  # commit that the remote has and the target lacks


@dataclass(frozen=True, slots=True)
class Prepared:
    """Candidates that were made; ``done``: it was the end of what was asked for."""

    candidates: tuple[Candidate, ...]
    done: bool = False
    error: str = ""  # why it ended early; empty if it did not
    submission: str = ""  # the one that it is about


@dataclass(frozen=True, slots=True)
class RulingEnd:
    """A ruling on what was proposed for the memory has ended."""

    task: str  # that proposed it
    error: str = ""  # why there is none; empty if it is on record


Report = AttemptEnd | RunEnd | Started | PushEnd | Prepared | RulingEnd


@dataclass(slots=True)
class Run:
    """One check run under way."""

    submissions: tuple[str, ...]  # in the candidate, in order
    candidate: Candidate
    check: str
    since: float  # monotonic
    cancel: Cancel = field(default_factory=Cancel)


class Live:
    """The mutable side of ``core.snapshot.Live``; belongs to the loop's thread."""

    def __init__(self, wake: Wake) -> None:
        self.wake = wake
        self.attempts: dict[str, Stop] = {}
        self.since: dict[str, str] = {}  # by task, UTC
        self.pids: dict[str, tuple[int, int]] = {}
        self.ended: dict[str, AttemptEnd] = {}
        self.runs: dict[tuple[str, int], Run] = {}
        self.candidates: dict[Key, Candidate] = {}
        self.preparing = False
        self.pins: dict[str, Candidate] = {}  # by commit
        self.troubles: dict[str, str] = {}  # check key: why it cannot be run
        self.waits: dict[str, float] = {}
        self.held: dict[str, str] = {}
        self.races: dict[str, int] = {}
        self.pushed: frozenset[str] = frozenset()
        self.push_error = ""
        self.remote: str | None = None
        self.push_failures = 0
        self.pushing = False
        self.remembering = ""  # task whose proposals are being ruled on
        self.halt = Cancel()  # of that
        self._reports: SimpleQueue[Report] = SimpleQueue()

    def view(self) -> snapshot.Live:
        """Return the facts that a decision may be based on."""
        return snapshot.Live(
            attempts=frozenset(self.attempts),
            stopping=frozenset(
                task for task, stop in self.attempts.items() if stop.is_set()
            ),
            pids=dict(self.pids),
            ended=tuple(self.ended.values()),
            runs=frozenset(self.runs),
            halting=frozenset(
                key for key, run in self.runs.items() if run.cancel.is_set()
            ),
            candidates=dict(self.candidates),
            preparing=self.preparing,
            waits=dict(self.waits),
            held=dict(self.held),
            troubles=dict(self.troubles),
            pushed=self.pushed,
            push_error=self.push_error,
            remote=self.remote,
            remembering=self.remembering,
        )

    def start(self, name: str, work: Callable[[], Report | None]) -> None:
        """Run ``work`` in a thread that lives as long as what it spawns.

        What it returns is reported; None if it has reported by itself.
        """

        def body() -> None:
            ended = work()
            if ended is not None:
                self.report(ended)

        threading.Thread(target=body, name=name, daemon=True).start()

    def report(self, report: Report) -> None:
        """Hand something to the loop; for any thread."""
        self._reports.put(report)
        self.wake.set()

    def reports(self) -> list[Report]:
        """Take what was reported since the last call."""
        found: list[Report] = []
        while True:
            try:
                found.append(self._reports.get_nowait())
            except Empty:
                return found

    def began(self, task: str, stop: Stop) -> None:
        """Note that a worker's thread is about to start."""
        self.attempts[task] = stop
        self.since[task] = stamp()

    def forget(self, task: str) -> None:
        """Drop an attempt that is accounted for."""
        for book in (self.attempts, self.since, self.pids, self.ended):
            book.pop(task, None)

    def carry(self, base: str, tips: tuple[str, ...], new: str) -> None:
        """Keep the candidates on ``base`` that begin with ``tips`` for ``new``."""
        known = self.candidates.values()
        self.candidates = carried(known, base, tips, new)

    def stop_all(self) -> None:
        """Tell every worker and every check to end, because the daemon does."""
        for stop in self.attempts.values():
            if not stop.is_set():
                stop.order(Outcome.INTERRUPTED)
        for run in self.runs.values():
            run.cancel.set()
        self.halt.set()

    @property
    def busy(self) -> bool:
        """Whether anything runs or waits to be accounted for."""
        threads = (self.attempts, self.runs, self.pushing, self.preparing)
        return any(map(bool, threads)) or bool(self.remembering)

    def wait(self, key: str, seconds: float) -> None:
        """Let nothing be tried under ``key`` for some seconds."""
        self.waits[key] = monotonic() + seconds

    def next_due(self) -> float | None:
        """Return the seconds until the first wait is over, None without one."""
        now = monotonic()
        self.waits = {key: due for key, due in self.waits.items() if due > now}
        return min(self.waits.values()) - now if self.waits else None
