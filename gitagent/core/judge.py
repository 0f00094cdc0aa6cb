"""What the receipts of a candidate say: which checks lack a run, which say no."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gitagent.core.action import StartRun
from gitagent.core.candidate import Candidate
from gitagent.core.glob import named
from gitagent.core.receipt import Receipt, Result, Verdict, check_key, verdict
from gitagent.core.settings import Check, Settings
from gitagent.core.snapshot import Snapshot
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import TaskFile

FLAKY_WINDOW = 10  # landings that the flaky budget looks back on
_RUN = {Verdict.MISSING: 1, Verdict.AGAIN: 2}
_SHOWN = {
    Verdict.MISSING: "waiting",
    Verdict.AGAIN: "waiting",
    Verdict.PASSED: "passed",
    Verdict.FLAKY: "flaky",
    Verdict.FAILED: "failed",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One check of a candidate and the receipts that its key has."""

    check: Check
    key: str
    receipts: tuple[Receipt, ...]  # oldest first
    running: bool

    @property
    def verdict(self) -> Verdict:
        """What the receipts say together."""
        return verdict(self.receipts)

    @property
    def green(self) -> bool:
        """Whether the check lets the candidate pass."""
        return self.verdict in {Verdict.PASSED, Verdict.FLAKY}


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that says no."""

    judged: Judged
    reason: str


def all_checks(
    settings: Settings, submission: Submission, task: TaskFile | None
) -> tuple[Check, ...]:
    """Return the target's checks, then what the task accepts and the worker claims."""
    last = max((check.group for check in settings.check), default=0) + 1
    accept = task.accept if task else ()
    extra = [
        *((f"accept-{i}", run) for i, run in enumerate(accept, 1)),
        *((f"claim-{i}", run) for i, run in enumerate(submission.commands, 1)),
    ]
    return (
        *sorted(settings.check, key=lambda check: check.group),
        *(Check(name=name, run=run, group=last) for name, run in extra),
    )


def judge(
    checks: tuple[Check, ...], candidate: Candidate, snapshot: Snapshot
) -> tuple[Judged, ...]:
    """Match each check with the receipts that may stand for it."""
    parents = (candidate.base, candidate.tip)
    environment = snapshot.machine.environment
    return tuple(
        Judged(
            check,
            key := check_key(check, candidate.product, environment, parents),
            snapshot.receipts.get(key, ()),
            any((key, run) in snapshot.live.runs for run in _RUN.values()),
        )
        for check in checks
    )


def missing_runs(
    submission: Submission,
    candidate: Candidate,
    judged: tuple[Judged, ...],
    failed: tuple[Failure, ...],
) -> Iterator[StartRun]:
    """Yield the runs that the first group which does not pass still lacks."""
    no = {failure.judged.key for failure in failed}
    for group in sorted({j.check.group for j in judged}):
        members = [j for j in judged if j.check.group == group]
        for j in members:
            run = _RUN.get(j.verdict)
            if run and not j.running:
                yield StartRun(submission.id, candidate, j.check, j.key, run)
        if not all(j.green and j.key not in no for j in members):
            return


def failures(
    judged: tuple[Judged, ...], settings: Settings, snapshot: Snapshot
) -> tuple[Failure, ...]:
    """Return every check that says no, not only the first."""
    found = []
    for j in judged:
        if j.verdict is Verdict.FAILED:
            found.append(Failure(j, _why(j)))
        elif j.verdict is Verdict.FLAKY:
            flaky = _flaky(j.check.name, snapshot)
            if flaky >= settings.lander.flaky_budget:
                why = (
                    f"Check {j.check.name} passed only at the second try, and did so "
                    f"in {flaky} of the last {FLAKY_WINDOW} landings: its flaky budget "
                    "is used up."
                )
                found.append(Failure(j, why))
    return tuple(found)


def _why(judged: Judged) -> str:
    check, last = judged.check, judged.receipts[-1]
    match last.result:
        case Result.CHANGED:
            paths = named(last.changed)
            return f"Check {check.name} changed what it was to judge: {paths}."
        case Result.TIMEOUT:
            return f"Check {check.name} ran past its {check.timeout} s twice."
        case Result.BROKEN:
            return f"Check {check.name} could not be run (exit {last.exit_code})."
        case _:
            return f"Check {check.name} failed twice (exit {last.exit_code})."


def _flaky(name: str, snapshot: Snapshot) -> int:
    """Count the newest landings in which a check was flaky."""
    settled = sorted(
        (s for s in snapshot.submissions.values() if s.state is SubmissionState.LANDED),
        key=lambda s: s.since,
    )
    return sum(
        any(line.name == name and line.state == "flaky" for line in s.checks)
        for s in settled[-FLAKY_WINDOW:]
    )


def lines(
    judged: tuple[Judged, ...], starting: tuple[StartRun, ...] = ()
) -> tuple[CheckLine, ...]:
    """Return the checks as people see them, ``starting`` counted as running."""
    keys = {run.key for run in starting}
    return tuple(_line(j, running=j.running or j.key in keys) for j in judged)


def _line(judged: Judged, *, running: bool) -> CheckLine:
    line = CheckLine(
        judged.check.name, "running" if running else _SHOWN[judged.verdict]
    )
    if not judged.receipts:
        return line
    last = judged.receipts[-1]
    return replace(line, seconds=last.seconds, receipt=last.place)


def failing_output(found: tuple[Failure, ...]) -> str:
    """Return the tails of every failing run, each under what it was."""
    parts = []
    for failure in found:
        for receipt in failure.judged.receipts:
            if receipt.result is not Result.PASSED:
                exit_code = receipt.exit_code
                where = f"(run {receipt.run}, exit {exit_code})"
                parts.append(f"$ {receipt.command}  {where}")
                parts.append(receipt.tail.rstrip())
    return "\n".join(parts)
