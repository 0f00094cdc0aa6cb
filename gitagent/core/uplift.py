"""Whether memory helps: tasks that a coin gave it beside tasks that it kept it from.

First tries that landed decide; retries and tokens are told beside them, and nothing is
concluded from these, since who looks at three figures finds something in one of them
more often. Records grow, and are looked at again and again: what is concluded holds at
a stricter level than the intervals that are told; see docs/decisions/0032.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gitagent.core.interval import LEVEL, Difference, means, needed, proportions
from gitagent.core.outcomes import Row

LARGE: Final = 0.2  # differences that a plan is made for
SMALL: Final = 0.1  # less than this is worth nobody's attention
# Each look can find what is not there: at 0.95 one of five who look after every 20 of
# 600 tasks did, at this level one of twenty.
SURE: Final = 0.99
_EVIDENCE: Final = 20  # records that a finding names


class Verdict(StrEnum):
    """What can be told."""

    UNKNOWN = "unknown"
    HELPS = "helps"  # the difference is surely above 0
    HURTS = "hurts"  # it is surely below
    LITTLE = "little"  # it is surely less than `SMALL`, either way


@dataclass(frozen=True, slots=True)
class Arm:
    """The tasks that the coin treated alike."""

    tasks: int
    first_tries: int  # that landed
    retries: float | None  # in the mean; None: there are no tasks
    tokens: float | None  # in the mean of those that have any
    counted: int  # tasks that have any


@dataclass(frozen=True, slots=True)
class Comparison:
    """What those that were given something have more than those that were not."""

    given: Arm
    withheld: Arm
    first_try: Difference | None  # of the shares; None: an arm is empty
    retries: Difference | None  # None: too few, or all alike
    tokens: Difference | None
    sure: Difference | None  # of the shares, at the level of the verdict
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Harm:
    """An item that hurts, or has been given often enough and does not help."""

    slug: str
    sentence: str
    evidence: tuple[str, ...]  # records of tasks, the newest
    kind: str  # "hurts" or "never helps"


def one_rate(rows: Iterable[Row]) -> tuple[list[Row], int]:
    """Return the rows of the rate that most were tossed at, and how many others are.

    Tasks of different times have different rates: put together they would compare the
    times.
    """
    everything = list(rows)
    counts = Counter(row.rate for row in everything)
    if not counts:
        return [], 0
    # Of two that are as many the one that was used last.
    last = {row.rate: place for place, row in enumerate(everything)}
    rate = max(counts, key=lambda rate: (counts[rate], last[rate]))
    kept = [row for row in everything if row.rate == rate]
    return kept, len(everything) - len(kept)


def of_recall(rows: Iterable[Row]) -> Comparison:
    """Compare tasks with recall to tasks without."""
    arms: tuple[list[Row], list[Row]] = [], []
    for row in rows:
        arms[not row.recalled].append(row)
    return compare(*arms)


def of_item(rows: Iterable[Row], slug: str) -> Comparison:
    """Compare tasks that were given an item to those it was withheld from.

    Only tasks whose coin was tossed for it are in either.
    """
    return compare(*_arms(rows, slug))


def slugs(rows: Iterable[Row]) -> list[str]:
    """Return the items that a coin was tossed for."""
    return sorted({slug for row in rows for slug in row.given | row.withheld})


def hurting(rows: Iterable[Row]) -> list[Harm]:
    """Return the items that the outcomes speak against, by slug.

    Among many items one looks bad by chance, so the level is raised by their number
    (Bonferroni).
    """
    same, _ = one_rate(rows)
    arms = {slug: _arms(same, slug) for slug in slugs(same)}
    both = {slug: pair for slug, pair in arms.items() if all(pair)}
    level = 1 - (1 - SURE) / max(1, len(both))
    found = ((slug, _against(slug, *pair, level)) for slug, pair in both.items())
    return [harm for _, harm in found if harm is not None]


def enough(rate: float) -> dict[float, int]:
    """Return the tasks in all that are needed to find differences, by difference."""
    share = min(rate, 1 - rate)
    return (
        {each: needed(each, share, SURE) for each in (LARGE, SMALL)}
        if share > 0
        else {}
    )


def sentence(found: Comparison, what: str, rate: float) -> str:
    """Say in words what is known of ``what``, such as "Recall"."""
    points = f"{spoken(found.first_try)} of first tries that land"
    match found.verdict:
        case Verdict.HELPS:
            return f"{what} helps: {points}."
        case Verdict.HURTS:
            return f"{what} hurts: {points}."
        case Verdict.LITTLE:
            ruled_out = f"{SMALL * 100:.0f} or more are ruled out"
            return f"{what} changes little: {points}; {ruled_out}."
        case Verdict.UNKNOWN:
            count = found.given.tasks + found.withheld.tasks
            told = f"No effect of {_lower(what)} can be told yet, of {count:,} tasks."
            return " ".join(filter(None, (told, _signs(found.first_try), _plan(rate))))


def _signs(found: Difference | None) -> str:
    if found is None or found.low <= 0 <= found.high:
        return ""
    way = "helped" if found.low > 0 else "hurt"
    return f"It looks as if it {way}, {spoken(found)}, as it does at times by chance."


def _plan(rate: float) -> str:
    plan = [f"{count:,} find {size * 100:.0f}" for size, count in enough(rate).items()]
    return f"{' points, and '.join(plan)}." if plan else ""


def spoken(found: Difference | None) -> str:
    """Return a difference of shares in points, with its interval."""
    if found is None:
        return "nothing to compare"
    low, high = (f"{each * 100:+.0f}" for each in (found.low, found.high))
    return f"{found.estimate * 100:+.0f} points ({low} to {high})"


def compare(given: Sequence[Row], withheld: Sequence[Row]) -> Comparison:
    """Compare two groups of tasks."""
    one, other = _arm(given), _arm(withheld)
    counts = (one.first_tries, one.tasks, other.first_tries, other.tasks)
    sure = proportions(*counts, SURE)
    return Comparison(
        one,
        other,
        proportions(*counts, LEVEL),
        means([r.retries for r in given], [r.retries for r in withheld], LEVEL),
        means(_tokens(given), _tokens(withheld), LEVEL),
        sure,
        _verdict(sure),
    )


def _arms(rows: Iterable[Row], slug: str) -> tuple[list[Row], list[Row]]:
    given, withheld = [], []
    for row in rows:
        if slug in row.given:
            given.append(row)
        elif slug in row.withheld:
            withheld.append(row)
    return given, withheld


def _arm(rows: Sequence[Row]) -> Arm:
    tokens = _tokens(rows)
    return Arm(
        tasks=len(rows),
        first_tries=sum(row.first_try for row in rows),
        retries=sum(row.retries for row in rows) / len(rows) if rows else None,
        tokens=sum(tokens) / len(tokens) if tokens else None,
        counted=len(tokens),
    )


def _tokens(rows: Iterable[Row]) -> list[int]:
    return [row.tokens for row in rows if row.tokens is not None]


def _verdict(found: Difference | None) -> Verdict:
    if found is None:
        return Verdict.UNKNOWN
    if found.low > 0:
        return Verdict.HELPS
    if found.high < 0:
        return Verdict.HURTS
    return Verdict.LITTLE if max(-found.low, found.high) < SMALL else Verdict.UNKNOWN


def _against(
    slug: str, given: Sequence[Row], withheld: Sequence[Row], level: float
) -> Harm | None:
    yes = [sum(row.first_try for row in rows) for rows in (given, withheld)]
    found = proportions(yes[0], len(given), yes[1], len(withheld), level)
    if found is None or found.high >= SMALL:
        return None
    kind = "hurts" if found.high < 0 else "never helps"
    if found.low > 0:  # it helps, by less than `SMALL`
        return None
    words = (
        "It hurts"
        if kind == "hurts"
        else f"It has been given often enough, and does not help by {SMALL * 100:.0f}"
        " points"
    )
    text = (
        f"{words}: {yes[0]} of {len(given)} tasks that were given it landed at the"
        f" first try, and {yes[1]} of {len(withheld)} that it was withheld from,"
        f" {spoken(found)} at {level * 100:.4g} %."
    )
    rows = sorted([*given, *withheld], key=lambda row: (row.at, row.task))
    oids = tuple(row.oid for row in rows[-_EVIDENCE:] if row.oid)
    return Harm(slug, text, oids, kind)


def _lower(what: str) -> str:
    return what[:1].lower() + what[1:]
