"""The flake ledger: which checks pass only at a second try, told from their receipts.

It counts evidence and keeps no count of its own, so it cannot drift from what ran.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitagent.core.receipt import Result


@dataclass(frozen=True, slots=True)
class Run:
    """What a receipt says, as far as it matters here."""

    check: str
    key: str  # of the check on one product tree; see receipt.check_key
    run: int
    result: Result
    exit_code: int | None
    started: str  # UTC
    submission: str  # the last of the set that was checked; empty: the bare target
    place: str  # "<ref>:<path>" of the receipt


@dataclass(frozen=True, slots=True)
class Flake:
    """A check that failed on a product tree and then passed on the very same."""

    check: str
    runs: tuple[Run, ...]  # oldest first; the last one passed

    @property
    def when(self) -> str:
        """When the run that passed was started; UTC."""
        return self.runs[-1].started

    @property
    def submission(self) -> str:
        """The last of the set that was checked; empty: the bare target."""
        return self.runs[-1].submission


@dataclass(frozen=True, slots=True)
class Tally:
    """What is known of one check."""

    check: str
    runs: int
    trees: int  # product trees that it judged
    flakes: tuple[Flake, ...]  # newest first
    landings: int  # of the newest, those in which it was flaky
    budget: int  # so many of them may be

    @property
    def rate(self) -> float:
        """The share of the trees that it passed only at the second try."""
        return len(self.flakes) / self.trees if self.trees else 0.0

    @property
    def blocks(self) -> bool:
        """Whether one more flaky pass keeps what it is about from landing."""
        return self.landings >= self.budget


def ledger(
    passed: Mapping[str, int],
    others: Iterable[Run],
    landings: Mapping[str, int],
    budget: int,
) -> tuple[Tally, ...]:
    """Return what is known of each check that was ever flaky, the worst first.

    ``passed`` counts the first runs that passed, by check; ``others`` are all the rest.
    ``landings`` counts by check the newest landings in which it was flaky.
    """
    by_key: dict[tuple[str, str], list[Run]] = {}
    for run in others:
        by_key.setdefault((run.check, run.key), []).append(run)
    runs, trees = Counter(passed), Counter(passed)
    flakes: dict[str, list[Flake]] = {check: [] for check in landings}
    for (check, _), group in by_key.items():
        runs[check] += len(group)
        trees[check] += 1
        group.sort(key=lambda run: (run.started, run.run))
        if _flaky(group):
            flakes.setdefault(check, []).append(Flake(check, tuple(group)))
    found = (
        Tally(
            check,
            runs[check],
            trees[check],
            tuple(sorted(known, key=lambda flake: flake.when, reverse=True)),
            landings.get(check, 0),
            budget,
        )
        for check, known in flakes.items()
    )
    return tuple(sorted(found, key=lambda each: (-each.landings, -each.rate)))


def _flaky(group: list[Run]) -> bool:
    """Whether runs of one key, the oldest first, end in a pass after a failure."""
    results = [run.result for run in group]
    if Result.CHANGED in results or results[-1] is not Result.PASSED:
        return False
    return any(result is not Result.PASSED for result in results)
