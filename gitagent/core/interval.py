"""Differences between two groups, with the interval that the true one lies in.

Which interval, and why, was measured; see docs/decisions/0032. Each holds what it says
for few in a group, and for groups of very unlike size.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

LEVEL: Final = 0.95
# 0.8 is promised; it has to hold where the coin made groups of other sizes, too.
POWER: Final = 0.85

_NORMAL: Final = NormalDist()
_STEPS: Final = 300
_TINY: Final = 1e-300
_CLOSE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """What the first group has more than the second."""

    estimate: float
    low: float
    high: float


def proportions(
    yes: int, count: int, other_yes: int, other_count: int, level: float = LEVEL
) -> Difference | None:
    """Return the difference of two shares; None if a group is empty.

    Newcombe's hybrid of Wilson's scores with a correction for continuity: of those
    measured the only one that holds its level for every share and size.
    """
    if not count or not other_count:
        return None
    z = _z(level)
    share, other = yes / count, other_yes / other_count
    low, high = _wilson(yes, count, z)
    other_low, other_high = _wilson(other_yes, other_count, z)
    estimate = share - other
    return Difference(
        estimate,
        estimate - math.hypot(share - low, other_high - other),
        estimate + math.hypot(high - share, other - other_low),
    )


def means(
    values: Sequence[float], others: Sequence[float], level: float = LEVEL
) -> Difference | None:
    """Return the difference of two means; None if the values cannot tell it.

    The wider of Welch's interval and that of one common variance: with few in one
    group and skewed values the first misses the truth up to four times in ten.
    """
    if len(values) < 2 or len(others) < 2:
        return None
    mean, spread = _moments(values)
    other_mean, other_spread = _moments(others)
    count, other_count = len(values), len(others)
    own, theirs = spread / count, other_spread / other_count
    free = count + other_count - 2
    common = ((count - 1) * spread + (other_count - 1) * other_spread) / free
    if not common:
        return None
    welch = (own + theirs) ** 2 / (own**2 / (count - 1) + theirs**2 / (other_count - 1))
    half = max(
        quantile(level, _whole(welch)) * math.sqrt(own + theirs),
        quantile(level, free) * math.sqrt(common * (1 / count + 1 / other_count)),
    )
    estimate = mean - other_mean
    return Difference(estimate, estimate - half, estimate + half)


def needed(
    difference: float, share: float, level: float = LEVEL, power: float = POWER
) -> int:
    """Return how many are needed in all to find a difference of two shares.

    ``share`` of them are in the smaller group. It is enough whatever the shares are
    that differ: none vary more than those around one half.
    """
    each_way = (_z(level) + _NORMAL.inv_cdf(power)) ** 2 / 4
    ratio = (1 - share) / share
    count = each_way * (ratio + 1) / (ratio * difference**2)
    corrected = (1 + math.sqrt(1 + 2 * (ratio + 1) / (count * ratio * difference))) / 2
    return math.ceil(count * corrected**2 / share)


@lru_cache(maxsize=4096)
def quantile(level: float, free: float) -> float:
    """Return Student's quantile of both sides."""
    tail = (1 - level) / 2

    def beyond(t: float) -> float:
        return _beta(free / 2, 0.5, free / (free + t * t)) / 2

    return _where(lambda t: beyond(t) <= tail, 0.0, 1e4)


def _whole(free: float) -> float:
    """Return what is asked for again and again: no more than ``free``."""
    return math.floor(free * 10) / 10 if free < 30 else float(math.floor(free))


def _z(level: float) -> float:
    return _NORMAL.inv_cdf((1 + level) / 2)


def _wilson(yes: int, count: int, z: float) -> tuple[float, float]:
    """Return Wilson's interval of one share, corrected for continuity."""
    share, square = yes / count, z * z
    middle, below = 2 * count * share + square, 2 * (count + square)

    def half(sign: int) -> float:
        inner = square - sign * 2 - 1 / count
        inner += 4 * share * (count * (1 - share) + sign)
        return 1 + z * math.sqrt(max(0.0, inner))

    low = 0.0 if not yes else max(0.0, (middle - half(1)) / below)
    high = 1.0 if yes == count else min(1.0, (middle + half(-1)) / below)
    return low, high


def _moments(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((x - mean) ** 2 for x in values) / (len(values) - 1)


def _where(holds: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function, for x in (0, 1].

    Source: its continued fraction, by Lentz's method.
    """
    if x >= 1:
        return 1.0
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    def safe(value: float) -> float:
        return value if abs(value) > _TINY else _TINY

    c = 1.0
    d = 1 / safe(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m)),
        ):
            d = 1 / safe(1 + term * d)
            c = safe(1 + term / c)
            found *= d * c
        if abs(d * c - 1) < _CLOSE:
            break
    return found
