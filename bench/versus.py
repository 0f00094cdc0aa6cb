"""The lander on a real repository against a simulation of the very same work.

A run's outcome depends on the tree and on which try it is, in the check as in the
simulation. So the two make the same decisions, and what is left is overhead.
"""

import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench import measure, simulate, work

SUBMISSIONS = 60
FILES = 10_000
FAILURE = 0.05
PAIRS = 0.02
FLAKE = 0.05
LIMIT_S = 900.0
KILL_S = (5.0, 15.0)

_CHECK = """\
cd work
[ -e s0000 ] || ls s* >/dev/null 2>&1 || exit 0
sleep {seconds}
k=$(ls -d s* | md5sum | cut -c1-12)
n=$(($(cat {state}/$k 2>/dev/null | wc -l) + 1))
echo $n >> {state}/$k
d=$({{ echo '{seed} '$n; ls -d s*; }} | md5sum | cut -c1-8)
for f in s*; do
  read -r what other < $f
  case $what in
  bad) echo $f is bad; exit 1 ;;
  pair) if [ -e $other ]; then echo $f and $other; exit 1; fi ;;
  esac
done
if [ $((0x$d)) -lt {limit} ]; then echo flake; exit 1; fi
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison."""

    place: Path  # that does not exist yet
    slots: int
    seconds: float  # of a check
    kills: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """What came of it."""

    case: Case
    cold_s: float  # until the first checkouts were there, not counted
    real_s: float
    simulated_s: float
    runs: int
    simulated_runs: int
    landed: int
    rejected: int
    kills: int

    @property
    def ratio(self) -> float:
        """Real over simulated."""
        return self.real_s / self.simulated_s

    def __str__(self) -> str:
        """Return one line."""
        killed = f", {self.kills} kills" if self.case.kills else ""
        return (
            f"T {self.case.seconds:g} s, P {self.case.slots}: real {self.real_s:.1f} s"
            f", simulated {self.simulated_s:.1f} s, ratio {self.ratio:.2f}; "
            f"runs {self.runs}, simulated {self.simulated_runs}; "
            f"{self.landed} landed, {self.rejected} rejected{killed}; "
            f"first checkouts {self.cold_s:.1f} s before"
        )


def compare(case: Case) -> Row:
    """Land the work for real, then simulate it in the order the queue gave it.

    Exits when something landed, or was rejected, that should not have been.
    """
    case.place.mkdir()
    state = case.place / "state"
    state.mkdir()
    truth = simulate.world(case.seed, SUBMISSIONS, FAILURE, pairs=PAIRS, flake=FLAKE)
    check = _CHECK.format(
        seconds=case.seconds,
        state=work.quoted(state),
        seed=case.seed,
        limit=round(FLAKE * 2**32),
    )
    settings = work.settings(
        "sh check.sh", extra=f"window = {case.slots}", sandbox=f'write = ["{state}"]'
    )
    more = {"check.sh": check}
    repo = work.make(case.place / "repo", FILES, settings, more)
    texts = dict.fromkeys(truth.bad, "bad")
    for one, other in truth.pairs:
        texts[other] = f"pair {one}"
    warm = tuple(f"warm{n}" for n in range(case.slots))
    work.branches(repo, [*warm, *truth.names], texts=texts)
    cold = _warm(repo, warm)
    spent, kills = _real(repo, truth.names, case)
    found = work.Watch(repo).records()
    records = {name: found[name] for name in truth.names}
    ordered = replace(truth, names=work.in_order(records))
    passed = len(warm)
    report = simulate.simulate(ordered, simulate.ours, case.slots, passed=passed)
    _check_outcome(ordered, records, report)
    measure.git(repo, "fsck", "--no-dangling", "--no-progress")
    runs = sum(len(each.read_text().splitlines()) for each in state.iterdir())
    settled = [record["state"] for record in records.values()]
    return Row(
        case,
        cold,
        spent,
        report.makespan * case.seconds,
        runs,
        report.runs - report.stopped,
        settled.count("landed"),
        settled.count("rejected"),
        kills,
    )


def _warm(repo: Path, names: tuple[str, ...]) -> float:
    """Land one for each slot, so that each has its checkout; return the seconds."""
    with measure.daemon(repo):
        began = time.perf_counter()
        work.hand_over(repo, names)
        work.Watch(repo).wait(work.all_settled(names), LIMIT_S, every_s=0.02)
        return time.perf_counter() - began


def _real(repo: Path, names: tuple[str, ...], case: Case) -> tuple[float, int]:
    watch = work.Watch(repo)
    done = work.all_settled(names)
    if not case.kills:
        with measure.daemon(repo):
            began = time.perf_counter()
            work.hand_over(repo, names)
            watch.wait(done, LIMIT_S, every_s=0.02)
            return time.perf_counter() - began, 0
    chance = random.Random(case.seed)  # noqa: S311 - repeatable, no secret
    began = time.perf_counter()
    work.hand_over(repo, names)
    kills = 0
    while True:
        process = _start(repo)
        try:
            until = time.monotonic() + chance.uniform(*KILL_S)
            while time.monotonic() < until and not done(watch):
                time.sleep(0.02)
            if done(watch):
                spent = time.perf_counter() - began
                process.terminate()
                process.wait(30)
                return spent, kills
        finally:
            process.kill()
            process.wait(30)
        kills += 1
        if time.perf_counter() - began > LIMIT_S:
            sys.exit(f"not done within {LIMIT_S:g} s")


def _start(repo: Path) -> subprocess.Popen[bytes]:
    with repo.with_name("daemon.log").open("ab") as log:
        return subprocess.Popen(
            [*measure.GITAGENT, "up"],
            cwd=repo,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _check_outcome(
    world: simulate.World,
    records: dict[str, dict[str, object]],
    report: simulate.Report,
) -> None:
    """Exit unless each outcome is right: what is bad is out, what is good is in."""
    rejected = {n for n, record in records.items() if record["state"] == "rejected"}
    landed = {n for n, record in records.items() if record["state"] == "landed"}
    if world.red(landed):
        sys.exit("the target is red")
    if report.faults:
        sys.exit(f"the simulation did what it never may: {report}")
    wrong = rejected ^ world.right()
    # Two flakes in a row on one tree are a rejection by the rules.
    if wrong and not report.unlucky:
        sys.exit(f"wrong outcomes: {sorted(wrong)}")
