"""Two tasks, from a commit to a landing, on a repository made for the purpose.

Ends with exit code 0 only if both landed. The repository stays, for looking around.
"""

import json
import os
import queue
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import project

LIMIT_S = 60
GITAGENT = (sys.executable, "-P", "-m", "gitagent.cli")
SETTLED = {"landed", "done", "failed", "stopped", "refused"}

TASKS = {
    "add-easter": """\
# Add the date of Easter

The almanac knows seasons, but not when Easter is.
Add `easter(year)` for the Gregorian calendar, with a test.

```sh
cat > almanac/easter.py <<'PY'
\"\"\"The date of Easter.\"\"\"


def easter(year):
    \"\"\"Return month and day of Easter Sunday in the Gregorian calendar.\"\"\"
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return month, day + 1
PY
cat > tests/test_easter.py <<'PY'
import unittest

from almanac.easter import easter


class EasterTest(unittest.TestCase):
    def test_easter(self):
        self.assertEqual((3, 31), easter(2024))
        self.assertEqual((4, 5), easter(2026))
PY
```

```sh
make test
git add -A
git commit -q -m "Add the date of Easter"
```
""",
    "list-functions": """\
+++
title = "List the functions in the docs"
paths = ["docs/**"]
+++
The guide says nothing about what there is.
Write `docs/functions.md` from the sources; what is left uncommitted is harvested too.

```sh
echo "in $(pwd), uid $(id -u), interfaces: $(sed -n 's/:.*//p' /proc/net/dev | xargs)"
{
  echo "# Functions"
  echo
  sed -n 's/^def \\([a-z][a-z_]*(.*)\\):/- `\\1`/p' almanac/*.py | sort
} > docs/functions.md
cat docs/functions.md
```
""",
}

console = Console(highlight=False, soft_wrap=True)


class Failed(Exception):
    """The demo cannot go on; the message says why."""


def main() -> int:
    """Run the demo; return its exit code."""
    place = Path(tempfile.mkdtemp(prefix="gitagent-demo-"))
    # The user's own Git configuration may sign commits or run hooks; not here.
    os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    repo = place / "almanac"
    began = time.monotonic()
    try:
        landed = tour(repo)
    except Failed as failed:
        console.print(f"\n[bold red]{failed}[/]")
        landed = False
    console.rule(style="dim")
    verdict = (
        "[bold green]Both tasks landed[/]" if landed else "[bold red]Not landed[/]"
    )
    console.print(f"{verdict} after {time.monotonic() - began:.1f} s.")
    look_further(repo)
    return 0 if landed else 1


def tour(repo: Path) -> bool:
    """Show the way from an empty folder to two landings; return whether both are."""
    chapter("A repository", f"{repo}")
    project.make(repo)
    for key, value in (
        ("user.name", "Demo Person"),
        ("user.email", "demo@example.org"),
        ("commit.gpgsign", "false"),
    ):
        git(repo, "config", key, value)
    shell(repo, "git", "log", "--oneline", "-4")
    files = len(git(repo, "ls-files").splitlines())
    commits = git(repo, "rev-list", "--count", "HEAD")
    console.print(f"[dim]{files} files, {commits} commits, tests that pass[/]")

    chapter("gitagent init", "settings, a first check, and a try of both")
    shell(repo, *GITAGENT, "init", shown="gitagent init")

    chapter(
        "gitagent up",
        "the daemon; ┃ marks its own lines, ● the news of gitagent status",
    )
    daemon = subprocess.Popen(
        [*GITAGENT, "up"],
        cwd=repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        return follow(repo, daemon)
    finally:
        end(daemon)


def follow(repo: Path, daemon: subprocess.Popen[str]) -> bool:
    """Commit the tasks and show what becomes of them."""
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=relay, args=(daemon, lines), daemon=True).start()
    until_up(repo, lines)

    chapter("Two task files", "a commit is all that it takes")
    for task, text in TASKS.items():
        file = repo / ".agent" / "tasks" / f"{task}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        console.print(f"[bold].agent/tasks/{task}.md[/]")
        highlighted = Syntax("", "markdown", theme="ansi_dark").highlight(text)
        highlighted.rstrip()
        for line in highlighted.split():
            console.print(Text.assemble(("  │ ", "blue"), line))
        console.print()
    shell(repo, "git", "add", ".agent/tasks")
    shell(repo, "git", "commit", "-q", "-m", "Ask for Easter and a list of functions")

    chapter("The daemon at work", "from here on nobody types anything")
    states = until_settled(repo, lines)
    landed = all(state == "landed" for state in states.values())
    show_result(repo, landed=landed)
    return landed


def until_up(repo: Path, lines: "queue.Queue[str | None]") -> None:
    """Wait until the daemon answers."""
    deadline = time.monotonic() + LIMIT_S
    while not status(repo)["daemon"]["running"]:
        if not show(lines, 0.5) or time.monotonic() > deadline:
            raise Failed("The daemon did not start.")
    show(lines, 0.2)


def until_settled(repo: Path, lines: "queue.Queue[str | None]") -> dict[str, str]:
    """Show each change of state until both tasks are settled; return the states."""
    states: dict[str, str] = {}
    seen_worktree = False
    deadline = time.monotonic() + LIMIT_S
    while set(states) != set(TASKS) or not SETTLED.issuperset(states.values()):
        alive = show(lines, 1.0)
        for task in status(repo)["tasks"]:
            if task["id"] in TASKS:
                tell(states, task)
        if not seen_worktree and "running" in states.values():
            seen_worktree = True
            shell(repo, "git", "worktree", "list")
        if not alive:
            raise Failed("The daemon ended before the tasks were done.")
        if time.monotonic() > deadline:
            raise Failed(f"Not done within {LIMIT_S} s.")
    show(lines, 0.3)
    return states


def tell(known: dict[str, str], task: dict[str, Any]) -> None:
    """Print the state of a task if it is news."""
    name, state = task["id"], task["state"]
    before, known[name] = known.get(name), state
    if state == before:
        return
    bad = state in SETTLED - {"landed", "done"}
    colour = "green" if state == "landed" else "red" if bad else "cyan"
    arrow = f"{before} → " if before else ""
    why = f" [dim]{escape(task['reason'])}[/]" if bad and task["reason"] else ""
    console.print(f"  [bold {colour}]● task {name}: {arrow}{state}[/]{why}")


def show_result(repo: Path, *, landed: bool) -> None:
    """Print what plain Git has to say about it."""
    chapter("What landed", "plain Git from here on")
    shell(repo, "git", "log", "--graph", "--oneline", "--decorate", "-12", "main")
    if not landed:
        for task in TASKS:
            shell(repo, *GITAGENT, "logs", task, shown=f"gitagent logs {task}")
        return
    task = "list-functions"
    shell(repo, *GITAGENT, "logs", task, shown=f"gitagent logs {task}")
    shell(repo, "git", "log", "-1", "--format=%an, committed by %cn%n%n%B", "main")
    shell(repo, "git", "log", "--oneline", "refs/gitagent/tasks/add-easter")
    notes = git(repo, "ls-tree", "-r", "--name-only", "main", ".agent/landings")
    note = notes.splitlines()[-1]
    shell(repo, "git", "show", f"main:{note}")
    console.print("\n[dim]The checkout has followed, and its tests pass:[/]")
    shell(repo, "make", "test")
    shell(repo, "git", "status", "--short", "--branch")


def look_further(repo: Path) -> None:
    """Print what to try next."""
    console.print(
        f"""
The repository stays where it is:

  cd {repo}
  git log --graph --stat main              what landed
  git log refs/gitagent/tasks/add-easter   a task's story, one commit a step
  git for-each-ref refs/gitagent           everything that is on record
  cat .agent/config.toml                   the settings, each with its comment

  PATH={Path(sys.executable).parent}:$PATH
  gitagent status                          what is open, what ended, who owes what
  gitagent logs list-functions             what the worker printed
  gitagent verify                          is the target what was checked?
  gitagent up                              go on: write a task of your own

When you have seen enough: rm -rf {repo.parent}""",
        markup=False,
    )


# --- small things


def chapter(title: str, about: str) -> None:
    """Print a heading."""
    console.print()
    console.rule(f"[bold]{title}[/] [dim]{about}[/]", align="left", style="blue")


def shell(cwd: Path, *argv: str, shown: str = "") -> None:
    """Show a command and what it prints, as it prints it.

    Raises:
        Failed: it ended with another code than 0.
    """
    console.print(f"[bold cyan]$ {escape(shown or shlex.join(argv))}[/]")
    with subprocess.Popen(
        argv,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            console.print("  " + line.rstrip("\n"), markup=False)
    if process.returncode != 0:
        raise Failed(f"{shown or argv[0]} ended with {process.returncode}.")


def git(cwd: Path, *args: str) -> str:
    """Return what git prints."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def status(repo: Path) -> dict[str, Any]:
    """Return ``gitagent status --json``."""
    argv: Sequence[str] = (*GITAGENT, "status", "--json")
    done = subprocess.run(argv, cwd=repo, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"gitagent status: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def relay(daemon: subprocess.Popen[str], lines: "queue.Queue[str | None]") -> None:
    """Put the daemon's lines into the queue, and None at their end."""
    for line in daemon.stdout or ():
        lines.put(line.rstrip("\n"))
    lines.put(None)


def show(lines: "queue.Queue[str | None]", wait_s: float) -> bool:
    """Print the lines that come within ``wait_s``; return False after the last one.

    It returns soon after a line, so that the states are asked for while they are new.
    """
    try:
        line = lines.get(timeout=wait_s)
        while line is not None:
            console.print(coloured(line))
            line = lines.get(timeout=0.05)
    except queue.Empty:
        return True
    return False


def coloured(line: str) -> Text:
    """Return a line of the daemon's log (time, topic, text) with its parts apart."""
    moment, _, rest = line.partition(" ")
    topic, _, text = rest.partition(" ")
    good = "landed" in text or "passed" in text
    return Text.assemble(
        ("┃ ", "blue"),
        (f"{moment} ", "dim"),
        (f"{topic} ", "bold"),
        (text, "green" if good else ""),
    )


def end(daemon: subprocess.Popen[str]) -> None:
    """End the daemon that this script started."""
    if daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(15)
        except subprocess.TimeoutExpired:
            daemon.kill()
    daemon.wait()


if __name__ == "__main__":
    sys.exit(main())
