"""Where attempts and check runs execute: an interface, and this machine.

What passes between the daemon and a run is its arguments, its output stream, and the
folders of its confinement; a second engine on other machines can keep that promise.
"""

import json
import os
import secrets
import select
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from gitagent.host import cgroup, kin, outlet, process
from gitagent.host.confinement import Confinement, environment
from gitagent.host.limits import Limits
from gitagent.host.process import Cancel, Exit
from gitagent.host.sandbox import command, find_bwrap, outer_environment, probe

MARK = "GITAGENT_RUN"  # names one unconfined run in the environment of its processes
OWNER = "GITAGENT_OWNER"  # names in the same way whose they all are
LED = "GITAGENT_LED"  # names the process that started them, if it may end before them
_KEEP = process.KEEP
_KILLED = 137  # of a run that was ended, as if its first process had been killed
_READY_MS = 10_000  # for bubblewrap to make the namespaces, which takes 2 ms


class Engine(Protocol):
    """Runs a command confined and tells how it ended."""

    def run(
        self,
        argv: Sequence[str],
        inside: Confinement,
        *,
        timeout: float,
        stdin: bytes | None = None,
        keep: int = _KEEP,
        merge_stderr: bool = False,
        on_output: Callable[[bytes], None] | None = None,
        cancel: Cancel | None = None,
        on_start: Callable[[int], None] | None = None,
        on_network: Callable[[str], None] | None = None,
    ) -> Exit:
        """Run to the end, the time limit (seconds), or the cancellation.

        On return nothing of it is left running, whatever it started and however it
        ended. ``on_start`` gets the pid of the outermost process. What cannot be
        started is an Exit with ``started`` False and the reason in ``stderr``.
        ``on_network`` gets, from other threads, a line for each host that was reached
        or asked for; without it the lines are put after the output.
        """
        ...


class LocalEngine:
    """This machine: bubblewrap and limits, or no confinement at all.

    The confined processes die with the *thread* that calls `run`, not only with the
    daemon, so it has to be called from a thread that lives until it returns (any
    thread does that, unless the interpreter is torn down around it). One whose daemon
    is killed in the few milliseconds in which bubblewrap sets it up outlives it: the
    kernel tells of a parent's end only who has asked to be told. Unconfined ones always
    do. So all bear the name of their ``owner``, and the next one ends them.
    """

    def __init__(self, owner: str = "") -> None:
        self._owner = owner

    def end_orphans(self) -> int:
        """Kill what runs of a dead owner of this name; return how many there were.

        Only for who is sure to be the one living owner.
        """
        if not self._owner:
            return 0
        outlet.clear(self._owner)
        cgroup.clear(self._owner)
        return kin.kill_marked(OWNER, self._owner)

    def run(
        self,
        argv: Sequence[str],
        inside: Confinement,
        *,
        timeout: float,
        stdin: bytes | None = None,
        keep: int = _KEEP,
        merge_stderr: bool = False,
        on_output: Callable[[bytes], None] | None = None,
        cancel: Cancel | None = None,
        on_start: Callable[[int], None] | None = None,
        on_network: Callable[[str], None] | None = None,
    ) -> Exit:
        """Run as `Engine.run` says; with mode "off" unconfined, in ``inside.cwd``."""
        limits = _limits(inside)
        if limits is None:
            return _refused("prlimit was not found")
        plan = _Plan(timeout, stdin, keep, merge_stderr, on_output, cancel, on_start)
        if inside.mode == "off":
            return self._run_unconfined(limits, argv, inside, plan)
        problem = probe()
        bwrap = find_bwrap()
        if problem is not None or bwrap is None:
            return _refused(problem or "there is no bubblewrap")
        mark = self._mark()
        if not inside.network and not inside.doors:
            return _confined(limits, bwrap, argv, inside, plan, mark)
        way = outlet.Outlet(inside, self._owner, on_network)
        try:
            way.open()
        except OSError as error:
            return _refused(f"the way out of the sandbox could not be opened: {error}")
        with way:
            line, fds = way.argv(argv), way.fds
            done = _confined(limits, bwrap, line, way.inside, plan, mark, fds)
            return way.ended(done)

    def _run_unconfined(
        self,
        limits: list[str],
        argv: Sequence[str],
        inside: Confinement,
        plan: "_Plan",
    ) -> Exit:
        if not inside.doors:
            return _unconfined([*limits, *argv], inside, plan, self._mark())
        open_to_all = replace(inside, network=())
        with outlet.Outlet(open_to_all, self._owner, None) as way:
            way.open()
            line = [*limits, *way.argv(argv)]
            done = _unconfined(line, inside, plan, self._mark(), way.fds)
            return way.ended(done)

    def _mark(self) -> dict[str, str]:
        found = {OWNER: self._owner, LED: os.environ.get(LED, "")}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class _Plan:
    """What every kind of run is asked for."""

    timeout: float
    stdin: bytes | None
    keep: int
    merge_stderr: bool
    on_output: Callable[[bytes], None] | None
    cancel: Cancel | None
    on_start: Callable[[int], None] | None

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: dict[str, str],
        on_start: Callable[[int], None] | None,
        pass_fds: Sequence[int] = (),
    ) -> Exit:
        return process.run(
            argv,
            cwd=cwd,
            env=env,
            stdin=self.stdin,
            timeout=self.timeout,
            keep=self.keep,
            merge_stderr=self.merge_stderr,
            on_output=self.on_output,
            cancel=self.cancel,
            on_start=on_start,
            pass_fds=pass_fds,
        )


def _confined(
    limits: list[str],
    bwrap: str,
    argv: Sequence[str],
    inside: Confinement,
    plan: _Plan,
    mark: dict[str, str],
    more_fds: Sequence[int] = (),
) -> Exit:
    status, gate = _Status(), _Gate()
    bounds = Limits(inside, mark.get(OWNER, ""))
    try:
        options = ("--json-status-fd", str(status.write), "--block-fd", str(gate.read))
        with command(bwrap, argv, inside, *options) as (line, fds):

            def begun(pid: int) -> None:
                status.close_write()
                if plan.on_start is not None:
                    plan.on_start(pid)
                status.await_init()
                status.hold(bounds)
                gate.open()

            done = plan.run(
                [*limits, *line],
                cwd="/",
                env=outer_environment() | mark,
                on_start=begun,
                pass_fds=[*fds, *more_fds, status.write, gate.read],
            )
        ended = status.command_ended()
        note = bounds.end(killed=not ended or done.code == _KILLED)
        if bounds.ended and done.code is not None:
            done = replace(done, code=_KILLED)
        elif done.code is not None and done.started and not ended:
            # Setting up failed, or there is no such command: bubblewrap's last words.
            said = done.stderr or done.output
            code = 127 if b"execvp" in said and b"No such file" in said else 126
            done = replace(done, code=code, started=False, stderr=said.strip())
        return replace(done, note=note).adding([note] if note else [])
    finally:
        gate.open()
        status.end_all()
        status.close()
        bounds.end(killed=True)


def _unconfined(
    argv: Sequence[str],
    inside: Confinement,
    plan: _Plan,
    owner: dict[str, str],
    pass_fds: Sequence[int] = (),
) -> Exit:
    env = environment(inside) | owner
    mark = env.setdefault(MARK, secrets.token_hex(16))
    try:
        done = plan.run(
            argv, cwd=inside.cwd, env=env, on_start=plan.on_start, pass_fds=pass_fds
        )
    finally:
        kin.kill_marked(MARK, mark)
    said = done.stderr or done.output
    if done.code in {126, 127} and said.startswith(b"prlimit: failed to execute"):
        return replace(done, started=False, stderr=said.strip())
    return done


class _Gate:
    """Keeps the command from starting until its limits are set."""

    def __init__(self) -> None:
        self.read, self._write = os.pipe2(os.O_CLOEXEC)

    def open(self) -> None:
        """Let it start; more than once is harmless."""
        if self.read >= 0:
            os.write(self._write, b"x")
            os.close(self._write)
            os.close(self.read)
            self.read = -1


class _Status:
    """What bubblewrap tells of the process that is pid 1 inside.

    When that one is gone, the kernel has ended every other process in there. Source:
    pid_namespaces(7), bwrap(1) --json-status-fd.
    """

    def __init__(self) -> None:
        self._read, self.write = os.pipe2(os.O_CLOEXEC)
        self._told = b""
        self._init: int | None = None

    def await_init(self) -> None:
        """Wait until pid 1 exists, or bubblewrap failed before."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        # It is written piece by piece, and the rest is in the pipe soon.
        while b"\n" not in self._told and poll.poll(_READY_MS):
            data = os.read(self._read, 4096)
            if not data:
                break
            self._told += data
        self._find_init()

    def hold(self, bounds: Limits) -> None:
        """Set the limits of pid 1, and with it of all that it will start."""
        pid, space = self._value("child-pid"), self._value("pid-namespace")
        if self._init is not None and pid is not None and space is not None:
            bounds.hold(pid, space, self._init)

    def end_all(self) -> None:
        """Kill pid 1 inside and wait until it, and with it everything, is gone."""
        if self._init is None:
            self._drain()
            self._find_init()
        if self._init is not None:
            kin.send_kill(self._init)
            kin.wait_gone(self._init)
            os.close(self._init)
            self._init = None

    def command_ended(self) -> bool:
        """Whether the command was started and ended by itself.

        bubblewrap alone can write here, so a command cannot pretend that it never ran.
        """
        self._drain()
        return self._value("exit-code") is not None

    def close_write(self) -> None:
        if self.write >= 0:
            os.close(self.write)
            self.write = -1

    def close(self) -> None:
        self.close_write()
        os.close(self._read)

    def _drain(self) -> None:
        os.set_blocking(self._read, False)
        with suppress(BlockingIOError):
            while data := os.read(self._read, 4096):
                self._told += data

    def _find_init(self) -> None:
        pid, space = self._value("child-pid"), self._value("pid-namespace")
        if pid is None:
            return
        with suppress(OSError):
            fd = os.pidfd_open(pid)
            try:
                # If it is gone, the pid can be that of another process.
                if Path(f"/proc/{pid}/ns/pid").stat().st_ino == space:
                    self._init, fd = fd, -1
            finally:
                if fd >= 0:
                    os.close(fd)

    def _value(self, key: str) -> int | None:
        for line in self._told.splitlines():
            with suppress(ValueError):
                values = json.loads(line)
                if isinstance(values, dict) and isinstance(values.get(key), int):
                    return int(values[key])
        return None


def _limits(inside: Confinement) -> list[str] | None:
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        return None
    return [prlimit, "--core=0", f"--fsize={inside.file_limit << 20}", "--"]


def _refused(reason: str) -> Exit:
    return Exit(126, stderr=reason.encode(), started=False)
