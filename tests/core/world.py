"""A world without Git: it enacts what the core decides, so schedules can be tried.

Truth about submissions (does it conflict, what do its checks do) is given from
outside; the core never sees it but through candidates and receipts.
"""

from dataclasses import dataclass, field, replace

from gitagent.core import action as act
from gitagent.core.candidate import Candidate
from gitagent.core.decide import decide
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Check, Lander, Settings, Worker
from gitagent.core.snapshot import (
    AttemptEnd,
    Live,
    Machine,
    Moment,
    Offer,
    Snapshot,
    Target,
)
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import SETTLED, TRANSITIONS, Outcome, TaskFile, TaskRecord

CHECKS = (
    Check(name="lint", run="make lint", group=1),
    Check(name="unit", run="make unit", group=1),
    Check(name="tests", run="make test", group=2),
)


def settings(**worker: object) -> Settings:
    return Settings(
        check=CHECKS, worker=Worker(**worker), lander=Lander(flaky_budget=99)
    )


@dataclass
class World:
    """Everything that Git and the machine would hold."""

    settings: Settings = field(default_factory=settings)
    clock: int = 0
    target: str = "t0"
    product: str = "p0"
    tasks: dict[str, TaskFile] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    records: dict[str, TaskRecord] = field(default_factory=dict)
    submissions: dict[str, Submission] = field(default_factory=dict)
    offers: dict[str, str] = field(default_factory=dict)
    contents: dict[str, frozenset[str]] = field(default_factory=dict)
    landed_tips: set[str] = field(default_factory=set)
    receipts: dict[str, tuple[Receipt, ...]] = field(default_factory=dict)
    attempts: dict[str, TaskRecord] = field(default_factory=dict)
    stops: dict[str, Outcome] = field(default_factory=dict)
    ended: dict[str, AttemptEnd] = field(default_factory=dict)
    runs: dict[tuple[str, int], act.StartRun] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    waits: dict[str, float] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    conflicting: set[str] = field(default_factory=set)
    in_the_way: bool = False
    sandbox: str | None = None
    log: list[act.Action] = field(default_factory=list)
    landings: list[tuple[str, str]] = field(default_factory=list)  # (id, product)

    def now(self) -> Moment:
        stamp = f"2026-11-30T{self.clock // 3600:02}:{self.clock // 60 % 60:02}"
        stamp += f":{self.clock % 60:02}"
        return Moment(f"{stamp}Z", f"{stamp}.{len(self.log):06}Z", float(self.clock))

    def snapshot(self) -> Snapshot:
        return Snapshot(
            target=Target("refs/heads/main", self.target, "tree", "config"),
            settings=self.settings,
            tasks=dict(self.tasks),
            finished=frozenset(self.finished),
            records=dict(self.records),
            submissions=dict(self.submissions),
            offers=tuple(
                Offer(ref, tip, "Ann <ann@example.com>")
                for ref, tip in sorted(self.offers.items())
            ),
            landed=frozenset(
                s.id
                for s in self.submissions.values()
                if not s.settled and s.commit and s.tip in self.landed_tips
            ),
            receipts=dict(self.receipts),
            live=Live(
                attempts=frozenset(self.attempts),
                stopping=frozenset(self.stops),
                ended=tuple(self.ended.values()),
                runs={key: run.submission for key, run in self.runs.items()},
                candidates=dict(self.candidates),
                waits=dict(self.waits),
                held=dict(self.held),
            ),
            machine=Machine(sandbox=self.sandbox, environment="env", boot="boot"),
        )

    def settle(self, turns: int = 60) -> None:
        """Decide and enact until nothing is left to do; a hot loop fails here."""
        for _ in range(turns):
            actions = decide(self.snapshot(), self.now())
            if not actions:
                return
            for action in actions:
                if not self.enact(action):
                    break
        raise AssertionError(f"still busy after {turns} turns: {self.log[-8:]}")

    def enact(self, action: act.Action) -> bool:  # noqa: C901, PLR0912
        """Make one effect; False if its compare-and-swap lost."""
        self.log.append(action)
        match action:
            case act.WriteTask(old, new, _):
                return self.write_task(old, new)
            case act.StartAttempt(old, new):
                if not self.write_task(old, new):
                    return False
                assert new.id not in self.attempts, "two workers for one task"
                self.attempts[new.id] = new
            case act.StopAttempt(task, outcome):
                self.stops[task] = outcome
                self.end(task, outcome)
            case act.RecoverAttempt(record):
                self.attempts[record.id] = record
                self.end(record.id, Outcome.INTERRUPTED)
            case act.Submit(submission):
                self.submissions.setdefault(submission.id, submission)
            case act.WriteSubmission(old, new, _):
                return self.write_submission(old, new)
            case act.Prepare(submission, base):
                self.candidates[submission.id] = self.prepare(submission, base)
            case act.StartRun():
                assert (action.key, action.run) not in self.runs
                self.runs[action.key, action.run] = action
            case act.StopRuns(submission, wanted):
                self.runs = {
                    key: run
                    for key, run in self.runs.items()
                    if run.submission != submission or key[0] in wanted
                }
            case act.Land(submission, candidate, record):
                self.land(submission, candidate, record)
            case act.MoveDone(record):
                self.tasks.pop(record.id, None)
                self.finished.add(record.id)
                self.move_target(self.product)
            case act.PushTarget():
                self.waits["push"] = float("inf")
            case act.DropRef(ref, _):
                self.offers.pop(ref, None)
        return True

    def write_task(self, old: TaskRecord | None, new: TaskRecord) -> bool:
        current = self.records.get(new.id)
        if current != old:
            return False
        before = old.state if old else None
        assert new.state is before or new.state in TRANSITIONS[before], (before, new)
        self.records[new.id] = new
        if new.id in self.ended:
            for book in (self.attempts, self.ended, self.stops):
                book.pop(new.id, None)
        return True

    def write_submission(self, old: Submission, new: Submission) -> bool:
        current = self.submissions[new.id]
        if current != old:
            return False
        assert not old.settled or old.state is new.state, "a settled one changed"
        if new.state is SubmissionState.LANDED:
            assert new.tip in self.landed_tips, "landed, but not on the target"
        self.submissions[new.id] = new
        if new.settled:
            self.candidates.pop(new.id, None)
        return True

    def prepare(self, submission: Submission, base: str) -> Candidate:
        tip = submission.tip
        if tip in self.landed_tips:
            return Candidate(base, tip, contained=True)
        if tip in self.conflicting:
            return Candidate(base, tip, conflicts=("same.py",))
        product = f"{self.product}+{tip}"
        return Candidate(base, tip, tree=f"tree {product}", product=product)

    def land(
        self, submission: Submission, candidate: Candidate, record: TaskRecord | None
    ) -> None:
        current = self.submissions[submission.id]
        self.submissions[submission.id] = replace(
            submission, commit=f"c-{candidate.tip}"
        )
        del current
        if self.in_the_way:
            self.held[submission.id] = "Your edits are in the way: same.py."
            self.waits[f"land {submission.id}"] = self.clock + 2.0
            return
        if candidate.base != self.target:
            return
        for key in {r.key for r in self.all_receipts(candidate.product)}:
            results = [r.result for r in self.receipts[key]]
            assert Result.PASSED in results, "red product landed"
        green = {r.check for r in self.all_receipts(candidate.product)}
        assert green >= {check.name for check in self.settings.check}, "unchecked"
        self.landed_tips.add(submission.tip)
        self.landings.append((submission.id, candidate.product))
        if record is not None:
            self.tasks.pop(record.id, None)
            self.finished.add(record.id)
        self.move_target(candidate.product)

    def all_receipts(self, product: str) -> list[Receipt]:
        return [
            r for group in self.receipts.values() for r in group if r.product == product
        ]

    # What people, workers and checks do.

    def move_target(self, product: str) -> None:
        self.clock += 1
        self.target = f"t{int(self.target[1:]) + 1}"
        self.product = product

    def end(
        self, task: str, outcome: Outcome, tip: str | None = None, reason: str = "why"
    ) -> None:
        """Let the live attempt of a task end."""
        record = self.attempts[task]
        newest = record.newest
        assert newest is not None
        attempt = replace(
            newest,
            ended=self.now().stamp,
            outcome=outcome,
            exit_code=0,
            tip=tip or newest.base,
            reason="" if outcome is Outcome.OK else reason,
        )
        self.ended[task] = AttemptEnd(task, attempt, newest.base, tip is not None)

    def end_run(self, key: tuple[str, int], result: Result) -> None:
        """Let a check run end with a receipt."""
        run = self.runs.pop(key)
        receipt = Receipt(
            check=run.check.name,
            key=run.key,
            product=run.candidate.product,
            run=run.run,
            command=run.check.run,
            result=result,
            exit_code=0 if result is Result.PASSED else 1,
            seconds=1.0,
            started=self.now().stamp,
            sandbox="required",
            environment="env",
            output="blob",
            tail=f"{run.check.name} {result}",
            place=f"refs/gitagent/receipts/2026-11:{run.key}-{run.run}",
        )
        self.receipts[run.key] = (*self.receipts.get(run.key, ()), receipt)

    def pass_all(self) -> None:
        """Let every run pass until none is left."""
        self.settle()
        while self.runs:
            for key in list(self.runs):
                self.end_run(key, Result.PASSED)
            self.settle()

    def crash(self) -> None:
        """Lose what a daemon keeps in memory."""
        for book in (
            self.attempts,
            self.stops,
            self.ended,
            self.runs,
            self.candidates,
            self.waits,
            self.held,
        ):
            book.clear()

    def add_task(self, task_id: str, blob: str = "b1", **fields: object) -> TaskFile:
        task = TaskFile(
            id=task_id, blob=blob, title=task_id, text="", scripts=("true",), **fields
        )
        self.tasks[task_id] = task
        self.finished.discard(task_id)
        self.move_target(self.product)
        return task

    def open_tasks(self) -> list[TaskRecord]:
        return [r for r in self.records.values() if r.state not in SETTLED]
