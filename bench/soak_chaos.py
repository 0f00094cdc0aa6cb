"""Kill the daemon at random moments of a busy day, as often as asked.

The same storm as tests/scenarios/test_chaos.py. Ends with exit code 0 only if nothing
was lost, nothing landed twice, and nothing was left behind; the seed repeats it.
"""

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure
from tests.support import chaos


def main() -> int:
    """Let one storm pass; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311
    parser.add_argument("--log", action="store_true", help="print the daemons' log")
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.kills} kills")
    began = time.perf_counter()
    with measure.private_home() as scratch:
        storm = chaos.begin(scratch / "storm", asked.seed)
        wrong = chaos.run(storm, asked.kills, tell=lambda line: print(f"  {line}"))
        if wrong or asked.log:
            print(storm.log)
        landed = sum("landed as" in line for line in storm.log.splitlines())
    print(
        f"{storm.made} pieces of work, {asked.kills} kills, {landed} landings told, "
        f"{time.perf_counter() - began:.0f} s"
    )
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
