"""A daemon that lies in the repository it keeps changes over to its own new code.

Only a landing makes it do so, since whatever else moves the target was not checked, and
only once the new code has read the repository in a process of its own. Otherwise the
old code goes on, and is not asked again before the package has changed once more.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

import gitagent
from gitagent.core.snapshot import Snapshot, Target
from gitagent.core.submission import Submission
from gitagent.daemon.crash import report
from gitagent.errors import GitError
from gitagent.git.repository import Repository
from gitagent.host import process
from gitagent.host.log import log
from gitagent.lander.trail import lands, steps

REHEARSAL_S: Final = 60.0

_FAILED: Final = "swap failed: "


@dataclass(frozen=True, slots=True)
class Code:
    """The package that runs, as it is committed in the repository that it lies in."""

    folder: str  # from the top of the work tree
    commit: str  # that is checked out
    tree: str  # of the folder


def code(repo: Repository) -> Code | None:
    """Return which code lies where this daemon's comes from.

    None: it lies elsewhere, or is not as it was committed.
    """
    package = Path(gitagent.__file__).resolve().parent
    if repo.worktree is None or not package.is_relative_to(repo.worktree):
        return None
    folder = package.relative_to(repo.worktree).as_posix()
    with suppress(GitError):
        found = repo.git.run(
            "rev-parse", "HEAD^{commit}", f"HEAD:{folder}", git_dir=repo.git_dir
        )
        changed = repo.git.run(
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--ignore-submodules=dirty",
            "--",
            folder,
            git_dir=repo.git_dir,
            work_tree=repo.worktree,
            user_config=True,
        )
        if not changed.out:
            return Code(folder, *found.text.split())
    return None


@dataclass(slots=True)
class Swap:
    """Watches the landings of one daemon for its own code; for the loop's thread."""

    repo: Repository
    running: Code | None  # None: a landing cannot change it
    tell: Callable[[], None] = lambda: None  # called when `problem` has changed
    wake: Callable[[], None] = lambda: None
    problem: str = ""  # a sentence; why the newest code does not run
    _seen: str | None = None  # target commit that was looked at
    _tried: str = ""  # tree that was not good
    _asked: Code | None = None  # that rehearses
    _verdict: str | None = None  # what came of it; empty: it is good
    _cancel: process.Cancel = field(default_factory=process.Cancel)
    _thread: threading.Thread | None = None

    def due(self, snapshot: Snapshot) -> bool:
        """Tell whether the daemon is to end for its new code; starts the rehearsal."""
        commit = snapshot.target.commit
        if self.running is None or commit is None:
            return False
        if self._asked is not None:
            if self._verdict is None:
                return False
            asked, verdict = self._asked, self._verdict
            self._asked = self._verdict = None
            now = code(self.repo)
            if verdict:
                self.fail(asked, verdict)
            elif now is not None and now.tree == asked.tree:
                return True
            self._seen = None
        if commit != self._seen:
            self._seen = commit
            self._look(self.running, snapshot, commit)
        return False

    def fail(self, new: Code, why: str) -> None:
        """Let the old code go on."""
        self._tried = new.tree
        self._say(f"{_FAILED}{new.commit[:12]}: {why}")

    def again(self) -> "Swap":
        """Return what the daemon goes on with that could not change over."""
        return Swap(self.repo, self.running, problem=self.problem, _tried=self._tried)

    def close(self) -> None:
        """End a rehearsal under way."""
        self._cancel.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self, running: Code, snapshot: Snapshot, commit: str) -> None:
        new = code(self.repo)
        if new is None or new.commit != commit or new.tree == self._tried:
            return
        if new.tree == running.tree:
            self._say("")
            return
        changes = self.repo.git.run(
            *("rev-list", "--first-parent", commit, f"^{running.commit}"),
            *("--", new.folder),
        )
        past = self._past(commit, set(changes.text.split()), snapshot.submissions)
        if past:
            why = "came past the lander; restart the daemon by hand to run it"
            self.fail(new, f"{past[:12]} {why}")
            return
        log("gitagent", f"{commit[:12]} changes this daemon, and is tried out")
        self._asked = new

        def rehearse() -> None:
            try:
                self._verdict = _rehearse(self.repo, snapshot.target, self._cancel)
            except Exception as error:  # noqa: BLE001 - told, and no end of the daemon
                self._verdict = report(error, lambda: self.repo)
            self.wake()

        self._thread = threading.Thread(target=rehearse, name="swap", daemon=True)
        self._thread.start()

    def _past(
        self, tip: str, changes: set[str], submissions: Mapping[str, Submission]
    ) -> str:
        """Return one of the ``changes`` below ``tip`` that nobody landed, or ""."""
        with self.repo.objects() as objects:
            for seen in steps(objects, tip):
                oid = seen.commit.oid
                if not changes:
                    break
                if oid not in changes:
                    continue
                changes.remove(oid)
                record = submissions.get(seen.submission)
                if record is None or not lands(objects, seen, record):
                    return oid
        return ""

    def _say(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            log("gitagent", problem or "the code that runs is the newest again")
            self.tell()


def _rehearse(repo: Repository, target: Target, cancel: process.Cancel) -> str:
    """Return why the code that lies there cannot be the daemon, or nothing."""
    ended = process.run(
        [*_program(), "-C", str(repo.common_dir), "rehearse"],
        cwd=None,
        env=os.environ,
        timeout=REHEARSAL_S,
        cancel=cancel,
    )
    if ended.timed_out:
        return f"it has not read the repository within {REHEARSAL_S:g} s"
    if ended.code != 0:
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else f"it ended with {ended.code}"
        return last.removeprefix("gitagent: ")
    try:
        said = json.loads(ended.output)
        there = (said["package"], said["target"], said["config"], said["problem"])
    except (ValueError, KeyError, TypeError):
        return "what it says after its rehearsal is not understood"
    package = str(Path(gitagent.__file__).resolve().parent)
    here = (package, target.ref, target.config, target.problem)
    names = ("package", "target", "settings", "problem with the settings")
    for name, old, new in zip(names, here, there, strict=True):
        if old != new:
            return f"it reads another {name}: {new} and not {old}"
    return ""


def change_over() -> NoReturn:
    """Be the new code, called as this process was. Raises OSError if that fails."""
    process.become([*_program(), *sys.argv[1:]])


def _program() -> list[str]:
    """Return the words that this process was started with, without its arguments."""
    words = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv[1:])]
    return [sys.executable, *words[1:]]
