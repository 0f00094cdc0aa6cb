"""A control group for each run, where this process may make some.

That is version 2, in a group that was delegated: it can be written, and its children
have the controllers for memory and processes, or get them because nobody but this
process is in it. Nobody else's groups or processes are touched. Source: cgroups(7), the
kernel's cgroup-v2 text, systemd.resource-control(5) on Delegate.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from gitagent.host.clock import monotonic, sleep

_NEEDED = frozenset({"memory", "pids"})
_OWN = "daemon"  # the child group that this process moves into
_GONE_S = 2.0  # for the killed processes of a group to be reaped
_MOUNT = re.compile(r"(?:\S+ ){4}(?P<point>\S+) .* - cgroup2 ")


class Group:
    """One run's group; its processes are those that were added and what they start."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def limit(self, memory: int, processes: int) -> None:
        """Set the limits, in bytes and in tasks; 0 is none. Raises OSError."""
        if processes:
            self._write("pids.max", str(processes))
        if memory:
            self._write("memory.max", str(memory))
            with suppress(OSError):  # without swap there is no such file
                self._write("memory.swap.max", "0")
        # All of it or nothing: a check must not pass because it missed one death.
        self._write("memory.oom.group", "1")

    def add(self, pid: int) -> None:
        """Move a process in. Raises OSError."""
        self._write("cgroup.procs", str(pid))

    def killed(self) -> int:
        """Return how many processes were killed for want of memory."""
        return self._event("memory.events", "oom_kill")

    def refused(self) -> int:
        """Return how often no further process was let be."""
        return self._event("pids.events", "max")

    def end(self) -> None:
        """Kill whatever is in it, and remove it."""
        deadline = monotonic() + _GONE_S
        while self.path.is_dir():
            with suppress(OSError):
                self._write("cgroup.kill", "1")
            with suppress(OSError):
                self.path.rmdir()
                return
            if monotonic() > deadline:
                return
            sleep(0.002)

    def _write(self, name: str, value: str) -> None:
        (self.path / name).write_text(value)

    def _event(self, name: str, key: str) -> int:
        with suppress(OSError, ValueError):
            for line in (self.path / name).read_text().splitlines():
                word, _, value = line.partition(" ")
                if word == key:
                    return int(value)
        return 0


@cache
def base() -> Path | None:
    """Return the group in which runs get theirs; None: there is none for us."""
    for path in _own_and_above():
        writable = all(
            os.access(each, os.W_OK) for each in (path, path / "cgroup.procs")
        )
        if writable and (_has(path) or _give(path)) and _works(path):
            return path
    return None


def _has(path: Path, name: str = "cgroup.subtree_control") -> bool:
    with suppress(OSError):
        return frozenset((path / name).read_text().split()) >= _NEEDED
    return False


def _give(path: Path) -> bool:
    """Give the controllers to the children of a group that holds only this process.

    A group with children that have them may hold no process itself, so this one moves
    into a child. A group that holds others is theirs.
    """
    own = str(os.getpid())
    inner = path / _OWN
    try:
        inside = (path / "cgroup.procs").read_text().split()
        if not _has(path, "cgroup.controllers") or inside not in ([own], []):
            return False
        if not inside and not _delegated(path):
            return False
        if inside:
            inner.mkdir(exist_ok=True)
            (inner / "cgroup.procs").write_text(own)
        control = " ".join(f"+{name}" for name in sorted(_NEEDED))
        (path / "cgroup.subtree_control").write_text(control)
    except OSError:
        if inner.is_dir():
            with suppress(OSError):
                (path / "cgroup.procs").write_text(own)
                inner.rmdir()
        return False
    return True


def _delegated(path: Path) -> bool:
    """Whether systemd says so of a group, from version 251 on."""
    with suppress(OSError):
        return os.getxattr(path, "user.delegate") == b"1"
    return False


def make(owner: str) -> Group | None:
    """Make a group for one run; None: it cannot be had."""
    above = base()
    if above is None:
        return None
    path = above / f"{_prefix(owner)}{secrets.token_hex(6)}"
    try:
        path.mkdir()
    except OSError:
        return None
    return Group(path)


def clear(owner: str) -> None:
    """End the groups that dead owners of this name have left."""
    above = base()
    for path in above.glob(f"{_prefix(owner)}*") if above else ():
        Group(path).end()


def _prefix(owner: str) -> str:
    return f"gitagent-{owner or 'run'}-"


def _own_and_above() -> Iterator[Path]:
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        groups = Path("/proc/self/cgroup").read_text()
    except OSError:
        return
    found = next(filter(None, map(_MOUNT.match, mounts.splitlines())), None)
    own = next((g[3:] for g in groups.splitlines() if g.startswith("0::")), None)
    if found is None or own is None or "/.." in own:
        return
    root = Path(found["point"])
    path = root / own.strip("/")
    while path.is_relative_to(root):
        yield path
        path = path.parent


def _works(above: Path) -> bool:
    group = Group(above / f"gitagent-probe-{secrets.token_hex(6)}")
    try:
        group.path.mkdir()
        group.limit(1 << 30, 64)
        return (group.path / "cgroup.kill").exists()
    except OSError:
        return False
    finally:
        with suppress(OSError):
            group.path.rmdir()
