"""Attempts at tasks in real repositories, in this process or in a child of its own.

As a script it makes one attempt: what to do comes as JSON on standard input, how it
ended goes to standard output. Other users and power cuts are tested with that.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gitagent.core.agent import SHELL, Agent
from gitagent.core.settings import Sandbox, SandboxMode, Settings, Worker
from gitagent.core.task import Attempt, AttemptEnd, TaskFile
from gitagent.git.repository import Repository, discover
from gitagent.host import confinement, kin
from gitagent.host.boot import boot_id
from gitagent.host.clock import stamp
from gitagent.host.confinement import visible_prefixes
from gitagent.host.engine import LocalEngine
from gitagent.host.place import cache_root
from gitagent.worker.attempt import Order, Stop, recover_attempt, run_attempt
from tests.support.repos import Repo

ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Work:
    """Attempts at the task ``fix`` of one repository, one after the other."""

    repo: Repo
    worker: Worker = field(default_factory=Worker)
    sandbox: Sandbox = field(default_factory=Sandbox)
    settings: Settings = field(default_factory=Settings)
    agent: Agent = SHELL
    number: int = 0
    tip: str | None = None
    pids: list[tuple[int, int]] = field(default_factory=list)
    children: "list[Child]" = field(default_factory=list)

    def opened(self) -> Repository:
        return discover(self.repo.path)

    @property
    def branch(self) -> str | None:
        return self.repo.ref("refs/heads/agent/fix")

    @property
    def folder(self) -> Path:
        return self.root / f"fix-{self.number}"

    @property
    def root(self) -> Path:
        return cache_root(self.repo.common_dir) / "attempts"

    def order(self, *scripts: str, base: str = "", **fields: Any) -> Order:
        """Return the next attempt, which runs ``scripts`` as blocks."""
        self.number += 1
        target = self.repo.oid("refs/heads/main")
        task = {name: fields.pop(name) for name in _TASK if name in fields}
        values = {
            "repo": self.opened(),
            "engine": LocalEngine(),
            "settings": replace(
                self.settings, worker=self.worker, sandbox=self.sandbox
            ),
            "task": TaskFile(
                id="fix",
                blob="1" * 40,
                scripts=scripts,
                **{"title": "Mend the thing", "text": "Do it.", **task},
            ),
            "agent": self.agent,
            "attempt": Attempt(
                number=self.number,
                blob="1" * 40,
                base=base or self.tip or target,
                started=stamp(),
                boot=boot_id(),
            ),
            "branch": "refs/heads/agent/fix",
            "target_ref": "refs/heads/main",
            "target": target,
            "tip": self.tip,
        }
        return Order(**{**values, **fields})

    def run(
        self,
        *scripts: str,
        stop: Stop | None = None,
        started: Callable[[int, int], None] | None = None,
        **fields: Any,
    ) -> AttemptEnd:
        """Make the next attempt and go on from what it came to."""

        def note(pid: int, ticks: int) -> None:
            self.pids.append((pid, ticks))
            if started is not None:
                started(pid, ticks)

        order = self.order(*scripts, **fields)
        end = run_attempt(order, stop or Stop(), started=note)
        self.tip = end.attempt.tip or self.tip
        return end

    def recover(self, *scripts: str, **fields: Any) -> AttemptEnd:
        """Recover the newest attempt, as the next daemon does."""
        self.number -= 1
        return recover_attempt(self.order(*scripts, **fields), Stop())

    def log(self, end: AttemptEnd) -> str:
        raw = self.repo.raw("cat-file", "blob", end.attempt.log)
        return raw.decode(errors="replace")

    # --- in a child

    def start(
        self,
        *scripts: str,
        env: Mapping[str, str] | None = None,
        user: int | None = None,
        recover: bool = False,
    ) -> "Child":
        """Start a process that makes the next attempt, or recovers the newest."""
        if not recover:
            self.number += 1
        asked = {
            "path": str(self.repo.path),
            "scripts": scripts,
            "number": self.number,
            "tip": self.tip,
            "worker": asdict(self.worker),
            "sandbox": asdict(self.sandbox),
            "recover": recover,
            "user": user,
        }
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.worker.work"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdin is not None
        child.stdin.write(json.dumps(asked))
        child.stdin.close()
        child.stdin = None
        self.children.append(Child(child))
        return self.children[-1]

    def close(self) -> None:
        """End the children that a failed test left."""
        for each in self.children:
            each.kill()


def become(user: int) -> None:
    """Go on as an ordinary user, who may be barred from where Python is installed."""
    with tempfile.TemporaryDirectory() as folder:
        # Whatever is imported late is imported now.
        kept = os.environ["XDG_CACHE_HOME"]
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        Work(Repo.make(Path(folder, "repo"), files={"a": "a"})).run("echo b > b")
        os.environ["XDG_CACHE_HOME"] = kept
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    sys.dont_write_bytecode = True
    shown = tuple(path for path in visible_prefixes() if os.access(path, os.X_OK))
    vars(confinement)["visible_prefixes"] = lambda: shown


def as_user(user: int | None) -> dict[str, Any]:
    """Return the arguments that start a process as another user; None: as this one."""
    return {"user": user, "group": user, "extra_groups": []} if user else {}


_count = itertools.count()


def unique() -> str:
    """Return seconds to sleep that no other process of the machine has as argument."""
    return f"1000.{os.getpid()}{next(_count):03}"


def living(token: str) -> list[int]:
    """Return the processes that have ``token`` among their arguments."""
    found = []
    for each in kin.table():
        try:
            words = Path(f"/proc/{each.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in words and each.state not in "ZX":
            found.append(each.pid)
    return found


_TASK = ("title", "text", "timeout", "paths", "forbidden", "accept")


@dataclass(slots=True)
class Child:
    """A process that makes one attempt."""

    process: subprocess.Popen[str]

    def end(self) -> dict[str, Any]:
        """Wait for it and return how the attempt ended, as plain values."""
        out, err = self.process.communicate(timeout=120)

        assert 0 == self.process.returncode, err
        found: dict[str, Any] = json.loads(out)
        return found

    def killed(self) -> bool:
        """Wait for it; whether it was ended by SIGKILL."""
        self.process.communicate(timeout=120)
        return self.process.returncode == -signal.SIGKILL

    def kill(self) -> None:
        """End it as a power cut does; more than once is harmless."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=120)


def main() -> None:
    """Make the attempt that standard input asks for."""
    asked = json.loads(sys.stdin.read())
    if asked["user"]:
        become(asked["user"])
    lists = ("setup", "setup_key", "copy", "read", "write", "network")
    worker, sandbox = (
        {key: tuple(value) if key in lists else value for key, value in part.items()}
        for part in (asked["worker"], asked["sandbox"])
    )
    sandbox["mode"] = SandboxMode(sandbox["mode"])
    work = Work(
        Repo(Path(asked["path"])),
        worker=Worker(**worker),
        sandbox=Sandbox(**sandbox),
        number=asked["number"],
        tip=asked["tip"],
    )
    if asked["recover"]:
        end = work.recover(*asked["scripts"])
    else:
        work.number -= 1
        end = work.run(*asked["scripts"])
    print(json.dumps(asdict(end)))  # noqa: T201


if __name__ == "__main__":
    main()
