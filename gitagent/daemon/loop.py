"""Read, decide, enact; and again when something may have changed.

Events only wake the loop. What it knows it reads anew each turn, so an event that was
missed, doubled or late does no harm, and a restart is the same loop.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from gitagent.core.action import (
    Action,
    AddTask,
    DropRef,
    Land,
    Look,
    MoveDone,
    Prepare,
    PushTarget,
    RecoverAttempt,
    Remember,
    StartAttempt,
    StartRun,
    Submit,
    WriteSubmission,
    WriteTask,
)
from gitagent.core.archive import decide_archive
from gitagent.core.decide import decide
from gitagent.core.settings import SandboxMode, Settings
from gitagent.core.snapshot import Live as Facts
from gitagent.core.snapshot import Machine, Moment, Snapshot
from gitagent.core.task import AttemptEnd
from gitagent.daemon import crash
from gitagent.daemon.enact import Enactor
from gitagent.daemon.live import Live, Prepared, PushEnd, RulingEnd, RunEnd, Started
from gitagent.daemon.moment import moment
from gitagent.daemon.read import Reader
from gitagent.daemon.telling import Teller
from gitagent.daemon.tools import Tools
from gitagent.errors import GitagentError, LostRace
from gitagent.git.checkout import Pool
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import product_tree
from gitagent.host import boot, clock, place, sandbox
from gitagent.host.engine import LocalEngine
from gitagent.host.log import log
from gitagent.lander import receipts
from gitagent.lander.environment import environment
from gitagent.lander.prepare import unpin
from gitagent.worker.models import Models

POLL_S = 5.0  # a missed event costs at most this; the audit promises 5 s
ERROR_S = 10.0  # first pause after an effect that failed, such as on a full disk
ERROR_MAX_S = 600.0
LOW_DISK = 256 * 1024 * 1024  # bytes without which nothing is started or landed
# No figure that changes: each other reason is one more record on that disk.
_FULL = f"The disk is nearly full, below {LOW_DISK >> 20} MiB at {{}}; make room."
ARCHIVE_S = 3600.0
CORES = len(os.sched_getaffinity(0))
PUSH_S = (2.0, 60.0)  # first and longest pause before a push is tried again
LOOK_S = 300.0  # between two looks at what the remote has, if nothing is pushed
SPIN = 50  # turns in a row that did something, before something must be wrong


@dataclass(slots=True)
class Loop:
    """The loop of one daemon, or of a command that does the daemon's work."""

    repo: Repository
    wake: clock.Wake
    work: bool = True  # False: no attempt is started or recovered
    live: Live = field(init=False)
    reader: Reader = field(init=False)
    models: Models = field(init=False)
    enactor: Enactor = field(init=False)
    teller: Teller = field(init=False)
    snapshot: Snapshot | None = None  # of the newest turn
    stopping: bool = False  # what ends is still accounted for; nothing begins
    _archived: float = 0.0
    _failed: Counter[str] = field(default_factory=Counter)
    _problem: str = ""
    _digest: tuple[Settings, str] | None = None

    def __post_init__(self) -> None:
        """Make the parts that one thread owns."""
        self.live = Live(self.wake)
        self.reader = Reader(self.repo)
        self.teller = Teller(self.repo)
        root = place.cache_root(self.repo.common_dir)
        pool = Pool(self.repo, root / "checkouts")
        engine = LocalEngine(place.owner(self.repo.common_dir))
        self.models = Models(self.repo)
        self.enactor = Enactor(self.repo, engine, pool, self.live, self.models)

    def run(self, until: Callable[[Snapshot], bool]) -> None:
        """Take turns until ``until`` says so of the newest snapshot."""
        busy = 0
        while True:
            acted = self.turn()
            if self.snapshot is not None and until(self.snapshot):
                return
            busy = busy + 1 if acted else 0
            if not acted:
                due = self.live.next_due()
                self.wake.wait(POLL_S if due is None else min(POLL_S, max(0.0, due)))
            elif busy > SPIN:
                # Every action changes what the next read sees; one that does not would
                # turn the loop into a hot one.
                self.wake.wait(1.0)

    def turn(self) -> bool:
        """Read, decide and enact once; return whether anything was done.

        An effect that failed is logged and put off; it never ends the loop.
        """
        try:
            with self.repo.objects() as objects:
                return self._turn(objects)
        except GitagentError as error:
            if error.line() != self._problem:
                self._problem = error.line()
                log("gitagent", self._problem)
        except Exception as error:  # noqa: BLE001 - of ours; the next turn may be better
            if repr(error) != self._problem:
                self._problem = repr(error)
                log("gitagent", crash.report(error, lambda: self.repo))
        return False

    def _turn(self, objects: Objects) -> bool:
        heard = self._hear(objects)
        now = moment()
        self._follow(objects)
        snapshot = self.reader.read(objects, self._live(), self._machine)
        self.snapshot = snapshot
        self._problem = ""
        self.teller.turn(objects, snapshot, now)
        if self._caught_up(objects, snapshot):
            return True
        self._let_go()
        acted = False
        for actions in _together(self._decide(snapshot, now)):
            try:
                self.enactor.enact(actions, snapshot, objects, now)
            except LostRace:
                return True
            except Exception as error:  # noqa: BLE001 - of ours, and no end of the loop
                self._put_off(actions[0], error)
                continue
            acted = True
            # That a run was started says nothing about how it ends.
            for action in actions:
                if not isinstance(action, StartRun):
                    self._failed.pop(subject(action), None)
        return acted or heard

    def _decide(self, snapshot: Snapshot, now: Moment) -> list[Action]:
        actions = decide(snapshot, now)
        if now.monotonic >= self._archived + ARCHIVE_S:
            self._archived = now.monotonic
            actions += decide_archive(snapshot, now)
        if self.stopping:
            actions = [a for a in actions if isinstance(a, WriteTask)]
        elif not self.work:
            starts = (StartAttempt, RecoverAttempt, AddTask, Remember)
            actions = [a for a in actions if not isinstance(a, starts)]
        return [
            a for a in actions if self.live.waits.get(subject(a), 0.0) <= now.monotonic
        ]

    def _put_off(self, action: Action, error: Exception) -> None:
        key = subject(action)
        self._failed[key] += 1
        match error:
            case GitagentError():
                line = error.line()
            case OSError():
                line = str(error)
            case _:
                line = crash.report(error, lambda: self.repo)
        if self._failed[key] == 1:
            log("gitagent", f"{key}: {line}")
        if isinstance(action, Land):
            for step in action.steps:
                self.live.held[step.submission.id] = line
                self.live.wait(f"land {step.submission.id}", self._pause(key))
            self.live.candidates.clear()
        self.live.wait(key, self._pause(key))

    def _pause(self, key: str) -> float:
        """Return how long to leave alone what failed; longer each time."""
        return min(ERROR_S * 2.0 ** min(self._failed[key] - 1, 10), ERROR_MAX_S)

    def _hear(self, objects: Objects) -> bool:
        """Take in what threads reported."""
        reports = self.live.reports()
        for report in reports:
            match report:
                case AttemptEnd(task=task):
                    self.live.ended[task] = report
                case Started(task, pid, ticks):
                    self.live.pids[task] = (pid, ticks)
                case RunEnd():
                    self._judged(objects, report)
                case PushEnd():
                    self._pushed(report)
                case Prepared():
                    self._prepared(report)
                case RulingEnd():
                    self._ruled(report)
        return bool(reports)

    def _judged(self, objects: Objects, ended: RunEnd) -> None:
        """Keep the receipt of a run; one that cannot be kept is run again."""
        problem = ended.error
        key = f"run {ended.key[0]}"
        try:
            if ended.receipt is not None:
                kept = receipts.store(self.repo, objects, ended.receipt, ended.output)
                log("check", f"{kept.check} {kept.result} in {kept.seconds:.1f} s")
        except (GitagentError, OSError) as error:
            problem = f"its receipt could not be kept: {error}"
        finally:
            run = self.live.runs.pop(ended.key, None)
        if not problem:
            self._failed.pop(key, None)
            self.live.troubles.pop(ended.key[0], None)
            return
        self._failed[key] += 1
        if self._failed[key] == 1:
            log("check", problem)
        if run is not None:
            said = f"Check {run.check} cannot run: {problem}"
            self.live.troubles[ended.key[0]] = said
        self.live.wait(key, self._pause(key))

    def _prepared(self, report: Prepared) -> None:
        """Keep candidates, if the target is still where they were made."""
        live = self.live
        live.candidates |= {each.key: each for each in report.candidates}
        if not report.done:
            return
        live.preparing = False
        key = f"Prepare {report.submission}"
        if not report.error:
            self._failed.pop(key, None)
            return
        self._failed[key] += 1
        if self._failed[key] == 1:
            log("queue", report.error)
        if report.submission:
            live.held[report.submission] = report.error
        live.wait(key, self._pause(key))

    def _ruled(self, report: RulingEnd) -> None:
        """Take up the next ruling; one that could not be made is put off."""
        self.live.remembering = ""
        key = f"remember {report.task}"
        if not report.error:
            self._failed.pop(key, None)
            return
        self._failed[key] += 1
        if self._failed[key] == 1:
            log(report.task, f"what it proposes is not ruled on yet: {report.error}")
        self.live.wait(key, self._pause(key))

    def _follow(self, objects: Objects) -> None:
        """Keep the candidates that are still right on the target as it is now.

        What only moves records, such as a new task, leaves every product as it was.
        """
        ref = self.snapshot.target.ref if self.snapshot else None
        new = None if ref is None else objects.ref(ref)
        bases = {base for base, _ in self.live.candidates}
        if new is None or bases <= {new}:
            return
        for old in bases - {new}:
            bare = self.live.candidates.get((old, ()))
            tree = objects.commit(new).tree
            if (
                bare is not None
                and objects.kind(old) is not None
                and bare.product == product_tree(objects, tree)
                and objects.ancestor(old, new)
            ):
                self.live.carry(old, (), new)
                return
        self.live.candidates.clear()

    def _let_go(self) -> None:
        """Drop the pins of candidates that are neither checked nor about to land."""
        used = {run.candidate.product for run in self.live.runs.values()}
        made = self.live.candidates.values()
        used |= {each.product for each in made if each.tips}
        stale = [each for each in self.live.pins.values() if each.product not in used]
        for each in stale:
            del self.live.pins[each.commit]
        unpin(self.repo, stale)

    def _pushed(self, ended: PushEnd) -> None:
        live = self.live
        live.pushing = False
        live.push_error = ended.error
        live.wait("remote", LOOK_S)
        if not ended.error:
            if ended.remote is not None and ended.remote != live.remote:
                log("push", f"the remote has moved to {ended.remote[:12]}")
            live.remote = ended.remote
            live.pushed |= set(ended.submissions)
            live.push_failures = 0
            live.waits.pop("push", None)
            return
        log("push", ended.error)
        first, longest = PUSH_S
        live.wait("push", min(longest, first * 2**live.push_failures))
        live.push_failures += 1

    def _caught_up(self, objects: Objects, snapshot: Snapshot) -> bool:
        """Whether the target has by now what the remote had beyond it."""
        there, here = self.live.remote, snapshot.target.commit
        if there is None or here is None or not objects.ancestor(there, here):
            return False
        self.live.remote = None
        return True

    def _live(self) -> Facts:
        view = self.live.view()
        settings = self.snapshot.settings if self.snapshot else None
        return replace(
            view,
            providers=self.models.held(),
            spent_out=self.models.spent_out(settings) if settings else "",
        )

    def _environment(self, settings: Settings) -> str:
        """Return the digest of the environment; made anew for new settings alone."""
        if self._digest is None or self._digest[0] is not settings:
            self._digest = settings, environment(settings)
        return self._digest[1]

    def _machine(self, settings: Settings | None) -> Machine:
        confined = settings is None or settings.sandbox.mode is SandboxMode.REQUIRED
        full = place.cache_problem(self.repo.common_dir)
        root = place.cache_root(self.repo.common_dir)
        if full is None and place.free_bytes(root) < LOW_DISK:
            full = _FULL.format(root)
        return Machine(
            sandbox=sandbox.probe() if confined else None,
            environment=self._environment(settings) if settings else "",
            full=full,
            boot=boot.boot_id(),
            cores=CORES,
            agents=Tools().agents(),
        )


def _together(actions: list[Action]) -> Iterator[list[Action]]:
    """Group what is written at once: what follows each other and is of one kind."""
    for kind, group in groupby(actions, key=type):
        if kind in {DropRef, Submit, WriteSubmission}:
            yield list(group)
        else:
            yield from ([each] for each in group)


def subject(action: Action) -> str:  # noqa: C901 - one arm an action
    """Return the key under which an action is put off, as the decision knows it."""
    match action:
        case Land(steps=steps):
            return f"land {steps[0].submission.id}"
        case Prepare():
            return "Prepare "
        case Look(submission=submission):
            return f"look {submission.id}"
        case MoveDone(record=record):
            return f"done {record.id}"
        case AddTask(submission=submission):
            return f"distil {submission.id}"
        case Remember(record=record):
            return f"remember {record.id}"
        case StartAttempt(new=record):
            return f"task {record.id}"
        case PushTarget():
            return "push"
        case StartRun(key=key):
            return f"run {key}"
        case DropRef(ref=ref):
            return f"DropRef {ref}"
        case _:
            what = type(action).__name__
            of = getattr(action, "new", None) or getattr(action, "submission", None)
            return f"{what} {getattr(of, 'id', of or '')}"
