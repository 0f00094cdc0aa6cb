"""Which sets of submissions are to be under check, told from what is known of others.

A set is a run of submissions in queue order on top of what has landed. The state of
the search is nothing but the facts about sets, so a restart goes on where it was.

``batch``: a green set vouches for all of its members, so the longest one lands. While
nothing is red the sets are sized so that each outcome is as likely as any other; a red
one is cut in the same way, until the one at fault is alone on what has landed.
``chain``: every set has to be green by itself, so all of a window are under check.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

Set = tuple[str, ...]


class Fact(StrEnum):
    """What is known of one set."""

    UNKNOWN = "unknown"
    RUNNING = "running"  # its first run is under way
    GREEN = "green"
    RED = "red"  # failed once; its second run has not begun
    AGAIN = "again"  # failed once; its second run is under way
    FAILED = "failed"  # failed twice, or cannot even be merged


TRIES: Final = 50  # suppositions that one plan follows; their number is exponential

_RED: Final = frozenset({Fact.RED, Fact.AGAIN, Fact.FAILED})

Facts = Callable[[Set], Fact]


@dataclass(frozen=True, slots=True)
class Rates:
    """What has been seen lately."""

    failure: float  # chance that a submission fails, above 0 and below 1
    flake: float  # chance that a set which failed once passes the second time


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done about the queue now."""

    land: int  # so many of the first are green and can land together
    reject: bool  # the first failed twice on what has landed
    run: tuple[Set, ...]  # to be under check, the most wanted first; no others


def plan_batch(order: Set, fact: Facts, slots: int, rates: Rates) -> Plan:
    """Plan for ``batch``: ``slots`` sets are under check at once."""
    land = next((k for k in range(len(order), 0, -1) if _is_green(order[:k], fact)), 0)
    run: list[Set] = []
    _Search(fact, rates, slots).fill(order[:land], order[land:], slots, run)
    return Plan(land, not land and _fails(order[:1], fact), tuple(run))


def plan_chain(order: Set, fact: Facts, window: int) -> Plan:
    """Plan for ``chain``: at most ``window`` sets are under check at once.

    What failed twice is left out of the sets behind it, even before it is known
    whether those ahead of it land.
    """
    path: Set = ()
    land = 0
    run: list[Set] = []
    for each in order:
        here = (*path, each)
        known = fact(here)
        if known is Fact.FAILED:
            continue
        path = here
        if known is not Fact.GREEN:
            run.append(here)
            if len(run) == window:
                break
        elif not run and path == order[: len(path)]:
            land = len(path)
    return Plan(land, not land and _fails(order[:1], fact), tuple(run))


def reach(slots: int, failure: float) -> int:
    """Return how many submissions the longest of ``slots`` sets holds.

    All of it is green with the chance of one in ``slots + 1``.
    """
    return max(1, round(-math.log(slots + 1) / math.log1p(-failure)))


def _is_green(members: Set, fact: Facts) -> bool:
    return fact(members) is Fact.GREEN


def _fails(first: Set, fact: Facts) -> bool:
    return bool(first) and fact(first) is Fact.FAILED


@dataclass(slots=True)
class _Search:
    fact: Facts
    rates: Rates
    slots: int
    tries: int = TRIES

    def fill(self, good: Set, rest: Set, slots: int, run: list[Set]) -> None:
        """Add sets until there are ``slots``; the members ``good`` are taken to land.

        Once every cut of a red set is under check, the slots that are left run ahead
        as if the one at fault were rejected already.
        """
        if not rest or len(run) >= slots or not self.tries:
            return
        self.tries -= 1
        known, red = self._look(good, rest)
        green = max(
            (k for k in range(red or len(known)) if known[k] is Fact.GREEN), default=0
        )
        good, rest, known = good + rest[:green], rest[green:], known[green:]
        red = red and red - green
        last = red - 1 if red else len(known) - 1
        cuts = [k for k in range(1, last + 1) if known[k] is Fact.RUNNING]
        chosen = [good + rest[:k] for k in cuts]
        if red and self._again(known[red], red):
            chosen.append(good + rest[:red])
        run += chosen[: slots - len(run)]
        odds = _Odds(self.rates.failure, red)
        cuts = odds.cut(cuts, last, slots - len(run))
        run += [good + rest[:k] for k in cuts]
        if red:
            self._ahead(good, rest, red, odds, slots, run)

    def _look(self, good: Set, rest: Set) -> tuple[list[Fact], int | None]:
        """Return the facts by length (0: nothing added), and the shortest red one."""
        depth = 2 * reach(self.slots, self.rates.failure) + 8
        known = [Fact.GREEN]
        for k in range(1, min(len(rest), depth) + 1):
            known.append(self.fact(good + rest[:k]))
            if known[k] in _RED:
                return known, k
        return known, None

    def _again(self, known: Fact, length: int) -> bool:
        """Whether a red set is to have its second run now.

        A longer one only if that is likely to save more runs than the cuts it may need.
        """
        if known is Fact.RED:
            return length == 1 or self.rates.flake * math.log2(length) >= 1
        return known is Fact.AGAIN

    def _ahead(
        self, good: Set, rest: Set, red: int, odds: "_Odds", slots: int, run: list[Set]
    ) -> None:
        free = slots - len(run)
        likely = sorted(range(1, red + 1), key=lambda k: (-odds.at(k), k))
        for k in likely:
            if len(run) >= slots:
                return
            share = max(1, round(free * odds.at(k)))
            until = min(slots, len(run) + share)
            self.fill(good + rest[: k - 1], rest[k:], until, run)


@dataclass(frozen=True, slots=True)
class _Odds:
    """Where the first one at fault may be, counted from 1."""

    failure: float
    red: int | None  # it is among so many; None: there need be none

    def upto(self, k: int) -> float:
        """Return the chance that it is among the first ``k``."""
        among = 1 - (1 - self.failure) ** k
        return among / (1 - (1 - self.failure) ** self.red) if self.red else among

    def at(self, k: int) -> float:
        """Return the chance that it is the ``k``-th."""
        return self.upto(k) - self.upto(k - 1)

    def cut(self, taken: list[int], last: int, free: int) -> list[int]:
        """Return up to ``free`` new lengths from 1 to ``last``, the shortest first.

        Together with those ``taken`` they leave what is not known as even as can be.
        """
        cuts = list(taken)
        for number in range(1, free + 1):
            if taken:
                k = self._widest(cuts, last)
            else:
                k = self._free(self._near(number / (free + 1), last), cuts, last)
            if k is None:
                break
            cuts.append(k)
        return sorted(set(cuts) - set(taken))

    def _near(self, chance: float, last: int) -> int:
        if chance >= self.upto(last):
            return last
        low, high = 0, last
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.upto(middle) < chance else (low, middle)
        nearer = chance - self.upto(low) < self.upto(high) - chance
        return low if low and nearer else high

    @staticmethod
    def _free(k: int, cuts: list[int], last: int) -> int | None:
        """Return the free length next to ``k``, a longer one before a shorter."""
        longer = (n for n in range(k, last + 1) if n not in cuts)
        shorter = (n for n in range(min(k, last), 0, -1) if n not in cuts)
        return next(longer, None) or next(shorter, None)

    def _widest(self, cuts: list[int], last: int) -> int | None:
        """Return the length that tells most beside the cuts; None: none is left."""
        edges = [0, *sorted(cuts), last + 1]
        best: tuple[float, int] | None = None
        for low, high in pairwise(edges):
            if high - low < 2:
                continue
            start = self.upto(low)
            end = self.upto(high) if high <= last else 1.0
            k = min(max(self._near((start + end) / 2, last), low + 1), high - 1)
            told = _told(self.upto(k) - start, end - self.upto(k))
            if best is None or told > best[0]:
                best = (told, k)
        return None if best is None else best[1]


def _told(one: float, other: float) -> float:
    """Return what it tells, in nats, to know which of two chances came true."""
    both = one + other
    return -sum(x * math.log(x / both) for x in (one, other) if x > 0)
