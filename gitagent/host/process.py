"""The only spawner of processes: bounded output, a time limit, nothing left behind.

Every child leads a session and process group of its own and has no terminal. The
verdict is the exit of the direct child; whatever it left running in its group is then
killed, and a process that got away with the pipe in its hands is not waited for.
"""

import errno
import fcntl
import os
import selectors
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, NoReturn

from gitagent.host.cancel import Cancel
from gitagent.host.clock import monotonic
from gitagent.host.kin import alive, kill_tree, ticks

__all__ = ["Cancel", "Exit", "alive", "kill_tree", "run", "start_detached", "ticks"]

PIPE = subprocess.PIPE
Selector = selectors.BaseSelector

KEEP = 64 * 1024 * 1024  # bytes of output kept unless the caller says otherwise
TAIL = 16 * 1024  # bytes of the very end kept beyond that
STDERR = 64 * 1024  # bytes of the end of standard error kept
GRACE_S = 2.0  # between SIGTERM and SIGKILL
_DEATH_S = 10.0  # for a killed process to go; longer means that the kernel holds it
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended and what it said."""

    code: int | None  # 128 + n if signal n ended it; None: we ended it
    timed_out: bool = False
    cancelled: bool = False
    output: bytes = b""  # standard output, its first `keep` bytes
    stderr: bytes = b""  # standard error, its last 64 KiB; empty if merged into output
    dropped: int = 0  # bytes of output after the first `keep`
    seconds: float = 0.0
    tail: bytes = b""  # last 16 KiB of what was dropped
    started: bool = True  # False: no such command (127), or it cannot run (126)
    note: str = ""  # a sentence, if it ran into a limit of memory or processes

    def adding(self, lines: Sequence[str]) -> "Exit":
        """Return the same with lines of gitagent's own after the output."""
        if not lines:
            return self
        text = "".join(f"gitagent: {each}\n" for each in lines).encode(errors="replace")
        if self.dropped:
            dropped = self.dropped + len(text)
            return replace(self, tail=self.tail + text, dropped=dropped)
        between = b"" if self.output.endswith(b"\n") or not self.output else b"\n"
        return replace(self, output=self.output + between + text)


def run(
    argv: Sequence[str],
    *,
    cwd: str | Path | None,
    env: Mapping[str, str],
    stdin: bytes | int | None = None,
    timeout: float,
    keep: int = KEEP,
    merge_stderr: bool = False,
    on_output: Callable[[bytes], None] | None = None,
    cancel: Cancel | None = None,
    on_start: Callable[[int], None] | None = None,
    pass_fds: Sequence[int] = (),
    leave: Callable[[int], None] | None = None,
    grace: float = GRACE_S,
) -> Exit:
    """Run a command to its end, its time limit (seconds), or the cancellation.

    ``stdin`` is what is fed to it, or a descriptor that it reads from; None is
    /dev/null. ``on_output`` gets every chunk of standard output, also what is not kept;
    ``on_start`` gets the pid. On timeout or cancellation the group gets SIGTERM and,
    ``grace`` seconds later, SIGKILL. If a callback raises, the group is killed and the
    exception goes on. With ``leave``, what a command has left running when it ended by
    itself goes on; ``leave`` gets a descriptor of its output, which does not block and
    is to be read and closed. A command that cannot be started is an Exit with
    ``started`` False, code 127 or 126 and the reason in ``stderr``.
    """
    begun = monotonic()
    if cancel is not None and cancel.is_set():
        return Exit(None, cancelled=True)
    source = stdin if isinstance(stdin, int) else subprocess.PIPE
    feed = stdin if isinstance(stdin, bytes) else b""
    try:
        child = spawn(
            argv,
            cwd,
            env,
            stdin=subprocess.DEVNULL if stdin is None else source,
            stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
            pass_fds=pass_fds,
        )
    except (OSError, ValueError) as error:
        code = 127 if getattr(error, "errno", None) == errno.ENOENT else 126
        reason = os.fsencode(f"{argv[0] if argv else ''}: {_reason(error)}")
        return Exit(code, stderr=reason, started=False)
    talk = _Talk(child, memoryview(feed), keep, on_output, leave, grace)
    try:
        if on_start is not None:
            on_start(child.pid)
        talk.until_exit(begun + timeout, cancel)
    finally:
        talk.close()
    code = child.returncode
    ours = talk.timed_out or talk.cancelled or code is None
    return Exit(
        code=None if ours else 128 - code if code < 0 else code,
        timed_out=talk.timed_out,
        cancelled=talk.cancelled,
        output=b"".join(talk.head),
        stderr=bytes(talk.stderr),
        dropped=talk.dropped,
        seconds=monotonic() - begun,
        tail=bytes(talk.tail),
    )


@dataclass(slots=True)
class _Talk:
    """One child's pipes and exit, served from one selector."""

    child: subprocess.Popen[bytes]
    pending: memoryview
    keep: int
    on_output: Callable[[bytes], None] | None
    leave: Callable[[int], None] | None = None
    grace: float = GRACE_S
    head: list[bytes] = field(default_factory=list)
    kept: int = 0
    dropped: int = 0
    tail: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    timed_out: bool = False
    cancelled: bool = False

    def until_exit(self, deadline: float, cancel: Cancel | None) -> None:
        pidfd = os.pidfd_open(self.child.pid)
        stop = -1 if cancel is None else cancel.fileno()
        try:
            with selectors.PollSelector() as selector:
                self._register(selector, pidfd, stop)
                self._serve(selector, pidfd, stop, deadline)
        finally:
            os.close(pidfd)

    def _register(self, selector: Selector, pidfd: int, stop: int) -> None:
        selector.register(pidfd, selectors.EVENT_READ)
        if stop >= 0:
            selector.register(stop, selectors.EVENT_READ)
        for pipe, take in self._ears():
            os.set_blocking(pipe.fileno(), False)
            move = partial(_read, pipe, _CHUNK, take)
            selector.register(pipe.fileno(), selectors.EVENT_READ, move)
        if (stdin := self.child.stdin) is not None:
            os.set_blocking(stdin.fileno(), False)
            move = partial(self._feed, stdin)
            selector.register(stdin.fileno(), selectors.EVENT_WRITE, move)

    def _serve(
        self, selector: Selector, pidfd: int, stop: int, deadline: float
    ) -> None:
        signals = [(signal.SIGTERM, self.grace), (signal.SIGKILL, _DEATH_S)]
        while True:
            left = max(0.0, deadline - monotonic())
            ready = [key for key, _ in selector.select(left)]
            if any(key.fd == pidfd for key in ready):
                break
            for key in ready:
                if key.fd == stop:
                    selector.unregister(key.fd)
                    self.cancelled = not self.timed_out
                    deadline = 0.0
                elif not key.data():
                    selector.unregister(key.fd)
            if monotonic() >= deadline:
                self.timed_out = not self.cancelled
                if not signals:
                    return
                number, grace = signals.pop(0)
                self._signal(number)
                deadline = monotonic() + grace
        self._last_words()

    def _feed(self, pipe: IO[bytes]) -> bool:
        """Write what the pipe takes; False, and close it, when all is written."""
        try:
            sent = os.write(pipe.fileno(), self.pending[:_CHUNK])
        except BlockingIOError:
            return True
        except BrokenPipeError:
            sent = len(self.pending)
        self.pending = self.pending[sent:]
        if not self.pending:
            pipe.close()
        return bool(self.pending)

    def _ears(self) -> list[tuple[IO[bytes], Callable[[bytes], None]]]:
        both = ((self.child.stdout, self._hear), (self.child.stderr, self._complain))
        return [(pipe, take) for pipe, take in both if pipe is not None]

    def _complain(self, data: bytes) -> None:
        self.stderr += data
        del self.stderr[:-STDERR]

    def _hear(self, data: bytes) -> None:
        self._keep(data)
        if self.on_output is not None:
            self.on_output(data)

    def _keep(self, data: bytes) -> None:
        room = self.keep - self.kept
        if room > 0:
            self.head.append(data[:room])
            self.kept += len(self.head[-1])
        rest = data[max(0, room) :]
        if rest:
            self.dropped += len(rest)
            self.tail += rest
            del self.tail[:-TAIL]

    def _signal(self, number: signal.Signals) -> None:
        # The child is not reaped before this, so its pid and group cannot be reused.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, number)

    def _last_words(self) -> None:
        """End the group unless it is left, reap the child, read what is there already.

        A process that left the group can go on writing, so the end of the file may
        never come.
        """
        left = None if self.timed_out or self.cancelled else self.leave
        if left is None:
            self._signal(signal.SIGKILL)
        self.child.wait()
        for pipe, take in self._ears():
            if size := _available(pipe):
                _read(pipe, size, take)
        if left is not None and self.child.stdout is not None:
            left(os.dup(self.child.stdout.fileno()))

    def close(self) -> None:
        if self.child.returncode is None:
            self._signal(signal.SIGKILL)
            try:
                self.child.wait(_DEATH_S)
            except subprocess.TimeoutExpired:
                _disown(self.child)
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None:
                pipe.close()


def start_detached(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    pass_fds: Sequence[int] = (),
) -> int:
    """Start a process that outlives this one, its output appended to ``log``.

    Returns its pid. Raises OSError when it cannot be started.
    """
    null = subprocess.DEVNULL
    with log.open("ab") as to:
        child = spawn(
            argv, cwd, env, stdin=null, stdout=to, stderr=to, pass_fds=pass_fds
        )
    return _disown(child)


def become(argv: Sequence[str]) -> NoReturn:
    """Be another program in this very process, which no thread of this one survives.

    Standard streams stay, every other descriptor is closed. Raises OSError if it cannot
    be started; then nothing has changed.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os.execve(argv[0], [*argv], os.environ)  # noqa: S606 - no shell is wanted


def spawn(
    argv: Sequence[str],
    cwd: str | Path | None,
    env: Mapping[str, str],
    *,
    stdin: int,
    stderr: int | IO[bytes],
    stdout: int | IO[bytes] = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a process as the leader of a session; for the modules beside this one.

    Raises OSError or ValueError when it cannot be started.
    """
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        close_fds=True,
        start_new_session=True,
        bufsize=0,
    )


def _disown(child: subprocess.Popen[bytes]) -> int:
    # Python complains of a child that is dropped before it ended, unless it has a code.
    child.returncode = 0
    return child.pid


def _read(pipe: IO[bytes], size: int, take: Callable[[bytes], None]) -> bool:
    """Hand one piece to ``take``; False at the end of the file."""
    try:
        data = os.read(pipe.fileno(), size)
    except BlockingIOError:
        return True
    if data:
        take(data)
    return bool(data)


def _available(pipe: IO[bytes]) -> int:
    return int.from_bytes(
        fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder
    )


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.strerror}: {error.filename}"
    return str(error)
