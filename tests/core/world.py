"""A world without Git: it enacts what the core decides, so schedules can be tried.

Truth about submissions (does it conflict, what do its checks do) is given from
outside; the core never sees it but through candidates and receipts.
"""

from dataclasses import dataclass, field, replace

from gitagent.core import action as act
from gitagent.core.answering import Taken, answered
from gitagent.core.approval import Approval
from gitagent.core.candidate import Candidate, Change, Key, PathChange, carried
from gitagent.core.decide import decide
from gitagent.core.question import AnswerFile, Asker, Misfit, Question, parse
from gitagent.core.receipt import Receipt, Result, check_key
from gitagent.core.settings import Check, Lander, LanderMode, Settings, Worker
from gitagent.core.snapshot import Live, Machine, Moment, Offer, Snapshot, Target
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.switch import RUNNING, Position, Switch
from gitagent.core.task import (
    SETTLED,
    TRANSITIONS,
    AttemptEnd,
    Outcome,
    TaskFile,
    TaskRecord,
)

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
    bases: list[str] = field(default_factory=lambda: ["t0"])  # targets, oldest first
    target: str = "t0"
    product: str = "p0"
    tasks: dict[str, TaskFile] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    answer_files: dict[str, AnswerFile] = field(default_factory=dict)
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
    slow: bool = False  # what is merged or stopped takes time
    merging: act.Prepare | None = None
    halting: set[tuple[str, int]] = field(default_factory=set)
    history: list[tuple[act.StartRun, Result]] = field(default_factory=list)
    candidates: dict[Key, Candidate] = field(default_factory=dict)
    waits: dict[str, float] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    conflicting: set[str] = field(default_factory=set)  # tips, with everything
    clashes: set[frozenset[str]] = field(default_factory=set)  # tips, with each other
    bad: set[str] = field(default_factory=set)  # tips that the checks fail on
    bad_together: set[frozenset[str]] = field(default_factory=set)  # tips
    repairs: dict[str, str] = field(default_factory=dict)  # tip: bad one that it mends
    brings: dict[str, Settings] = field(default_factory=dict)  # tip: new settings
    in_the_way: bool = False
    sandbox: str | None = None
    cores: int = 2
    switch: Switch = RUNNING
    direct: tuple[str, ...] = ()
    needs_approval: set[str] = field(default_factory=set)  # tips
    approvals: dict[str, Approval] = field(default_factory=dict)
    below: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by tip: tips
    written: int = 0  # records of submissions
    log: list[act.Action] = field(default_factory=list)
    landings: list[tuple[str, str]] = field(default_factory=list)  # (id, product)

    def __post_init__(self) -> None:
        self.vouch()

    def vouch(self) -> None:
        """Let every check of the settings have passed on the target as it is."""
        for check in self.settings.check:
            key = check_key(check, self.product, "env", (self.target,))
            run = act.StartRun((), Candidate(self.target, ()), check, key, 1)
            self.receipts[key] = (self.receipt(run, Result.PASSED, self.product),)

    def now(self) -> Moment:
        stamp = f"2026-11-30T{self.clock // 3600:02}:{self.clock // 60 % 60:02}"
        stamp += f":{self.clock % 60:02}"
        return Moment(f"{stamp}Z", f"{stamp}.{len(self.log):06}Z", float(self.clock))

    def snapshot(self) -> Snapshot:
        return Snapshot(
            target=Target(
                "refs/heads/main", self.target, "tree", "config", direct=self.direct
            ),
            settings=self.settings,
            tasks=dict(self.tasks),
            finished=frozenset(self.finished),
            answer_files=dict(self.answer_files),
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
                runs=frozenset(self.runs),
                halting=frozenset(self.halting),
                candidates=dict(self.candidates),
                preparing=self.merging is not None,
                waits=dict(self.waits),
                held=dict(self.held),
            ),
            machine=Machine(
                sandbox=self.sandbox, environment="env", boot="boot", cores=self.cores
            ),
            below=self.stacks(),
            approvals=dict(self.approvals),
            switch=self.switch,
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
                if submission.id not in self.submissions:
                    self.keep(submission)
            case act.WriteSubmission(old, new, _):
                return self.write_submission(old, new)
            case act.Prepare():
                assert self.merging is None
                self.merging = action
                if not self.slow:
                    self.merged()
            case act.StartRun():
                assert (action.key, action.run) not in self.runs
                assert action.run <= 2, "a third run"
                self.runs[action.key, action.run] = action
            case act.StopRuns(runs):
                assert runs <= self.runs.keys() - self.halting
                self.halting |= runs
                if not self.slow:
                    self.stopped()
            case act.Land(steps):
                return self.land(steps)
            case act.Look(submission):
                if self.in_the_way:
                    self.waits[f"land {submission.id}"] = self.clock + 2.0
                else:
                    self.held.pop(submission.id)
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
        if current.oid != old.oid:
            return False
        assert not old.settled or old.state is new.state, "a settled one changed"
        if new.state is SubmissionState.LANDED:
            assert new.tip in self.landed_tips, "landed, but not on the target"
        self.keep(new)
        return True

    def keep(self, submission: Submission) -> None:
        """Write a record."""
        self.written += 1
        oid = f"r{self.written}"
        self.submissions[submission.id] = replace(submission, oid=oid)

    def merged(self) -> None:
        """Let the candidates that are being made be there."""
        work, self.merging = self.merging, None
        assert work is not None
        if work.base == self.target:
            for line in work.lines:
                self.prepare(work.base, line)

    def stopped(self) -> None:
        """Let the runs that were told to stop be gone, without a receipt."""
        for key in self.halting:
            self.runs.pop(key, None)
        self.halting.clear()

    def prepare(self, base: str, line: tuple[Submission, ...]) -> None:
        """Merge a line onto the target."""
        self.candidates[base, ()] = Candidate(base, (), product=self.product)
        tips: tuple[str, ...] = ()
        for each in line:
            tips = (*tips, each.tip)
            step = Candidate(base, tips, each.id)
            if each.tip in self.landed_tips or each.tip in tips[:-1]:
                step = replace(step, contained=True)
            elif self.conflict(each.tip, tips[:-1]):
                final = self.conflict(each.tip, ())
                step = replace(step, conflicts=("same.py",), final=final)
            else:
                step = replace(
                    step,
                    product="+".join((self.product, *tips)),
                    changes=self.changes(each.tip),
                    settings=self.brings.get(each.tip),
                )
            self.candidates[step.key] = step
            if not step.product:
                return

    def conflict(self, tip: str, below: tuple[str, ...]) -> bool:
        """Whether a tip conflicts with the target with the tips ``below`` on it."""
        others = self.landed_tips.union(below)
        clash = any(tip in pair and pair - {tip} <= others for pair in self.clashes)
        return tip in self.conflicting or clash

    def is_red(self, tips: tuple[str, ...] = ()) -> bool:
        """Whether the checks fail on the target with these tips merged onto it."""
        there = self.landed_tips.union(tips)
        mended = {bad for tip, bad in self.repairs.items() if tip in there}
        pairs = any(pair <= there for pair in self.bad_together)
        return bool(self.bad & there - mended) or pairs

    def changes(self, tip: str) -> tuple[PathChange, ...]:
        path = ".agent/agents/x.md" if tip in self.needs_approval else f"{tip}.py"
        return (PathChange(path, Change.ADDED, 0, 0o100644, "", f"blob-{tip}"),)

    def land(self, steps: tuple[act.LandStep, ...]) -> bool:
        first, last = steps[0].candidate, steps[-1].candidate
        batch = self.settings.lander.mode is LanderMode.BATCH
        assert self.switch.position is not Position.PAUSED
        if first.base != self.target:
            self.candidates.clear()
            return False
        for k, step in enumerate(steps):
            assert step.candidate.tips == last.tips[: k + 1]
            old = self.submissions[step.submission.id]
            assert not old.settled
            if old.oid != step.submission.oid:
                return False
            self.keep(replace(step.submission, commit=f"c-{step.candidate.tip}"))
        if self.in_the_way:
            for step in steps:
                self.held[step.submission.id] = "Your edits are in the way: same.py."
                self.waits[f"land {step.submission.id}"] = self.clock + 2.0
            return True
        for step in steps:
            self.must_be_green(step.checked)
            approved = step.submission.id in self.approvals
            assert approved or step.candidate.tip not in self.needs_approval
            self.landed_tips.add(step.candidate.tip)
            self.landings.append((step.submission.id, step.checked))
            if step.submission.ends is not None:
                self.tasks.pop(step.submission.ends, None)
                self.finished.add(step.submission.ends)
        if batch:
            assert {step.checked for step in steps} == {last.product}
        else:
            assert all(step.checked == step.candidate.product for step in steps)
        for step in steps:
            brought = self.brings.get(step.candidate.tip)
            self.settings = brought or self.settings
        self.move_target(last.product, landed=last.tips)
        return True

    def must_be_green(self, product: str) -> None:
        for key in {r.key for r in self.all_receipts(product)}:
            results = [r.result for r in self.receipts[key]]
            assert Result.PASSED in results, "red product landed"
        green = {r.check for r in self.all_receipts(product)}
        assert green >= {check.name for check in self.settings.check}, "unchecked"

    def stacks(self) -> dict[str, tuple[str, ...]]:
        by_tip = {s.tip: s for s in self.submissions.values()}
        found = {}
        for upper in self.submissions.values():
            if not upper.settled:
                under = tuple(
                    by_tip[tip].id
                    for tip in self.below.get(upper.tip, ())
                    if tip in by_tip and tip not in self.landed_tips
                )
                if under:
                    found[upper.id] = under
        return found

    def all_receipts(self, product: str) -> list[Receipt]:
        return [
            r for group in self.receipts.values() for r in group if r.product == product
        ]

    # What people, workers and checks do.

    def move_target(self, product: str, landed: tuple[str, ...] | None = None) -> None:
        """Move the target: by a landing, by records alone, or by a new product."""
        self.clock += 1
        old, self.target = self.target, f"t{int(self.target[1:]) + 1}"
        self.bases.append(self.target)
        if landed is None and product != self.product:
            self.candidates.clear()
        known = self.candidates.values()
        self.candidates = carried(known, old, landed or (), self.target)
        self.product = product

    def end(
        self,
        task: str,
        outcome: Outcome,
        tip: str | None = None,
        reason: str = "why",
        questions: tuple[Question, ...] = (),
        asker: Asker = Asker.AGENT,
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
            questions=questions,
        )
        self.ended[task] = AttemptEnd(
            task, attempt, newest.base, tip is not None, asker=asker
        )

    def answer(self, task: str, *words: str, because: str = "") -> Taken | Misfit:
        """Let a person answer, as `gitagent answer` does."""
        said = parse(words)
        if isinstance(said, Misfit):
            return said
        record, at = self.records[task], self.now().stamp
        taken = answered(record, said, by="Ann <a@b>", at=at, because=because)
        if isinstance(taken, Taken):
            self.records[task] = taken.record
        return taken

    def answer_file(self, task: str, blob: str, *answers: tuple[int, str]) -> None:
        """Let a person commit an answer file."""
        self.answer_files[task] = AnswerFile(task, blob, answers, by="Bob <b@b>")
        self.move_target(self.product)

    def end_run(self, key: tuple[str, int], result: Result) -> None:
        """Let a check run end with a receipt."""
        run = self.runs.pop(key)
        self.halting.discard(key)
        self.history.append((run, result))
        receipt = self.receipt(run, result, run.candidate.product)
        self.receipts[run.key] = (*self.receipts.get(run.key, ()), receipt)

    def receipt(self, run: act.StartRun, result: Result, product: str) -> Receipt:
        return Receipt(
            check=run.check.name,
            key=run.key,
            product=product,
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

    def true_result(self, run: act.StartRun) -> Result:
        """Return how a run ends that is no flake."""
        # The target's tips when it began are part of the product's name.
        there = set(run.candidate.product.split("+"))
        mended = {bad for tip, bad in self.repairs.items() if tip in there}
        pairs = any(pair <= there for pair in self.bad_together)
        red = self.bad & there - mended or pairs
        return Result.FAILED if red else Result.PASSED

    def run_all(self) -> None:
        """Let every run end as it truly does until none is left."""
        self.settle()
        while self.runs:
            for key in list(self.runs):
                self.end_run(key, self.true_result(self.runs[key]))
            self.settle()

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
            self.halting,
            self.candidates,
            self.waits,
            self.held,
        ):
            book.clear()
        self.merging = None

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
