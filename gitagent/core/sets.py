"""Sets of submissions as candidates, and what their receipts say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gitagent.core.candidate import Candidate
from gitagent.core.judge import (
    Failure,
    Judged,
    all_checks,
    fact,
    failures,
    flaky_counts,
    judge,
    target_checks,
)
from gitagent.core.search import Fact, Set
from gitagent.core.settings import Check, Settings
from gitagent.core.snapshot import Snapshot
from gitagent.core.submission import Submission


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one set."""

    fact: Fact
    candidate: Candidate | None = None  # None: not made yet, or it cannot be
    judged: tuple[Judged, ...] = ()
    failed: tuple[Failure, ...] = ()


_UNKNOWN: Final = Verdict(Fact.UNKNOWN)


@dataclass(slots=True)
class Sets:
    """Verdicts on the sets of one line; each is made once."""

    snapshot: Snapshot
    base: str
    settings: Settings
    members: Mapping[str, Submission]
    _known: dict[Set, Verdict] = field(default_factory=dict)
    _flaky: Mapping[str, int] | None = None
    _longest: int = field(init=False)  # tips of any candidate that is made

    def __post_init__(self) -> None:
        """Look which sets can be known at all."""
        made = self.snapshot.live.candidates
        self._longest = max((len(tips) for _, tips in made), default=0)

    def fact(self, ids: Set) -> Fact:
        """Return what the search may know of a set."""
        return self.verdict(ids).fact

    def verdict(self, ids: Set) -> Verdict:
        """Return the verdict on a set; what it begins with is best asked for first."""
        if len(ids) > self._longest + 1:
            return _UNKNOWN
        known = self._known.get(ids)
        if known is None:
            known = self._known[ids] = self._look(ids)
        return known

    def submissions(self, ids: Set) -> tuple[Submission, ...]:
        """Return the members of a set."""
        return tuple(self.members[each] for each in ids)

    def bare(self, checks: tuple[Check, ...]) -> Verdict:
        """Return the verdict of ``checks`` on the bare target; of none it is green."""
        if not checks:
            return Verdict(Fact.GREEN)
        candidate = self.snapshot.live.candidates.get((self.base, ()))
        if candidate is None:
            return Verdict(Fact.UNKNOWN)
        return self._judge(checks, candidate)

    def _look(self, ids: Set) -> Verdict:
        last = self.members[ids[-1]]
        below = self._known.get(ids[:-1])
        broken = below is not None and _is_broken(below)
        if broken or any(n in self.members and n not in ids for n in last.needs):
            return Verdict(Fact.FAILED)
        tips = tuple(self.members[each].tip for each in ids)
        step = self.snapshot.live.candidates.get((self.base, tips))
        if step is None:
            return Verdict(Fact.UNKNOWN)
        if step.conflicts or step.fault or step.contained:
            return Verdict(Fact.FAILED)
        tasks = self.snapshot.tasks
        members = ((s, tasks.get(s.ends or "")) for s in self.submissions(ids))
        return self._judge(all_checks(self.settings, members, step.settings), step)

    def _judge(self, checks: tuple[Check, ...], candidate: Candidate) -> Verdict:
        if self._flaky is None:
            self._flaky = flaky_counts(self.snapshot.submissions.values())
        judged = judge(checks, candidate, self.snapshot)
        failed = failures(judged, self.settings, self._flaky)
        return Verdict(fact(judged, failed), candidate, judged, failed)


def _is_broken(verdict: Verdict) -> bool:
    return verdict.fact is Fact.FAILED and verdict.candidate is None


def blamed(verdict: Verdict, settings: Settings) -> tuple[Check, ...]:
    """Return the target's own checks that a set has failed, once or twice."""
    own = target_checks(settings)
    red = {f.judged.check for f in verdict.failed}
    red |= {j.check for j in verdict.judged if j.receipts and not j.green}
    return tuple(check for check in own if check in red)
