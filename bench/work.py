"""Real work for a lander: repositories of any size, branches to land, and outcomes.

A branch adds one file under ``work/`` that is named for it. What a check says about a
tree follows from the names in that folder, so that a simulation can say the same.
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pygit2

from bench import measure

PER_FOLDER = 100
SHARED = "shared.txt"  # the one file that rivals change
RECORDS = "refs/gitagent/submissions/"
ONE_S = 120.0
REST_S = 0.2
LOOK_S = 5.0  # nothing here is to be held; what is will not land
SETTLED = {"landed", "rejected", "withdrawn"}

_WHO = b"Bench <bench@example.org> 1767603600 +0000"


def make(
    path: Path, files: int, settings: str, more: Mapping[str, str] | None = None
) -> Path:
    """Make a repository of so many files, ``more`` among them, checked out on main."""
    path.mkdir(parents=True)
    measure.git(path, "init", "-q", "-b", "main")
    out = [b"commit refs/heads/main\ncommitter %b\n" % _WHO, _data("Begin")]
    names = {
        f"src/{n // PER_FOLDER:04}/{n % PER_FOLDER:02}.txt": f"file {n}\n"
        for n in range(files - 4)
    }
    names |= {
        ".agent/config.toml": settings,
        ".gitignore": "*.tmp\n",
        SHARED: "".join(f"line {n}\n" for n in range(20)),
        "work/.keep": "",
        **(more or {}),
    }
    for name, text in names.items():
        out += [f"M 100644 inline {name}\n".encode(), _data(text)]
    _fast_import(path, out)
    measure.git(path, "reset", "-q", "--hard")
    return path


def settings(check: str, extra: str = "", sandbox: str = "") -> str:
    """Return a configuration with one check; ``extra`` goes into ``[lander]``."""
    return (
        f"[sandbox]\n{sandbox}\n[lander]\n{extra}\n"
        # JSON's strings are TOML's.
        f'[[check]]\nname = "tests"\nrun = {json.dumps(check)}\n'
    )


def branches(
    repo: Path,
    names: Iterable[str],
    rivals: Iterable[str] = (),
    texts: Mapping[str, str] | None = None,
) -> None:
    """Make ``w/<name>`` for each name, on main, with one file that holds its text.

    Rivals change one and the same line too.
    """
    texts = texts or {}
    base = measure.git(repo, "rev-parse", "refs/heads/main")
    contested = set(rivals)
    out: list[bytes] = []
    for name in names:
        out.append(f"commit refs/heads/w/{name}\ncommitter ".encode() + _WHO + b"\n")
        out += [_data(f"Add {name}"), f"from {base}\n".encode()]
        out += [
            f"M 100644 inline work/{name}\n".encode(),
            _data(texts.get(name, "good") + "\n"),
        ]
        if name in contested:
            text = "".join(f"line {n}\n" for n in range(20))
            text = text.replace("line 7\n", f"line 7 by {name}\n")
            out += [f"M 100644 inline {SHARED}\n".encode(), _data(text)]
    _fast_import(repo, out)


def hand_over(repo: Path, names: Sequence[str]) -> None:
    """Submit the branches of these names with one push."""
    specs = [f"refs/heads/w/{name}:refs/heads/land/{name}" for name in names]
    measure.git(repo, "push", "-q", ".", *specs)


def landed(repo: Path) -> set[str]:
    """Return the names that are on the target."""
    return Watch(repo).names()


@dataclass(slots=True)
class Watch:
    """Looks at a repository without starting a process."""

    path: Path
    store: Any = field(init=False)  # pygit2.Repository, which has no types
    _seen: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Open the repository."""
        self.store = pygit2.Repository(str(self.path))

    def target(self) -> str:
        """Return the commit of the target."""
        return str(self.store.references["refs/heads/main"].target)

    def names(self) -> set[str]:
        """Return the names under ``work/`` on the target."""
        tree = self.store[self.target()].tree
        return {entry.name for entry in tree["work"]} - {".keep"}

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the newest records of all submissions by the name of their branch."""
        found = {}
        for ref in self.store.references.iterator():
            if not ref.name.startswith(RECORDS):
                continue
            oid = str(ref.target)
            if oid not in self._seen:
                tree = self.store[oid].tree
                self._seen[oid] = json.loads(tree["record-v1.json"].data)
            record = self._seen[oid]
            found[str(record["branch"]).rpartition("/")[2]] = record
        return found

    def wait(
        self,
        done: Callable[["Watch"], bool],
        limit_s: float,
        every_s: float = 0.005,
        tell: Callable[[], str] = str,
    ) -> None:
        """Poll until ``done``; exit with what ``tell`` says when it takes too long."""
        began = looked = time.monotonic()
        while not done(self):
            now = time.monotonic()
            if now > looked + LOOK_S:
                looked = now
                for name, each in self.records().items():
                    if each["state"] == "held":
                        sys.exit(f"{name} is held: {each['reason']}\n{tell()}")
            if now > began + limit_s:
                states = {n: r["state"] for n, r in self.records().items()}
                sys.exit(f"not done within {limit_s:g} s: {states}\n{tell()}")
            time.sleep(every_s)


def all_settled(names: Iterable[str]) -> Callable[[Watch], bool]:
    """Return a question: is there an outcome for each of these?"""
    wanted = set(names)

    def done(watch: Watch) -> bool:
        records = watch.records()
        return all(
            name in records and records[name]["state"] in SETTLED for name in wanted
        )

    return done


def all_landed(names: Iterable[str]) -> Callable[[Watch], bool]:
    """Return a question: are these on the target?"""
    wanted = set(names)
    return lambda watch: wanted <= watch.names()


def in_order(records: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return names in the order in which the queue took them in."""
    return tuple(
        sorted(
            records, key=lambda name: (records[name]["created"], records[name]["id"])
        )
    )


# --- what people write when they have no lander


SERIAL = """\
for branch in "$@"; do
  if ! git merge -q --no-ff --no-edit "$branch" >/dev/null 2>&1; then
    git merge --abort; continue
  fi
  sh -c "$CHECK" || git reset -q --hard HEAD^
done
"""

BISECT = """\
# Merge all, check once; on red take the halves one after the other.
land() {
  local tip half branch
  tip=$(git rev-parse HEAD)
  for branch in "$@"; do
    git merge -q --no-ff --no-edit "$branch" >/dev/null 2>&1 || git merge --abort
  done
  if sh -c "$CHECK"; then return; fi
  git reset -q --hard "$tip"
  if [ $# = 1 ]; then return; fi
  half=$(($# / 2))
  land "${@:1:$half}"
  land "${@:$((half + 1))}"
}
land "$@"
"""


def script(repo: Path, text: str, check: str, names: Sequence[str]) -> float:
    """Run a script of this kind in a checkout; return the seconds."""
    refs = [f"w/{name}" for name in names]
    return measure.seconds(
        lambda: measure.run(["bash", "-c", text, "script", *refs], repo, CHECK=check)
    )


def remote(repo: Path) -> Path:
    """Give a repository a bare remote that has its main; return that."""
    place = repo.with_name(f"{repo.name}.git")
    measure.git(repo.parent, "init", "-q", "--bare", "-b", "main", str(place))
    measure.git(repo, "remote", "add", "origin", str(place))
    measure.git(repo, "push", "-q", "origin", "main")
    return place


def merge_one(repo: Path, name: str) -> float:
    """Merge one branch and push, as a script does; return the seconds."""
    text = f"git merge -q --no-ff --no-edit w/{name} && git push -q origin main"
    return measure.seconds(lambda: measure.run(["sh", "-c", text], repo))


def land_one(repo: Path, name: str) -> float:
    """Push one branch; return the seconds until the target has it.

    Comes back only when the submission is settled, so that the next one meets a
    daemon at rest.
    """
    watch = Watch(repo)
    began = time.perf_counter()
    measure.git(repo, "push", "-q", ".", f"refs/heads/w/{name}:refs/heads/land/{name}")
    watch.wait(all_landed([name]), ONE_S, every_s=0.001)
    spent = time.perf_counter() - began
    watch.wait(all_settled([name]), ONE_S)
    time.sleep(REST_S)
    return spent


def quoted(path: Path) -> str:
    """Return a path as a word of a shell command."""
    return shlex.quote(str(path))


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%b\n" % (len(raw), raw)


def _fast_import(repo: Path, out: Sequence[bytes]) -> None:
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=repo, input=b"".join(out), check=True
    )
