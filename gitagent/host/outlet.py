"""The ways out of a sandbox, for one run: the proxy to listed hosts, and other doors.

A folder with the socket is shown inside; the command is started by `forward`, which
leads a port of loopback there. Who talks to a host is told once, and at the end how
often.
"""

import os
import shutil
import socket
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from gitagent.core.network import AllowList
from gitagent.host import forward
from gitagent.host.confinement import Bind, Confinement, Door
from gitagent.host.process import Exit
from gitagent.host.proxy import Event, Proxy

PORT = 3129  # inside; the namespace is new, so it is free
NET = "/gitagent/net"
DOORS = "/gitagent/doors"
SOCKET = "proxy"

_HERE = "localhost,127.0.0.1,::1"
_TOLD = 200  # different events, of a command that asks for one host after another
_SHOWN = 40  # of those, after a run


class Outlet:
    """Opened for one run; ``told`` gets lines from other threads, as it goes on.

    Without ``told`` the lines are put after the output of the run.
    """

    def __init__(
        self, inside: Confinement, owner: str, told: Callable[[str], None] | None
    ) -> None:
        self._hosts = AllowList(inside.network, inside.network_setting)
        self._inside = inside
        self._owner = owner
        self._tally = _Tally(told)
        self._report = told is None
        self._status = -1
        self._folder = ""
        self._proxy: Proxy | None = None

    def __enter__(self) -> Self:
        return self

    def open(self) -> None:
        """Begin to serve. Raises OSError."""
        try:
            self._status = os.memfd_create("gitagent", os.MFD_CLOEXEC)
            if self._inside.network:
                self._folder = make_folder(self._owner)
                path = Path(self._folder, SOCKET)
                self._proxy = Proxy(path, self._hosts, self._tally.add)
                self._proxy.start()
        except OSError:
            self._close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    @property
    def inside(self) -> Confinement:
        """The confinement, with the sockets' folders and what names the proxy."""
        binds = [Bind(each.folder, _door(each)) for each in self._inside.doors]
        env = self._inside.env
        if self._inside.network:
            binds.append(Bind(self._folder, NET))
            env = (*_environment().items(), *env)
        return replace(self._inside, binds=(*self._inside.binds, *binds), env=env)

    @property
    def fds(self) -> tuple[int, ...]:
        """Descriptors that the command line needs."""
        return (self._status,)

    def argv(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that opens the way and becomes ``argv``."""
        python = os.path.realpath(sys.executable)
        script = str(Path(forward.__file__).resolve())
        confined = self._inside.mode != "off"
        doors = [
            f"{each.port}={_door(each) if confined else each.folder}/{each.socket}"
            for each in self._inside.doors
        ]
        if self._inside.network:
            doors.append(f"{PORT}={NET}/{SOCKET}")
        return [python, "-I", "-S", script, str(self._status), *doors, "--", *argv]

    def ended(self, done: Exit) -> Exit:
        """Return how the command itself ended, and stop serving."""
        said = os.pread(self._status, 4096, 0)
        self._close()
        lines = self._tally.end()
        if done.started and done.code is not None and not done.note:
            marker, _, reason = said.partition(b"\n")
            if marker != b"run":
                why = done.stderr or done.output[-4096:]
                return replace(done, code=126, started=False, stderr=why.strip())
            if reason:
                return replace(done, started=False, stderr=reason.strip())
        return done.adding(lines) if self._report else done

    def _close(self) -> None:
        if self._proxy is not None:
            self._proxy.stop()
            self._proxy = None
        if self._status >= 0:
            os.close(self._status)
            self._status = -1
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _door(door: Door) -> str:
    return f"{DOORS}/{door.port}"


def make_folder(owner: str) -> str:
    """Make a folder for a socket; `clear` finds it. Raises OSError."""
    return tempfile.mkdtemp(prefix=_prefix(owner))


def free_port() -> int:
    """Return a port for a door of a run that shares the loopback of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def clear(owner: str) -> None:
    """Remove the folders that dead owners of this name have left."""
    for path in Path(tempfile.gettempdir()).glob(f"{_prefix(owner)}*"):
        if path.lstat().st_uid == os.geteuid():
            shutil.rmtree(path, ignore_errors=True)


def _prefix(owner: str) -> str:
    return f"gitagent-net-{owner or 'run'}-"


def _environment() -> dict[str, str]:
    address = f"http://127.0.0.1:{PORT}"
    values = {"NODE_USE_ENV_PROXY": "1"}  # node(1) heeds the others only with it
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        values[name] = values[name.upper()] = address
    values["no_proxy"] = values["NO_PROXY"] = _HERE
    return values


class _Tally:
    """What was told, and how often."""

    def __init__(self, told: Callable[[str], None] | None) -> None:
        self._told = told
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._more = 0

    def add(self, event: Event) -> None:
        how = "connected to" if event.allowed else "not connected:"
        line = f"{how} {event.text}"
        with self._lock:
            if line not in self._counts and len(self._counts) >= _TOLD:
                self._more += 1
                return
            self._counts[line] += 1
            first = self._counts[line] == 1
        if first and self._told is not None:
            self._told(line)

    def end(self) -> list[str]:
        """Return all lines with their counts; tell those that came more than once."""
        with self._lock:
            often = {line for line, count in self._counts.items() if count > 1}
            lines = [
                f"{line} ({count} times)" if line in often else line
                for line, count in self._counts.items()
            ]
            rest = [f"{self._more} more of other hosts"] if self._more else []
        if self._told is not None:
            for line in (*(each for each in lines if each.endswith("times)")), *rest):
                self._told(line)
        dropped = len(lines) - _SHOWN
        if dropped > 0:
            lines = [*lines[:_SHOWN], f"{dropped} lines are left out here"]
        return lines + rest
