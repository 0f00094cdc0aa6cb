"""The peer ``mergetrain``, in a virtual environment of its own, and how it is driven.

Its branches stand in linked worktrees, since it takes no others. It pushes to a bare
remote, and it asks on a terminal before it does.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import measure

PACKAGE = "mergetrain"
TRIES = 5

_CONFIG = """\
version: 2
project:
  name: bench
gates:
  - name: tests
    run: {check}
deploy:
  reuse:
    enabled: true
"""


def install(place: Path) -> Path | str:
    """Install the peer; return its command, or one line that says why not."""
    try:
        subprocess.run(
            [sys.executable, "-m", "venv", str(place)], capture_output=True, check=True
        )
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, PACKAGE], capture_output=True, check=True, timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{PACKAGE} cannot be installed here: {type(error).__name__}"
    return place / "bin" / PACKAGE


def version(command: Path) -> str:
    """Return the peer's version."""
    return measure.run([str(command), "--version"], command.parent).split()[-1]


def prepare(repo: Path, check: str, names: Sequence[str]) -> None:
    """Set a checkout up for the peer: a remote, its settings, a worktree a branch."""
    remote = repo.with_name(f"{repo.name}.remote")
    measure.git(repo.parent, "init", "-q", "--bare", "-b", "main", str(remote))
    # JSON's strings are YAML's.
    text = _CONFIG.format(check='"' + re.sub(r'(["\\])', r"\\\1", check) + '"')
    (repo / ".mergetrain.yaml").write_text(text)
    with (repo / ".git" / "info" / "exclude").open("a") as exclude:
        exclude.write(".mergetrain/\n.mergetrain.yaml\n")
    measure.git(repo, "remote", "add", "origin", str(remote))
    measure.git(repo, "push", "-q", "origin", "main")
    for name in names:
        tree = repo.with_name(f"{repo.name}-{name}")
        measure.git(repo, "worktree", "add", "-q", str(tree), f"w/{name}")


def land(command: Path, repo: Path, names: Sequence[str]) -> tuple[float, float]:
    """Hand all over, then deploy until nothing is left; return the seconds of both."""
    began = time.perf_counter()
    for name in names:
        tree = repo.with_name(f"{repo.name}-{name}")
        handing = ["enqueue", "--task", name, "--branch", f"w/{name}"]
        measure.run([str(command), *handing, "--worktree", str(tree)], repo)
    between = time.perf_counter()
    said = ""
    for _ in range(TRIES):  # one that finds bad work ends before it asks
        said = _deploy(command, repo)
        if "push=succeeded" in said or "no queued or ready jobs" in said:
            break
    else:
        sys.exit(said)
    ended = time.perf_counter()
    measure.git(repo, "fetch", "-q", "origin", "+main:refs/heads/landed")
    return between - began, ended - between


def _deploy(command: Path, repo: Path) -> str:
    """Deploy as a person at a terminal who says yes."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [str(command), "deploy"], cwd=repo, stdin=theirs, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        os.write(ours, b"y\n")
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
    os.close(ours)
    return said.decode(errors="replace")
