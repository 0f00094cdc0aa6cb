"""Processes by pid: which one it is, whether it lives, and how to end its whole tree.

A pid alone names nobody, since it is used again. With the start time of the process
(field 22 of /proc/<pid>/stat, in clock ticks since boot) it names one process of this
boot. Signals go through a pidfd that was opened before the start time was compared.
"""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_DEATH_MS = 10_000  # for killed processes to go
_ROUNDS = 50  # looks at the process table until no new member is found


@dataclass(frozen=True, slots=True)
class Stat:
    """A line of the process table."""

    pid: int
    state: str  # one letter; Z and X are dead
    parent: int
    group: int
    session: int
    ticks: int  # start time, in clock ticks since boot


def stat(pid: int) -> Stat | None:
    """Return the process, or None if there is none. Source: proc(5)."""
    try:
        data = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command's name is in parentheses and can hold spaces and parentheses.
    words = data[data.rindex(b")") + 2 :].split()
    parent, group, session = (int(word) for word in words[1:4])
    return Stat(pid, words[0].decode(), parent, group, session, int(words[19]))


def ticks(pid: int) -> int | None:
    """Return the start time of a process in ticks since boot; None: no such pid."""
    found = stat(pid)
    return found.ticks if found else None


def alive(pid: int, ticks: int) -> bool:
    """Whether the process that had this pid and start time still runs."""
    found = stat(pid)
    return found is not None and found.ticks == ticks and found.state not in "ZX"


def kill_tree(pid: int, ticks: int) -> None:
    """Kill the process, its descendants and its session, and wait for their end.

    Nothing happens if the pid is somebody else's by now. Members are stopped before
    they are killed, so that none starts another while the table is read.
    """
    with _handle(pid, ticks) as root:
        if root is None:
            return
        held = {pid: root}
        try:
            signal.pidfd_send_signal(root, signal.SIGSTOP)
            for _ in range(_ROUNDS):
                if not _hold_new_members(pid, held):
                    break
            for fd in held.values():
                _send(fd, signal.SIGKILL)
            for fd in held.values():
                wait_gone(fd)
        finally:
            for member, fd in held.items():
                if member != pid:
                    os.close(fd)


def kill_marked(variable: str, value: str) -> int:
    """Kill every process of this user that has the variable in its environment.

    Repeats until none is left, and returns how many there were. A process that wiped
    its environment is not found.
    """
    wanted = f"{variable}={value}".encode()
    killed = 0
    for _ in range(_ROUNDS):
        found = [each for each in table() if _marked(each, wanted)]
        if not found:
            break
        for each in found:
            with _handle(each.pid, each.ticks) as fd:
                if fd is not None and each.pid != os.getpid():
                    _send(fd, signal.SIGKILL)
                    wait_gone(fd)
                    killed += 1
    return killed


def terminate(pid: int, ticks: int) -> bool:
    """Ask the process to end, with SIGTERM; False if it is gone already."""
    with _handle(pid, ticks) as fd:
        if fd is None:
            return False
        _send(fd, signal.SIGTERM)
        return True


def works_in(name: str, folder: Path) -> bool:
    """Whether a program whose name begins so is at work in or on ``folder``.

    That is: its current directory lies in there, or its GIT_DIR names the folder. A
    process that may not be looked at counts as one that is.
    """
    return any(
        _works_in(process, folder)
        for process in table()
        if process.state not in "ZX" and _comm(process.pid).startswith(name)
    )


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace")
    except OSError:
        return ""


def _works_in(process: Stat, folder: Path) -> bool:
    try:
        cwd = Path(f"/proc/{process.pid}/cwd").readlink()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    home = folder.parent if folder.name == ".git" else folder
    return cwd.is_relative_to(home) or _marked(process, f"GIT_DIR={folder}".encode())


def send_kill(pidfd: int) -> None:
    """Send SIGKILL; a process that is gone already is no error."""
    _send(pidfd, signal.SIGKILL)


def wait_gone(pidfd: int) -> bool:
    """Wait for the end of a process that was killed; False if it does not come."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(_DEATH_MS))


def table() -> Iterator[Stat]:
    """Yield every process of the machine that can be seen."""
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and (found := stat(int(path.name))):
            yield found


def _hold_new_members(root: int, held: dict[int, int]) -> bool:
    """Stop and add the members that are not in ``held`` yet; whether there were any."""
    everyone = list(table())
    members = set(held)
    grown = True
    while grown:
        more = {
            each.pid
            for each in everyone
            if each.pid not in members
            and (each.parent in members or root in (each.session, each.group))
        }
        members |= more
        grown = bool(more)
    new = [each for each in everyone if each.pid in members and each.pid not in held]
    found = False
    for each in new:
        fd = _open(each.pid, each.ticks)
        if fd is not None:
            _send(fd, signal.SIGSTOP)
            held[each.pid] = fd
            found = True
    return found


def _marked(process: Stat, wanted: bytes) -> bool:
    if process.state in "ZX":
        return False
    try:
        data = Path(f"/proc/{process.pid}/environ").read_bytes()
    except OSError:
        return False
    return wanted in data.split(b"\0")


def _open(pid: int, ticks: int) -> int | None:
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    if alive(pid, ticks):
        return fd
    os.close(fd)
    return None


@contextmanager
def _handle(pid: int, ticks: int) -> Iterator[int | None]:
    fd = _open(pid, ticks) if pid > 0 else None
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


def _send(pidfd: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(pidfd, number)
