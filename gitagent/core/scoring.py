"""How rankings are fused, and how well they do against what people said they want.

Shares have Wilson's interval, means the bootstrap's, with a seed that never changes:
the same answers give the same figures.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

K: Final = 60  # of reciprocal rank fusion, as its authors have it (SIGIR 2009)

_Z: Final = 1.959963984540054  # 95 %
_RESAMPLES: Final = 1000
_SEED: Final = 6364136223846793005

T = TypeVar("T", bound=Hashable)


def fused(rankings: Iterable[Sequence[T]], k: int = K) -> list[T]:
    """Return what the rankings hold, the best first, by reciprocal rank fusion."""
    sums: dict[T, float] = {}
    for ranking in rankings:
        for rank, each in enumerate(dict.fromkeys(ranking), 1):
            sums[each] = sums.get(each, 0.0) + 1 / (k + rank)
    return sorted(sums, key=lambda each: -sums[each])


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and its 95 % interval; without anything to count there is none."""

    value: float | None
    low: float = 0.0
    high: float = 1.0
    n: int = 0  # what it was counted or averaged over


@dataclass(frozen=True, slots=True)
class Judged:
    """One query: what it should find, and what it found, the best first."""

    wanted: frozenset[str]  # names; none: it should find nothing
    found: tuple[str, ...]

    @property
    def right(self) -> int:
        """How many of those found are wanted."""
        return len(self.wanted.intersection(self.found))


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of a labelled set."""

    queries: int
    empty: int  # queries that should find nothing
    precision: Figure  # of all that was found, the share that is wanted
    recall: Figure  # of all that is wanted, the share that was found
    hit: Figure  # queries that find at least one of what they want
    quiet: Figure  # queries that should find nothing, and do
    mrr: Figure  # one over the rank of the first that is wanted
    ndcg: Figure


FIGURES: Final = ("precision", "recall", "hit", "quiet", "mrr", "ndcg")


def scores(judged: Collection[Judged]) -> Scores:
    """Return how well some queries were answered."""
    asking = [each for each in judged if each.wanted]
    empty = [each for each in judged if not each.wanted]
    right = sum(each.right for each in judged)
    return Scores(
        queries=len(judged),
        empty=len(empty),
        precision=share(right, sum(len(each.found) for each in judged)),
        recall=share(right, sum(len(each.wanted) for each in asking)),
        hit=share(sum(bool(each.right) for each in asking), len(asking)),
        quiet=share(sum(not each.found for each in empty), len(empty)),
        mrr=mean([reciprocal_rank(each) for each in asking]),
        ndcg=mean([ndcg(each) for each in asking]),
    )


def reciprocal_rank(judged: Judged) -> float:
    """Return one over the rank of the first that is wanted; 0: none was found."""
    ranks = (n for n, each in enumerate(judged.found, 1) if each in judged.wanted)
    return 1 / rank if (rank := next(ranks, 0)) else 0.0


def ndcg(judged: Judged) -> float:
    """Return the discounted gain over the most there could be, each wanted alike."""
    gain = sum(
        1 / math.log2(n + 1)
        for n, each in enumerate(judged.found, 1)
        if each in judged.wanted
    )
    most = sum(1 / math.log2(n + 1) for n in range(1, len(judged.wanted) + 1))
    return gain / most


def share(count: int, n: int) -> Figure:
    """Return a share with Wilson's interval."""
    if not n:
        return Figure(None)
    p, zz = count / n, _Z * _Z
    middle = (p + zz / (2 * n)) / (1 + zz / n)
    half = _Z / (1 + zz / n) * math.sqrt(p * (1 - p) / n + zz / (4 * n * n))
    # At the ends rounding would leave p a hair outside.
    return Figure(
        p, max(0.0, min(p, middle - half)), min(1.0, max(p, middle + half)), n
    )


def mean(values: Sequence[float]) -> Figure:
    """Return a mean with the interval of the percentile bootstrap."""
    n = len(values)
    if not n:
        return Figure(None)
    draws = _draws(n)
    sums = sorted(
        math.fsum(values[next(draws)] for _ in range(n)) for _ in range(_RESAMPLES)
    )
    cut = round(_RESAMPLES * 0.025)
    low, high = sums[cut] / n, sums[-cut - 1] / n
    return Figure(math.fsum(values) / n, low, high, n)


def _draws(n: int) -> Iterator[int]:
    """Yield numbers below ``n``, always the same; the core has no other chance."""
    state = _SEED
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        yield (state >> 33) * n >> 31
