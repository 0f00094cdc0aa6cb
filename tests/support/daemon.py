"""A real daemon as a child of the test, and the command line beside it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.support.repos import Repo
from tests.support.waiting import wait_for

T = TypeVar("T")

COMMAND = (sys.executable, "-P", "-m", "gitagent.cli")

SETTLED = {"landed", "done", "failed", "stopped", "refused", "rejected", "withdrawn"}

_RECORD = "record-v1.json"
_READY_FD = "GITAGENT_READY_FD"  # descriptor on which a daemon says that it has read


class WentWrong(AssertionError):
    """The daemon ended, or a task or submission settled, other than was expected."""


def gitagent(
    repo: Repo | Path,
    *args: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run one gitagent command in ``repo`` to its end, whatever its exit code."""
    return subprocess.run(
        [*COMMAND, *args],
        cwd=repo if isinstance(repo, Path) else repo.path,
        input=stdin,
        env=dict(os.environ, **(env or {})),
        timeout=timeout,
        capture_output=True,
        text=True,
        check=False,
    )


def status(repo: Repo | Path, *args: str) -> dict[str, Any]:
    """Return what ``gitagent status --json`` says."""
    done = gitagent(repo, "status", "--json", *args)

    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def record(repo: Repo, ref: str) -> dict[str, Any] | None:
    """Return the newest record of the chain at ``ref``, or None without a chain."""
    done = subprocess.run(
        ["git", "cat-file", "blob", f"{ref}:{_RECORD}"],
        cwd=repo.path,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@dataclass(slots=True)
class Daemon:
    """One ``gitagent up`` in the foreground, owned by the test that started it."""

    repo: Repo
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)  # what it printed so far
    _changed: threading.Event = field(default_factory=threading.Event)
    _reader: threading.Thread | None = None

    @classmethod
    def start(
        cls,
        repo: Repo,
        *,
        failpoint: str = "",
        env: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
        wait: bool = True,
    ) -> Self:
        """Start a daemon; with ``wait``, return once it has read for the first time.

        With ``failpoint`` it kills itself at that point (gitagent.host.failpoint). When
        that can be before the first read is done, do not ``wait``.

        Raises:
            WentWrong: it ended instead.
        """
        reading, writing = os.pipe()
        more = {"GITAGENT_FAILPOINT": failpoint} if failpoint else {}
        more[_READY_FD] = str(writing)
        process = subprocess.Popen(
            [*COMMAND, "up", *args],
            cwd=repo.path,
            env=dict(os.environ, **more, **(env or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(writing,),
        )
        os.close(writing)
        made = cls(repo, process)
        made._reader = threading.Thread(target=made._read, daemon=True)
        made._reader.start()
        with os.fdopen(reading, "rb") as ready:
            # The end without a word is the daemon's end.
            if wait and not ready.readline():
                made.close()
                raise WentWrong(f"the daemon did not start\n{made.log}")
        return made

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self.process.pid

    @property
    def log(self) -> str:
        """Everything it printed so far."""
        return "".join(self.lines)

    # --- waiting

    def wait_line(self, pattern: str | re.Pattern[str], timeout: float = 30) -> str:
        """Wait for a line that ``pattern`` is found in; return the line.

        Raises:
            WentWrong: the daemon ended first.
        """
        wanted = re.compile(pattern)

        def found() -> str:
            for line in self.lines:
                if wanted.search(line):
                    return line
            self._check_alive()
            return ""

        return self.until(found, timeout=timeout, what=f"a line like {wanted.pattern}")

    def wait_task(self, task: str, *states: str, timeout: float = 60) -> dict[str, Any]:
        """Wait until ``task`` is in one of ``states``; return its record.

        Raises:
            WentWrong: it settled in another state, or the daemon ended.
        """
        return self._wait_state(f"refs/gitagent/tasks/{task}", states, timeout)

    def wait_submission(
        self, submission: str, *states: str, timeout: float = 60
    ) -> dict[str, Any]:
        """Wait until ``submission`` is in one of ``states``; return its record."""
        ref = f"refs/gitagent/submissions/{submission}"
        return self._wait_state(ref, states, timeout)

    def wait_attempt(self, task: str, number: int = 1, timeout: float = 60) -> None:
        """Wait until the attempt ``number`` of ``task`` is on record as started."""

        def started() -> bool:
            found = record(self.repo, f"refs/gitagent/tasks/{task}") or {}
            self._check_alive()
            return int(found.get("attempt", 0)) >= number

        self.until(started, timeout=timeout, what=f"attempt {number} of {task}")

    def wait_exit(self, timeout: float = 60) -> int:
        """Wait until it has ended by itself; return the code (-9 at a failpoint)."""
        code = self.process.wait(timeout)
        self._finish_reading()
        return code

    def until(self, condition: Callable[[], T], *, timeout: float, what: str) -> T:
        """Return the first true value of ``condition``; a new line or ref wakes it."""
        return wait_for(
            condition,
            self.repo.common_dir / "refs",
            timeout=timeout,
            what=lambda: f"{what}\n{self.log}",
            event=self._changed,
        )

    # --- ending

    def stop(self, timeout: float = 60) -> int:
        """End it as ``kill`` without a number does; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait_exit(timeout)

    def kill(self) -> None:
        """End it with SIGKILL, as a crash of the machine's memory would."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.wait_exit()

    def close(self) -> None:
        """Make sure that it is gone, gently if it lets us."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._finish_reading()

    # --- inside

    def _wait_state(
        self, ref: str, states: tuple[str, ...], timeout: float
    ) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            found = record(self.repo, ref)
            if found and found["state"] in states:
                return found
            if found and found["state"] in SETTLED:
                raise WentWrong(
                    f"{ref} is {found['state']}: {found.get('reason')}\n{self.log}"
                )
            self._check_alive()
            return None

        found = self.until(
            reached, timeout=timeout, what=f"{ref} is {' or '.join(states)}"
        )
        assert found is not None
        return found

    def _check_alive(self) -> None:
        code = self.process.poll()
        if code is not None:
            self._finish_reading()
            raise WentWrong(f"the daemon ended with {code}\n{self.log}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._changed.set()
        self._changed.set()

    def _finish_reading(self) -> None:
        if self._reader is not None:
            self._reader.join(10)
        if self.process.stdout is not None:
            self.process.stdout.close()
