"""What happened in an attempt: told by its record and by its submission.

How it ended is what was run and what the lander ruled; what the agent said of itself is
quoted as a claim, and decides nothing. How much an episode weighs halves with time, the
sooner the less it teaches.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from gitagent.core.exposure import Received
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord

_NONE: Final[Mapping[str, Sequence[str]]] = {}


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
        """What is said of it, on one line."""
        raise NotImplementedError


def episodes(
    records: Iterable[TaskRecord],
    submissions: Iterable[Submission],
    paths: Mapping[str, Sequence[str]] = _NONE,
) -> list[Episode]:
    """Return what happened in the attempts that have ended, newest first.

    ``paths`` says what an attempt changed, by the commit that it came to.
    """
    raise NotImplementedError


def half_life(significance: float) -> int:
    """Return the days after which an episode of such significance weighs half."""
    raise NotImplementedError


def weight(episode: Episode, now: datetime) -> float:
    """Return how much an episode counts at a moment."""
    raise NotImplementedError
