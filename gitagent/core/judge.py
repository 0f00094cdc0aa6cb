"""What the receipts of a candidate say: which checks lack a run, which say no."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gitagent.core.candidate import Candidate
from gitagent.core.glob import named
from gitagent.core.receipt import Receipt, Result, Verdict, check_key, verdict
from gitagent.core.search import Fact
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
    settings: Settings,
    members: Iterable[tuple[Submission, TaskFile | None]],
    changed: Settings | None = None,
) -> tuple[Check, ...]:
    """Return the checks of a candidate with these members, in order.

    The target's own come first, then those that ``changed`` settings would have, then
    what tasks accept and workers claim.
    """
    found = list(target_checks(settings))
    for check in target_checks(changed) if changed else ():
        if check not in found:
            taken = any(check.name == each.name for each in found)
            name = f"{check.name}-as-changed" if taken else check.name
            found.append(replace(check, name=name))
    last = max((check.group for check in found), default=0) + 1
    own = (check for each in members for check in own_checks(*each))
    return tuple(dict.fromkeys((*found, *(replace(each, group=last) for each in own))))


def target_checks(settings: Settings) -> tuple[Check, ...]:
    """Return the checks of the settings in the order of their groups."""
    return tuple(sorted(settings.check, key=_group))


def own_checks(submission: Submission, task: TaskFile | None) -> tuple[Check, ...]:
    """Return what must pass because of one submission alone, in no group."""
    accept = task.accept if task else ()
    extra = [
        *((f"accept-{i}", run) for i, run in enumerate(accept, 1)),
        *((f"claim-{i}", run) for i, run in enumerate(submission.commands, 1)),
    ]
    return tuple(Check(name=name, run=run) for name, run in extra)


def _group(check: Check) -> int:
    return check.group


def judge(
    checks: tuple[Check, ...], candidate: Candidate, snapshot: Snapshot
) -> tuple[Judged, ...]:
    """Match each check with the receipts that may stand for it."""
    parents = (candidate.base, *candidate.tips)
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


def fact(judged: tuple[Judged, ...], failed: tuple[Failure, ...]) -> Fact:
    """Return what the search may know of a candidate that was judged so."""
    running = any(j.running for j in judged)
    if failed and not running and not wanted_runs(judged, failed):
        return Fact.FAILED
    if failed or any(j.verdict is Verdict.AGAIN for j in judged):
        return Fact.AGAIN if running else Fact.RED
    if all(j.green for j in judged):
        return Fact.GREEN
    return Fact.RUNNING if running else Fact.UNKNOWN


def wanted_runs(
    judged: tuple[Judged, ...], failed: tuple[Failure, ...]
) -> tuple[tuple[Judged, int], ...]:
    """Return the runs, with their numbers, that the first group not passed yet lacks.

    All members of a group settle, whatever the others say.
    """
    no = {failure.judged.key for failure in failed}
    for group in sorted({j.check.group for j in judged}):
        members = [j for j in judged if j.check.group == group]
        if not all(j.green and j.key not in no for j in members):
            runs = ((j, _RUN.get(j.verdict)) for j in members if not j.running)
            return tuple((j, run) for j, run in runs if run)
    return ()


def failures(
    judged: tuple[Judged, ...], settings: Settings, flaky: Mapping[str, int]
) -> tuple[Failure, ...]:
    """Return every check that says no, not only the first.

    ``flaky`` counts the newest landings in which a check was flaky, by name. What tasks
    accept and workers claim has no budget: ``accept-1`` is another command each time.
    """
    found = []
    budgeted = {check.name for check in settings.check}
    for j in judged:
        if j.verdict is Verdict.FAILED:
            found.append(Failure(j, _why(j)))
        elif j.verdict is Verdict.FLAKY and j.check.name in budgeted:
            count = flaky.get(j.check.name, 0)
            if count >= settings.lander.flaky_budget:
                why = (
                    f"Check {j.check.name} passed only at the second try, and did so "
                    f"in {count} of the last {FLAKY_WINDOW} landings: its flaky budget "
                    "is used up; `gitagent log --flaky` has the outputs."
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


def flaky_counts(submissions: Iterable[Submission]) -> Counter[str]:
    """Count by check in how many of the newest landings it was flaky.

    Submissions that landed together had one run, which counts once. Those that the
    target had already made no landing.
    """
    landed = sorted(
        (s for s in submissions if s.state is SubmissionState.LANDED and _new(s)),
        key=lambda s: (s.since, s.created, s.id),
    )
    flaky = {
        (line.name, line.receipt or each.id)
        for each in landed[-FLAKY_WINDOW:]
        for line in each.checks
        if line.state == "flaky"
    }
    return Counter(name for name, _ in flaky)


def _new(landed: Submission) -> bool:
    return landed.commit != landed.tip


def lines(
    judged: Iterable[Judged], others: Iterable[Check] = ()
) -> tuple[CheckLine, ...]:
    """Return the checks as people see them, without those that concern ``others``."""
    left_out = {(check.name, check.run) for check in others}
    return tuple(
        _line(j) for j in judged if (j.check.name, j.check.run) not in left_out
    )


def _line(judged: Judged) -> CheckLine:
    state = "running" if judged.running else _SHOWN[judged.verdict]
    line = CheckLine(judged.check.name, state)
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
