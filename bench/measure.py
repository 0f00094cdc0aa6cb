"""Shared by the benches: a kept project, a daemon, and figures as people read them."""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GITAGENT = (sys.executable, "-P", "-m", "gitagent.cli")


def script(name: str) -> str:
    """Return the path of a command installed beside this interpreter."""
    return str(Path(sys.executable).with_name(name))


def run(argv: Sequence[str], cwd: Path, **env: str) -> str:
    """Run a command that has to succeed; return what it printed."""
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, **env}, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(
            f"{' '.join(argv)} ended with {done.returncode}: {done.stderr.decode()}"
        )
    return done.stdout.decode()


def git(cwd: Path, *args: str) -> str:
    """Run git; return its output without the last newline."""
    return run(["git", *args], cwd).removesuffix("\n")


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def milliseconds(samples: Sequence[float]) -> str:
    """Return median and range of samples in seconds."""
    low, high = min(samples) * 1000, max(samples) * 1000
    return f"{statistics.median(samples) * 1000:.1f} ms ({low:.1f} to {high:.1f})"


def verdict(name: str, value: float, limit: float, unit: str) -> None:
    """Print one figure beside its target."""
    mark = "met" if value <= limit else "MISSED"
    print(f"  {name}: {value:.2f} {unit}; asked for at most {limit:g} {unit}: {mark}")


@contextmanager
def private_home() -> Iterator[Path]:
    """Give a scratch folder, and make HOME and Git's configuration private to it.

    A bench that is terminated clears up as well, daemons included.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="gitagent-bench-") as name:
        scratch = Path(name)
        home = scratch / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\n\tname = Bench\n\temail = bench@example.org\n"
            "[init]\n\tdefaultBranch = main\n"
        )
        os.environ["HOME"] = str(home)
        os.environ["XDG_CACHE_HOME"] = str(home / ".cache")
        yield scratch


@contextmanager
def daemon(repo: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a daemon on ``repo``; return once its first read is done."""
    reading, writing = os.pipe()
    with (repo.parent / f"{repo.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*GITAGENT, "up"],
            cwd=repo,
            env={**os.environ, "GITAGENT_READY_FD": str(writing)},
            stdout=log,
            stderr=log,
            pass_fds=(writing,),
        )
    os.close(writing)
    with os.fdopen(reading, "rb") as ready:
        if not ready.readline():
            sys.exit((repo.parent / f"{repo.name}.log").read_text())
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def wait_task(
    repo: Path, task: str, state: str, limit_s: float = 60
) -> dict[str, object]:
    """Poll a task's record until it is in ``state``; exit if it settles elsewhere."""
    deadline = time.monotonic() + limit_s
    blob = f"refs/gitagent/tasks/{task}:record-v1.json"
    while time.monotonic() < deadline:
        done = subprocess.run(
            ["git", "cat-file", "blob", blob],
            cwd=repo,
            capture_output=True,
            check=False,
        )
        record = json.loads(done.stdout) if done.returncode == 0 else {}
        if record.get("state") == state:
            return dict(record)
        if record.get("state") in {"failed", "refused", "stopped"}:
            sys.exit(f"{task} is {record['state']}: {record.get('reason')}")
        time.sleep(0.02)
    sys.exit(f"{task} was not {state} within {limit_s:g} s")
