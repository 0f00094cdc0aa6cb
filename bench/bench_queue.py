"""The lander at work on real repositories, beside what else people have.

Twenty branches through gitagent, through two scripts and through a peer; one branch
from the push to the target's move, against a script; and sixty branches of every kind
against a simulation of the same, with and without a daemon that is killed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure, peer, profiled, versus, work

FILES = 200
NAMES = tuple(f"b{n:02}" for n in range(20))
BAD = "b07"
RIVALS = ("b04", "b13")
ASKED_S = {"good": 4.0, "bad": 10.0}
LIMIT_S = 300.0

# Every run takes a second, whatever comes of it.
CHECK = "sleep 1; ! grep -qx bad work/*"


def twenty(scratch: Path, kind: str, command: Path | str) -> None:
    """Land twenty branches in every way there is; ``bad``: not all of them can."""
    bad = kind == "bad"
    rest = ", one bad and two in conflict" if bad else ", all good"
    print(f"20 branches, 200 files, check: sleep 1{rest}; seconds:")

    def fresh(name: str) -> Path:
        repo = work.make(scratch / f"{kind}-{name}", FILES, work.settings(CHECK))
        texts = {BAD: "bad"} if bad else {}
        work.branches(repo, NAMES, RIVALS if bad else (), texts)
        return repo

    rows = {"gitagent": _gitagent(fresh("gitagent"), bad=bad)}
    for name, text in (("serial", work.SERIAL), ("bisect", work.BISECT)):
        repo = fresh(name)
        rows[f"script, {name}"] = work.script(repo, text, CHECK, NAMES)
        _right(repo, bad=bad)
    if isinstance(command, str):
        print(f"  {command}")
    else:
        repo = fresh("peer")
        peer.prepare(repo, CHECK, NAMES)
        handing, landing = peer.land(command, repo, NAMES)
        measure.git(repo, "reset", "-q", "--hard", "landed")
        _right(repo, bad=bad)
        rows[f"mergetrain {peer.version(command)}"] = handing + landing
        rows["  of that after all were handed over"] = landing
    for name, spent in rows.items():
        print(f"  {name:36} {spent:6.2f}  {spent / rows['gitagent']:5.1f} times ours")
    measure.verdict("gitagent", rows["gitagent"], ASKED_S[kind], "s")


def _gitagent(repo: Path, *, bad: bool) -> float:
    watch = work.Watch(repo)
    with measure.daemon(repo):
        began = time.perf_counter()
        work.hand_over(repo, NAMES)
        # Good work is there when the target has it; an outcome needs its record too.
        done = work.all_settled(NAMES) if bad else work.all_landed(NAMES)
        watch.wait(done, LIMIT_S, tell=lambda: _log(repo))
        spent = time.perf_counter() - began
        watch.wait(work.all_settled(NAMES), LIMIT_S, tell=lambda: _log(repo))
    _right(repo, bad=bad)
    return spent


def _right(repo: Path, *, bad: bool) -> None:
    """Exit unless exactly the right ones are on main."""
    there = work.Watch(repo).names()
    missing = set(NAMES) - there
    lost = {BAD, *missing.intersection(RIVALS)} if bad else set()
    if missing != lost or len(lost) != 2 * bad:
        sys.exit(f"{repo.name}: not landed: {sorted(missing)}")


def one(scratch: Path, runs: int) -> None:
    """Land one branch at a time, from the push to the target's move."""
    print("one branch, 200 files, check: true, from the push to the target's move:")
    names = [f"one{n:02}" for n in range(runs + 1)]
    ours = work.make(scratch / "one-ours", FILES, work.settings("true"))
    theirs = work.make(scratch / "one-script", FILES, work.settings("true"))
    work.remote(theirs)
    for repo in (ours, theirs):
        work.branches(repo, names)
    landings, merges = [], []
    with profiled.daemon(ours) as spans:
        for n, name in enumerate(names):
            spent, other = work.land_one(ours, name), work.merge_one(theirs, name)
            if n:  # the first is for warming up
                landings.append(spent)
                merges.append(other)
            else:
                spans.begin()
    ratio = statistics.median(landings) / statistics.median(merges)
    print(f"  gitagent                  {measure.milliseconds(landings)}")
    print(f"  git merge and git push    {measure.milliseconds(merges)}")
    measure.verdict("ratio", ratio, 3, "x")
    spans.show(runs)


def _log(repo: Path) -> str:
    log = repo.parent / f"{repo.name}.log"
    return "\n".join(log.read_text(errors="replace").splitlines()[-40:])


def sixty(scratch: Path, *, full: bool) -> None:
    """Compare real runs with the simulation of the same work."""
    print(
        "60 branches, 10,000 files; bad, flaky and bad together; real over simulated:"
    )
    for seconds in (2.0, 0.2) if full else (2.0,):
        for slots in (1, 2, 4) if full else (2,):
            case = versus.Case(scratch / f"v{seconds}-{slots}", slots, seconds)
            row = versus.compare(case)
            print(f"  {row}")
            if seconds == 2.0:
                measure.verdict("real over simulated", row.ratio, 1.10, "x")


def storm(scratch: Path, *, full: bool) -> None:
    """The same with a daemon that is killed again and again."""
    print("the same, with a SIGKILL of the daemon every 5 to 15 s:")
    for slots in (1, 2, 4) if full else (2,):
        case = versus.Case(scratch / f"k-{slots}", slots, 2.0, kills=True)
        print(f"  {versus.compare(case)}")


def main() -> None:
    """Print all figures, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all of the grid")
    parser.add_argument("--only", default="good,bad,one,sixty,storm")
    parser.add_argument("--runs", type=int, default=20)
    asked = parser.parse_args()
    only = set(asked.only.split(","))
    with tempfile.TemporaryDirectory(prefix="gitagent-peer-") as outside:
        command = peer.install(Path(outside)) if only & {"good", "bad"} else ""
        with measure.private_home() as scratch:
            parts: dict[str, Callable[[], None]] = {
                "good": lambda: twenty(scratch, "good", command),
                "bad": lambda: twenty(scratch, "bad", command),
                "one": lambda: one(scratch, asked.runs),
                "sixty": lambda: sixty(scratch, full=asked.full),
                "storm": lambda: storm(scratch, full=asked.full),
            }
            for name, part in parts.items():
                if name in only:
                    part()


if __name__ == "__main__":
    main()
