"""What happened in an attempt: told by its record and by its submission.

How it ended is what was run and what the lander ruled; what the agent said of itself is
quoted as a claim, and decides nothing. How much an episode weighs halves with time, the
sooner the less it teaches.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from gitagent.core.exposure import Received
from gitagent.core.glob import matching, named
from gitagent.core.ident import submission_id
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord

_NONE: Final[Mapping[str, Sequence[str]]] = {}
_DAY: Final = timedelta(days=1)
_CLAIM: Final = 160  # characters
_PATHS: Final = 4  # named in a line
_FORGOTTEN: Final = 0.05  # weight below which an episode is not told any more
_FAILED: Final = "failed"  # state of a check
_WELL: Final = frozenset({Outcome.OK, Outcome.NOTHING})


class Ended(StrEnum):
    """How an attempt ended, by receipts alone."""

    LANDED = "landed"
    REJECTED = "rejected"  # by a check, or by a rule of the target
    WITHDRAWN = "withdrawn"  # its submission was taken back
    SUBMITTED = "submitted"  # the lander has not ruled yet
    ENDED = "ended"  # its program ended well, and nothing was submitted
    FAILED = "failed"
    TIMEOUT = "timeout"
    QUESTION = "question"
    STOPPED = "stopped"
    AMENDED = "amended"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"  # it could not be started


# What was refused for a reason teaches most, and how the machine was teaches least.
SIGNIFICANCE: Final[Mapping[Ended, float]] = {
    Ended.REJECTED: 0.9,
    Ended.FAILED: 0.8,
    Ended.TIMEOUT: 0.7,
    Ended.LANDED: 0.6,
    Ended.QUESTION: 0.5,
    Ended.SUBMITTED: 0.4,
    Ended.WITHDRAWN: 0.4,
    Ended.ENDED: 0.3,
    Ended.STOPPED: 0.2,
    Ended.AMENDED: 0.2,
    Ended.REFUSED: 0.1,
    Ended.INTERRUPTED: 0.1,
}

_LIVES: Final = ((0.7, 90), (0.4, 30))  # least significance, days
_SHORTEST: Final = 7  # days

_BY_OUTCOME: Final[Mapping[Outcome, Ended]] = {
    Outcome.OK: Ended.ENDED,
    Outcome.NOTHING: Ended.ENDED,
    Outcome.BLOCKED: Ended.ENDED,  # so it says
    Outcome.FAILED: Ended.FAILED,
    Outcome.TIMEOUT: Ended.TIMEOUT,
    Outcome.STOPPED: Ended.STOPPED,
    Outcome.AMENDED: Ended.AMENDED,
    Outcome.QUESTION: Ended.QUESTION,
    Outcome.INTERRUPTED: Ended.INTERRUPTED,
    Outcome.CLAIMED: Ended.INTERRUPTED,
    Outcome.REFUSED: Ended.REFUSED,
}

_BY_STATE: Final[Mapping[SubmissionState, Ended]] = {
    SubmissionState.LANDED: Ended.LANDED,
    SubmissionState.REJECTED: Ended.REJECTED,
    SubmissionState.WITHDRAWN: Ended.WITHDRAWN,
}


@dataclass(frozen=True, slots=True)
class Episode:
    """What happened in one attempt."""

    task: str
    attempt: int
    title: str
    agent: str
    at: str  # UTC; when it ended
    ended: Ended
    check: str = ""  # that failed
    why: str = ""  # a sentence of gitagent's own
    claim: str = ""  # what the agent said that it did, on one line
    paths: tuple[str, ...] = ()  # that it changed
    received: tuple[Received, ...] = ()  # what of the memory it had been given
    oid: str = ""  # the task's record that says so

    @property
    def name(self) -> str:
        """The task and the number of the attempt."""
        return f"{self.task}#{self.attempt}"

    @property
    def text(self) -> str:
        """What is said of it, on one line; what others wrote in it is not cleaned."""
        said = [_one_line(self.title) or self.task]
        if self.agent:
            said.append(f"by {self.agent}")
        if self.check:
            said.append(f"the check {_one_line(self.check)} failed")
        if self.paths:
            said.append(f"changed {named(self.paths, _PATHS)}")
        parts = ["; ".join(said) + "."]
        if self.why and not self.check:
            parts.append(_one_line(self.why))
        if self.claim:
            parts.append(f'It said (a claim): "{self.claim}"')
        return " ".join(parts)


def episodes(
    records: Iterable[TaskRecord],
    submissions: Iterable[Submission],
    paths: Mapping[str, Sequence[str]] = _NONE,
) -> list[Episode]:
    """Return what happened in the attempts that have ended, newest first.

    ``paths`` says what an attempt changed, by the commit that it came to.
    """
    known = {each.id: each for each in submissions}
    found = [
        _episode(record, attempt, known, paths)
        for record in records
        for attempt in record.attempts
        if attempt.ended and attempt.outcome is not None
    ]
    return sorted(found, key=lambda each: (each.at, each.name), reverse=True)


def submission_of(
    record: TaskRecord, attempt: Attempt, known: Mapping[str, Submission]
) -> Submission | None:
    """Return what an attempt's work was submitted as; None if it was not.

    See `core.ending`: the commit of an attempt before has its number in the id.
    """
    earlier = [each for each in record.attempts if each.number < attempt.number]
    tips = [each.tip for each in (*earlier, attempt) if each.tip]
    if not tips or attempt.outcome not in _WELL:
        return None
    parts = (tips[-1], record.id, attempt.blob)
    again = any(each.tip == tips[-1] and each.outcome in _WELL for each in earlier)
    more = (str(attempt.number),) if again else ()
    return known.get(submission_id(*parts, *more))


def half_life(significance: float) -> int:
    """Return the days after which an episode of such significance weighs half."""
    for least, days in _LIVES:
        if significance >= least:
            return days
    return _SHORTEST


def weight(episode: Episode, now: datetime) -> float:
    """Return how much an episode counts at a moment."""
    significance = SIGNIFICANCE[episode.ended]
    age = max(0.0, (now - datetime.fromisoformat(episode.at)) / _DAY)
    return float(significance * 0.5 ** (age / half_life(significance)))


def near(
    found: Iterable[Episode],
    now: datetime,
    *,
    paths: Sequence[str] = (),
    agent: str = "",
    most: int = 5,
) -> list[Episode]:
    """Return those that share paths (globs) or the agent, the weightiest first.

    Those that share paths come before the others. Without either, all are near.
    """
    globs = tuple(paths)
    ranked = []
    for each in found:
        shares = bool(matching(globs, each.paths))
        if not shares and (globs or agent) and (not agent or each.agent != agent):
            continue
        heavy = weight(each, now)
        if heavy >= _FORGOTTEN:
            ranked.append((shares, heavy, each))
    ranked.sort(key=lambda row: row[:2], reverse=True)
    return [each for _, _, each in ranked[:most]]


def flag(received: Iterable[Received], withdrawn: Collection[str]) -> str:
    """Return a sentence about what was given and is withdrawn since, or ""."""
    slugs = dict.fromkeys(each.slug for each in received if each.slug in withdrawn)
    if not slugs:
        return ""
    verb = "is" if len(slugs) == 1 else "are"
    names = ", ".join(f"`{slug}`" for slug in slugs)
    return f"It was told {names}, which {verb} withdrawn since."


def _episode(
    record: TaskRecord,
    attempt: Attempt,
    known: Mapping[str, Submission],
    paths: Mapping[str, Sequence[str]],
) -> Episode:
    submission = submission_of(record, attempt, known)
    assert attempt.outcome is not None  # noqa: S101 - it has ended
    ended, check, why = _BY_OUTCOME[attempt.outcome], "", attempt.reason
    if submission is not None:
        ended = _BY_STATE.get(submission.state, Ended.SUBMITTED)
        failed = (line.name for line in submission.checks if line.state == _FAILED)
        check = next(failed, "") if ended is Ended.REJECTED else ""
        why = (submission.reason or "") if ended is Ended.REJECTED else ""
    elif attempt.outcome is Outcome.BLOCKED:
        why = ""  # it is the agent's words
    return Episode(
        task=record.id,
        attempt=attempt.number,
        title=record.title,
        agent=record.agent,
        at=attempt.ended,
        ended=ended,
        check=check,
        why=why,
        claim=_claim(attempt),
        paths=tuple(paths.get(attempt.tip, ())) if attempt.tip else (),
        received=attempt.memory.received,
        oid=record.oid,
    )


def _claim(attempt: Attempt) -> str:
    said = _one_line(attempt.summary or attempt.answer)
    return said if len(said) <= _CLAIM else said[: _CLAIM - 1].rstrip() + "…"


def _one_line(text: str) -> str:
    return " ".join(text.split())
