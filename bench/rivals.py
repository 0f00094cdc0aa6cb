"""Other intervals than ours for the same differences, to measure them beside it."""

import math
import random
from collections.abc import Callable, Sequence
from statistics import NormalDist, fmean, variance

from gitagent.core.interval import Difference, means, proportions, quantile

_Z = NormalDist().inv_cdf(0.975)
_RESAMPLES = 400


def _of(share: float, count: float, other: float, other_count: float) -> Difference:
    spread = share * (1 - share) / count + other * (1 - other) / other_count
    half = _Z * math.sqrt(spread)
    return Difference(share - other, share - other - half, share - other + half)


def wald(yes: int, count: int, other_yes: int, other_count: int) -> Difference:
    """Return the interval of the textbooks."""
    return _of(yes / count, count, other_yes / other_count, other_count)


def agresti_caffo(yes: int, count: int, other_yes: int, other: int) -> Difference:
    """Return the same with one success and one failure added to each group."""
    first, second = (yes + 1) / (count + 2), (other_yes + 1) / (other + 2)
    return _of(first, count + 2, second, other + 2)


def newcombe(yes: int, count: int, other_yes: int, other_count: int) -> Difference:
    """Return Newcombe's hybrid score without a correction for continuity."""

    def score(k: int, n: int) -> tuple[float, float, float]:
        p, below = k / n, 2 * (n + _Z**2)
        half = _Z * math.sqrt(_Z**2 + 4 * n * p * (1 - p))
        return (
            p,
            (2 * n * p + _Z**2 - half) / below,
            (2 * n * p + _Z**2 + half) / below,
        )

    p, low, high = score(yes, count)
    q, other_low, other_high = score(other_yes, other_count)
    return Difference(
        p - q,
        p - q - math.hypot(p - low, other_high - q),
        p - q + math.hypot(high - p, q - other_low),
    )


def _parts(values: Sequence[float]) -> tuple[float, float]:
    return fmean(values), variance(values) / len(values)


def welch(values: Sequence[float], others: Sequence[float]) -> Difference | None:
    """Return Welch's interval of a difference of means."""
    (mean, own), (other, theirs) = _parts(values), _parts(others)
    if not own + theirs:
        return None
    count, other_count = len(values), len(others)
    parts = own**2 / (count - 1) + theirs**2 / (other_count - 1)
    half = quantile(0.95, (own + theirs) ** 2 / parts) * math.sqrt(own + theirs)
    return Difference(mean - other, mean - other - half, mean - other + half)


def pooled(values: Sequence[float], others: Sequence[float]) -> Difference | None:
    """Return Student's interval, with one variance for both groups."""
    count, other_count = len(values), len(others)
    free = count + other_count - 2
    sums = (count - 1) * variance(values) + (other_count - 1) * variance(others)
    if not sums:
        return None
    half = quantile(0.95, free) * math.sqrt(sums / free * (1 / count + 1 / other_count))
    estimate = fmean(values) - fmean(others)
    return Difference(estimate, estimate - half, estimate + half)


def bootstrap(values: Sequence[float], others: Sequence[float]) -> Difference | None:
    """Return the percentile interval of resamples."""
    chance = random.Random(0)  # noqa: S311 - repeatable, no secret
    found = sorted(
        fmean(chance.choices(values, k=len(values)))
        - fmean(chance.choices(others, k=len(others)))
        for _ in range(_RESAMPLES)
    )
    tail = round(_RESAMPLES * 0.025)
    return Difference(fmean(values) - fmean(others), found[tail], found[-tail - 1])


OF_SHARES: dict[str, Callable[[int, int, int, int], Difference | None]] = {
    "Wald": wald,
    "Agresti-Caffo": agresti_caffo,
    "Newcombe": newcombe,
    "ours": proportions,
}
OF_MEANS: dict[str, Callable[[Sequence[float], Sequence[float]], Difference | None]] = {
    "bootstrap": bootstrap,
    "Welch": welch,
    "Student": pooled,
    "ours": means,
}
