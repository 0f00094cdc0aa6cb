"""The daemon's loop stepped by hand, and settings written as values."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import tomli_w

from gitagent.core.ident import submission_id
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.daemon import recover
from gitagent.daemon.loop import Loop
from gitagent.git.repository import discover
from gitagent.host import clock
from tests.support.repos import Content, Repo

CONFIG = ".agent/config.toml"
INIT = "Keep it\n\nGitagent-Record: init\n"

_PATIENCE_S = 60.0  # of a step, for a loop that never comes to rest


def config(*checks: Mapping[str, Any] | str, **tables: Mapping[str, Any]) -> str:
    """Return settings with these checks; a bare command is the check ``tests``."""
    named = [
        {"name": "tests", "run": each} if isinstance(each, str) else dict(each)
        for each in checks
    ]
    return tomli_w.dumps({**tables, "check": named})


def keep(path: Path, files: Mapping[str, Content], settings: str, **how: Any) -> Repo:
    """Make a repository as `gitagent init` leaves it."""
    repo = Repo.make(path, files, **how)
    repo.commit_at("refs/heads/main", {CONFIG: settings}, INIT)
    if not repo.bare:
        repo.git("reset", "-q", "--hard")
    return repo


class Stepped:
    """A loop on a real repository that takes a turn when the test says so."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self._begin()

    def _begin(self) -> None:
        found = discover(self.repo.path)
        recover.orphans(found)
        recover.locks(found)
        recover.leftovers(found)
        self.loop = Loop(found, clock.Wake())

    def rest(self) -> Self:
        """Take turns until nothing runs and nothing is left to do."""
        return self.until(lambda: False)

    def until(self, done: Callable[[], object]) -> Self:
        """Take turns until ``done``, or until nothing can happen any more."""
        deadline = clock.monotonic() + _PATIENCE_S
        while True:
            acted = self.loop.turn()
            if done() or not (acted or self.loop.live.busy):
                return self
            if clock.monotonic() > deadline:
                raise AssertionError("the loop does not come to rest")
            if not acted:
                self.loop.wake.wait(0.2)

    def hurry(self) -> Self:
        """Let no pause stand in the way of the next turn."""
        self.loop.live.waits = {
            key: due for key, due in self.loop.live.waits.items() if due == float("inf")
        }
        return self

    def restart(self) -> Self:
        """Go on as another daemon would, after one that was stopped."""
        self.close()
        self._begin()
        return self

    def close(self) -> None:
        """Stop what it started, and account for it."""
        self.loop.stopping = True
        self.loop.live.stop_all()
        self.loop.run(lambda _: not self.loop.live.busy)

    # --- what it knows

    @property
    def submissions(self) -> list[Submission]:
        """Every submission as the newest turn found it, oldest first."""
        assert self.loop.snapshot is not None
        found = self.loop.snapshot.submissions.values()
        return sorted(found, key=lambda each: each.created)

    def of(self, tip: str) -> Submission:
        """Return the submission of a commit."""
        assert self.loop.snapshot is not None
        return self.loop.snapshot.submissions[submission_id(tip)]

    def task(self, name: str) -> TaskRecord:
        """Return the record of a task."""
        assert self.loop.snapshot is not None
        return self.loop.snapshot.records[name]

    # --- what a person does

    def push(
        self,
        name: str,
        files: Mapping[str, Content],
        message: str = "Change",
        *,
        on: Sequence[str] = (),
        **how: Any,
    ) -> str:
        """Put a commit on ``refs/heads/land/<name>``, on the target or ``on`` these."""
        parents = tuple(on) or (self.repo.oid("refs/heads/main"),)
        ref = f"refs/heads/land/{name}"
        return self.repo.commit_at(ref, files, message, parents=parents, **how)

    def direct(self, files: Mapping[str, Content], message: str = "Change") -> str:
        """Commit on the target past the lander; its checkout goes along."""
        made = self.repo.commit_at("refs/heads/main", files, message)
        if not self.repo.bare:
            self.repo.git("reset", "-q", "--hard")
        return made

    # --- what came of it

    def landings(self) -> list[str]:
        """Return the submissions that landed on the target, newest first."""
        form = "%(trailers:key=Gitagent-Submission,valueonly)"
        said = self.repo.log(form, "--first-parent", "refs/heads/main")
        return [each.strip() for each in said if each.strip()]

    def notes(self) -> dict[str, str]:
        """Return the landing notes of the target by path."""
        target = "refs/heads/main"
        paths = self.repo.paths(target, under=".agent/landings")
        return {path: self.repo.read(path, target) for path in paths}


# --- what checks and workers do outside


def lines(file: Path) -> list[str]:
    """Return the words that were written to a file; none without one."""
    return file.read_text().split() if file.exists() else []


def pipe(folder: Path, name: str) -> Path:
    """Make a named pipe: who reads it waits for who writes it, and the other way."""
    os.mkfifo(folder / name)
    return folder / name


def holders(file: Path) -> list[int]:
    """Return the processes that have a file open, in whatever sandbox."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            names = [str(fd.readlink()) for fd in (place / "fd").iterdir()]
        except OSError:
            continue
        if any(name.endswith(str(file)) for name in names):
            found.append(int(place.name))
    return found
