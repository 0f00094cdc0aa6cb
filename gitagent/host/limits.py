"""How much memory and how many processes one confined run may have.

A control group keeps it to them where there is one. Where there is none, the kernel
still refuses further processes to another user than root, since the count of a user
namespace is its own (RLIMIT_NPROC; root is exempt). All else is looked at ten times a
second, and a run over its limit is ended.

RLIMIT_AS and RLIMIT_DATA are left alone: they are of one process each, and count what
node, Java, Go and sanitizers only reserve.

Source: setrlimit(2), user_namespaces(7), proc(5).
"""

import os
import resource
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gitagent.host import cgroup, kin
from gitagent.host.confinement import Confinement

PERIOD_S = 0.1
_MIB = 1 << 20
_PAGE = resource.getpagesize()
# When the machine is out of memory, the kernel ends a run rather than the daemon or
# what a person works with; 1000 would be the most.
_FIRST_TO_GO = "800"


class Limits:
    """Those of one run: made before it, `hold` when its pid 1 is there, `end` after."""

    def __init__(self, inside: Confinement, owner: str) -> None:
        self._inside = inside
        self._group = cgroup.make(owner)
        self._watch: _Watch | None = None
        self._kills = _machine_kills()
        self.ended = False  # the run was ended for it

    def hold(self, pid: int, space: int, init: int) -> None:
        """Begin: pid 1 of the run, the inode of its namespace, and a pidfd of it."""
        inside = self._inside
        with suppress(OSError):
            Path(f"/proc/{pid}/oom_score_adj").write_text(_FIRST_TO_GO)
        if self._group is not None:
            try:
                self._group.limit(inside.memory * _MIB, inside.processes)
                self._group.add(pid)
            except OSError:
                self._group.end()
                self._group = None
            else:
                return
        count = inside.processes
        if count and os.geteuid() != 0:
            with suppress(OSError, ValueError):
                resource.prlimit(pid, resource.RLIMIT_NPROC, (count, count))
                count = 0
        if count or inside.memory:
            self._watch = _Watch(pid, space, init, count, inside.memory * _MIB)
            self._watch.start()

    def end(self, *, killed: bool) -> str:
        """Stop; return a sentence if a limit was reached, else "".

        ``killed``: the first process was ended by SIGKILL, or all of it was. Whatever
        is left of it in a control group is killed. A second call does nothing.
        """
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()
            self.ended = watch.over != ""
            if self.ended:
                return self._sentence(watch.over)
        group, self._group = self._group, None
        if group is not None:
            dead, refused = group.killed(), group.refused()
            group.end()
            if dead:
                self.ended = killed
                return self._sentence("memory")
            if refused:
                limit = self._inside.processes
                return f"It wanted more processes than sandbox.processes = {limit}."
            return ""
        if killed and _machine_kills() > self._kills:
            return (
                "The machine ran out of memory while it ran, and the kernel ended"
                " processes; run less at once, or set sandbox.memory."
            )
        return ""

    def _sentence(self, what: str) -> str:
        if what == "memory" and self._inside.memory:
            limit = self._inside.memory
            return f"It was ended: it used more than sandbox.memory = {limit} MiB."
        if what == "memory":
            return "It was ended by the kernel: there was no memory left for it."
        limit = self._inside.processes
        return f"It was ended: it had more processes than sandbox.processes = {limit}."


def describe() -> str:
    """Return how limits are kept on this machine, for `gitagent doctor`."""
    above = cgroup.base()
    if above is not None:
        return f"kept by control groups in {above}"
    if os.geteuid() == 0:
        who = "memory and processes are looked at"
    else:
        who = "the kernel bounds processes, and memory is looked at"
    often = round(1 / PERIOD_S)
    return f"no control group is delegated to gitagent: {who} {often} times a second"


class _Watch:
    """Looks at all processes of a pid namespace, and ends it when they are too many."""

    def __init__(
        self, pid: int, space: int, init: int, processes: int, memory: int
    ) -> None:
        self._proc = Path(f"/proc/{pid}/root/proc")
        self._space = space
        self._init = os.dup(init)
        self._processes = processes
        self._memory = memory
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.over = ""  # what there was too much of

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._init)

    def _look(self) -> None:
        while not self._stop.wait(PERIOD_S):
            with suppress(OSError):
                self.over = self._over()
            if self.over:
                kin.send_kill(self._init)
                return

    def _over(self) -> str:
        # Before bubblewrap has changed its root, what is there is the machine's /proc.
        if (self._proc / "1/ns/pid").stat().st_ino != self._space:
            return ""
        pids = [name for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208
        if self._processes and self._tasks(pids) > self._processes:
            return "processes"
        if not self._memory or self._sum(pids, self._resident) <= self._memory:
            return ""
        # What processes share was counted once for each; that takes longer to tell.
        used = self._sum(pids, self._proportional)
        return "memory" if used > self._memory else ""

    def _tasks(self, pids: list[str]) -> int:
        # Each folder of threads has one link for each, and two of its own.
        return self._sum(
            pids, lambda pid: (self._proc / pid / "task").stat().st_nlink - 2
        )

    @staticmethod
    def _sum(pids: list[str], one: Callable[[str], int]) -> int:
        total = 0
        for pid in pids:
            with suppress(OSError, ValueError, IndexError):
                total += one(pid)
        return total

    def _resident(self, pid: str) -> int:
        return int((self._proc / pid / "statm").read_text().split()[1]) * _PAGE

    def _proportional(self, pid: str) -> int:
        for line in (self._proc / pid / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
        return 0


def _machine_kills() -> int:
    """Return how many processes this machine has ended for want of memory."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
