"""What is new about one submission since it was looked at last.

Two sources: its record, which says what became of it, and the daemon's lineup, which
says how far it is. From both, one follower makes news for everybody who waits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from gitagent.core.receipt import Receipt, Result
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.daemon.lineup import Lineup, RunNow
from gitagent.errors import GitagentError
from gitagent.git.repository import Repository

_FRESH = (SubmissionState.QUEUED, None)  # nobody has to be told
_ENDED = frozenset({"passed", "flaky", "failed"})  # states of a CheckLine


@dataclass(frozen=True, slots=True)
class Standing:
    """Its record says another state or reason."""

    submission: Submission


@dataclass(frozen=True, slots=True)
class Place:
    """It has another place in the queue."""

    id: str
    position: int  # from 1
    of: int
    ahead: str | None  # the submission right before it


@dataclass(frozen=True, slots=True)
class Began:
    """A check of it runs."""

    id: str
    run: RunNow


@dataclass(frozen=True, slots=True)
class Ended:
    """A run of a check of it has ended."""

    id: str
    run: RunNow
    receipt: Receipt | None  # None: it was stopped

    @property
    def passed(self) -> bool:
        """Whether the check said yes."""
        return self.receipt is not None and self.receipt.result is Result.PASSED


@dataclass(frozen=True, slots=True)
class Judged:
    """A check of it is decided, by runs that nobody was seen to start."""

    id: str
    line: CheckLine


@dataclass(frozen=True, slots=True)
class Alone:
    """Nobody is at work here any more, and it is waited for somebody."""

    id: str


News = Standing | Place | Began | Ended | Judged | Alone
Tell = Callable[[News], None]


@dataclass(slots=True)
class Follower:
    """Tells the news of one submission, each once."""

    repo: Repository
    id: str
    tell: Tell
    _any: bool = False
    _alone: bool = False
    _standing: tuple[str, str | None] | None = None
    _place: tuple[int, str | None] | None = None
    _runs: dict[tuple[str, int], RunNow] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)  # checks that were told

    def took_news(self) -> bool:
        """Whether anything was told since this was asked last."""
        told, self._any = self._any, False
        return told

    def alone(self, *, now: bool) -> None:
        """Take note whether nobody is at work, and tell so once."""
        was, self._alone = self._alone, now
        if now and not was:
            self._say(Alone(self.id))

    def look(self, found: Submission, lineup: Lineup | None) -> None:
        """Tell what is new in a record and a lineup; without one, what was stays."""
        if found.settled:
            if lineup is not None:
                self._look_at_runs(lineup)
            self._look_at_checks(found)
            self._look_at_record(found)
            return
        self._look_at_record(found)
        if lineup is not None:
            self._look_at_place(lineup, found.reason or "")
            self._look_at_runs(lineup)

    def _look_at_record(self, found: Submission) -> None:
        was, self._standing = self._standing, (found.state, found.reason)
        if self._standing not in {was, _FRESH}:
            self._say(Standing(found))

    def _look_at_runs(self, lineup: Lineup) -> None:
        mine = {
            (run.key, run.run): run for run in lineup.runs if self.id in run.submissions
        }
        for each, run in self._runs.items():
            if each not in mine:
                self._say(Ended(self.id, run, self._receipt(run)))
        for each, run in mine.items():
            if each not in self._runs:
                self._say(Began(self.id, run))
        self._runs = mine

    def _look_at_checks(self, found: Submission) -> None:
        for run in self._runs.values():
            self._say(Ended(self.id, run, self._receipt(run)))
        self._runs = {}
        for line in found.checks:
            if line.state in _ENDED and line.name not in self._ended:
                self._say(Judged(self.id, line))

    def _look_at_place(self, lineup: Lineup, reason: str) -> None:
        if self.id not in lineup.order:
            return
        index = lineup.order.index(self.id)
        ahead = lineup.order[index - 1] if index else None
        if (index, ahead) == self._place:
            return
        first = self._place is None and index == 0
        self._place = (index, ahead)
        if not first and (ahead is None or ahead not in reason):
            self._say(Place(self.id, index + 1, len(lineup.order), ahead))

    def _say(self, news: News) -> None:
        self._any = True
        if isinstance(news, Ended) and news.receipt is not None:
            self._ended.add(news.run.check)
        self.tell(news)

    def _receipt(self, run: RunNow) -> Receipt | None:
        """Return the receipt of a run that is over; None if it left none."""
        if not run.product:
            return None
        from gitagent.lander import receipts  # noqa: PLC0415 - once something ran

        try:
            with self.repo.objects(fast=True) as objects:
                found = receipts.of_product(objects, run.product).get(run.key, ())
        except GitagentError:
            return None
        return next((each for each in found if each.run == run.run), None)
