"""What a landing costs as the queue and the repository grow; the check is `true`.

A landing changes one file, whatever the size of all else. So what a landing costs
should stay as it is, and the tables say where it does not.
"""

import argparse
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure, profiled, work

QUEUES = (10, 100, 1000)
SIZES = (200, 10_000, 50_000)
LIMIT_S = 1200.0
STEPS = 10  # shown of a profile


def queues(scratch: Path, lengths: tuple[int, ...], *, steps: bool) -> None:
    """Land queues of several lengths, handed over at once."""
    print("a queue handed over with one push, 200 files, check: true:")
    print("  queued   all landed    one landing   against the shorter queue")
    before = 0.0
    for length in lengths:
        repo = work.make(scratch / f"queue-{length}", 200, work.settings("true"))
        names = [f"q{n:04}" for n in range(length)]
        work.branches(repo, ["warm", *names])
        watch = work.Watch(repo)
        with profiled.daemon(repo) as spans:
            work.hand_over(repo, ["warm"])
            watch.wait(work.all_settled(["warm"]), LIMIT_S)
            spans.begin()
            began = time.perf_counter()
            work.hand_over(repo, names)
            pause = 0.005 if length < 500 else 0.1
            watch.wait(work.all_landed(names), LIMIT_S, every_s=pause)
            spent = time.perf_counter() - began
        each = spent / length
        times = f"{each / before:5.2f} times" if before else ""
        print(f"  {length:6} {spent:10.2f} s {each * 1000:10.1f} ms   {times}")
        if steps:
            spans.show(length, STEPS)
        before = each
        shutil.rmtree(repo)


def sizes(scratch: Path, files: tuple[int, ...], runs: int, *, steps: bool) -> None:
    """Land one branch at a time in repositories of several sizes."""
    print("one branch at a time, check: true, from the push to the target's move:")
    print("   files     gitagent   git merge and push   ratio   the first, cold")
    for size in files:
        repo = work.make(scratch / f"size-{size}", size, work.settings("true"))
        names = [f"n{n:02}" for n in range(runs + 1)]
        work.branches(repo, names)
        with profiled.daemon(repo) as spans:
            first = work.land_one(repo, names[0])
            spans.begin()
            ours = [work.land_one(repo, name) for name in names[1:]]
        plain = work.make(scratch / f"plain-{size}", size, work.settings("true"))
        work.branches(plain, names)
        remote = work.remote(plain)
        floor = [work.merge_one(plain, name) for name in names][1:]
        one, other = statistics.median(ours), statistics.median(floor)
        print(
            f"  {size:6} {one * 1000:9.0f} ms {other * 1000:14.0f} ms"
            f" {one / other:11.2f} {first * 1000:11.0f} ms"
        )
        if steps:
            spans.show(runs, STEPS)
        for place in (repo, plain, remote):
            shutil.rmtree(place)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="with a queue of 1,000")
    parser.add_argument("--steps", action="store_true", help="say what it is spent on")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="queues,sizes")
    asked = parser.parse_args()
    with measure.private_home() as scratch:
        if "queues" in asked.only:
            lengths = QUEUES if asked.full else QUEUES[:2]
            queues(scratch, lengths, steps=asked.steps)
        if "sizes" in asked.only:
            sizes(scratch, SIZES, asked.runs, steps=asked.steps)


if __name__ == "__main__":
    main()
