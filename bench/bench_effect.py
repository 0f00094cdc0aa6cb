"""Whether what `gitagent memory effect` concludes can be believed, and at what size.

How often a difference of shares is held is computed from all outcomes that there can
be; of means it is simulated. The trials go the whole way from records to the verdict.
"""

import argparse
import itertools
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.rivals import OF_MEANS, OF_SHARES
from bench.trial import Truth, trial
from gitagent.core.interval import LEVEL, Difference, proportions
from gitagent.core.outcomes import Row
from gitagent.core.uplift import LARGE, SURE, Verdict, enough, of_recall

SIZES = ((5, 5), (20, 20), (50, 50), (18, 2), (45, 5), (90, 10))
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MORE = (0.0, 0.1, 0.2)
LOOK = 20  # tasks between two looks
LOOKS = 30
_CLOSE = 1e-9


def shares() -> None:
    """Print how often each interval of two shares holds the truth."""
    print("differences of shares, held at 95 %, over all shares and differences:")
    print("  tasks" + "".join(f"{name:>22}" for name in OF_SHARES))
    print(" " * 7 + "         least    mean" * len(OF_SHARES))
    for count, other in SIZES:
        line = f"  {count:>2}, {other:<2}"
        for find in OF_SHARES.values():
            held = _held(find, count, other)
            line += f"{min(held):14.3f}{fmean(held):8.3f}"
        print(line, flush=True)


def _held(
    find: Callable[[int, int, int, int], Difference | None], count: int, other: int
) -> list[float]:
    pairs = list(itertools.product(range(count + 1), range(other + 1)))
    found = {(yes, no): find(yes, count, no, other) for yes, no in pairs}
    held = []
    for share, more in itertools.product(SHARES, MORE):
        if share + more < 1:
            own, theirs = _chances(count, share + more), _chances(other, share)
            held.append(
                sum(own[y] * theirs[n] for y, n in pairs if _has(found[y, n], more))
            )
    return held


def _chances(count: int, share: float) -> list[float]:
    return [
        math.comb(count, k) * share**k * (1 - share) ** (count - k)
        for k in range(count + 1)
    ]


def _has(found: Difference | None, truth: float) -> bool:
    """Whether an interval has the truth in it; without one nothing wrong is said."""
    return found is None or found.low - _CLOSE <= truth <= found.high + _CLOSE


def means(seeds: int) -> None:
    """Print how often each interval of two means holds the truth."""
    kinds: dict[str, tuple[Callable[[random.Random], float], float]] = {
        "tokens, lognormal": (lambda chance: chance.lognormvariate(0, 1), 1.0),
        "tokens, 0.7 times": (lambda chance: chance.lognormvariate(0, 1), 0.7),
        "retries, one in 3": (lambda chance: float(chance.random() < 0.3), 1.0),
        "retries, one in 20": (lambda chance: float(chance.random() < 0.05), 1.0),
    }
    print(f"differences of means, held at 95 %, {seeds} seeds:")
    print(" " * 29 + "".join(f"{name:>11}" for name in OF_MEANS))
    for name, (draw, times) in kinds.items():
        truth = (times - 1) * math.exp(0.5)
        for count, other in ((20, 20), (50, 50), (45, 5), (90, 10)):
            held: Counter[str] = Counter()
            for seed in range(seeds):
                chance = random.Random(seed)  # noqa: S311 - repeatable, no secret
                own = [times * draw(chance) for _ in range(count)]
                theirs = [draw(chance) for _ in range(other)]
                for rival, find in OF_MEANS.items():
                    held[rival] += _has(find(own, theirs), truth)
            cells = "".join(f"{held[rival] / seeds:11.3f}" for rival in OF_MEANS)
            print(f"  {name:18} {count:>3}, {other:<3}{cells}", flush=True)


def trials(seeds: int) -> bool:
    """Print what is found in trials, with an effect and without; whether it is well."""
    well = True
    print(f"trials from the records to the verdict, {seeds} seeds each:")
    for rate, base in itertools.product((0.5, 0.1), (0.4, 0.6)):
        count = enough(rate)[LARGE]
        for effect in (0.0, LARGE):
            truth = Truth(base=base, recall=effect, rate=rate)
            found = Counter(
                of_recall(trial(seed, count, truth)).verdict for seed in range(seeds)
            )
            wanted = Verdict.HELPS if effect else Verdict.UNKNOWN
            right = (found[wanted] + (0 if effect else found[Verdict.LITTLE])) / seeds
            asked = 0.8 if effect else 0.95
            well &= right >= asked
            what = "found" if effect else "nothing found"
            print(
                f"  rate {rate}, {count} tasks, {base:.0%}, {effect * 100:+.0f} points:"
                f" {what} in {right:.1%}, asked for {asked:.0%}:"
                f" {'met' if right >= asked else 'MISSED'}",
                flush=True,
            )
    return well


def looks(seeds: int) -> None:
    """Print how often who looks again and again finds what is not there."""
    print(f"without an effect, looked at {LOOKS} times, after every {LOOK} tasks:")
    for rate in (0.5, 0.1):
        found: Counter[float] = Counter()
        for seed in range(seeds):
            rows = trial(seed, LOOK * LOOKS, Truth(rate=rate))
            for level in (LEVEL, SURE):
                found[level] += any(
                    _finds(rows[:count], level)
                    for count in range(LOOK, len(rows) + 1, LOOK)
                )
        told = ", ".join(f"{n / seeds:.1%} at {x:.0%}" for x, n in found.items())
        print(f"  rate {rate}: found in {told}", flush=True)


def _finds(rows: list[Row], level: float) -> bool:
    given = [row.first_try for row in rows if row.recalled]
    withheld = [row.first_try for row in rows if not row.recalled]
    found = proportions(sum(given), len(given), sum(withheld), len(withheld), level)
    return not _has(found, 0.0)


def main() -> int:
    """Print the tables; the exit code says whether the trials came out as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    asked = parser.parse_args()
    began = time.perf_counter()
    shares()
    means(min(asked.seeds, 500))
    well = trials(asked.seeds)
    looks(asked.seeds)
    print(f"  {time.perf_counter() - began:.0f} s")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
