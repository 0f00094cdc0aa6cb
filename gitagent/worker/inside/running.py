"""Commands: the tool ``shell``, and the hooks around calls.

Standard output and standard error are one stream, as in a terminal. What a command
leaves in the background goes on until the attempt ends, and what that prints then is
nobody's.
"""

import json
import os
import select
import shutil
import threading
from collections.abc import Callable, Sequence
from functools import cache

from gitagent.host.process import Exit, run
from gitagent.worker.inside.doing import (
    DONE,
    FAILED,
    INTERRUPTED,
    Doing,
    Given,
    Said,
    Slip,
    number,
    text,
)

_QUIET = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def shell(given: Given, doing: Doing) -> Said:
    """Run a command in the worktree; its output is said as it comes."""
    command = text(given, "command")
    if not command.strip():
        raise Slip("`command` is empty.")
    most = max(1, int(doing.seconds))
    seconds = number(given, "seconds", most, most)
    done = execute([*_shell(), command], doing, seconds, leave=_drain)
    return how_it_ended(done, seconds)


def hook(given: Given, doing: Doing) -> Said:
    """Run a hook with the call as JSON on its input; done only if it exits with 0."""
    stdin = json.dumps(given.get("call")).encode()
    argv = [*_shell(), text(given, "run")]
    return how_it_ended(execute(argv, doing, doing.seconds, stdin=stdin), doing.seconds)


def execute(
    argv: Sequence[str],
    doing: Doing,
    seconds: float,
    *,
    stdin: bytes | None = None,
    pass_fds: Sequence[int] = (),
    leave: Callable[[int], None] | None = None,
) -> Exit:
    """Run a program in the worktree, its output said as it comes."""
    return run(
        argv,
        cwd=doing.place.root,
        env=os.environ | {"PWD": str(doing.place.root)} | _missing(),
        stdin=stdin,
        timeout=seconds,
        keep=1,
        merge_stderr=True,
        on_output=doing.say,
        cancel=doing.cancel,
        pass_fds=pass_fds,
        leave=leave,
    )


def how_it_ended(done: Exit, seconds: float) -> Said:
    """Return in words what the output does not say."""
    if not done.started:
        return done.stderr + b"\n", FAILED
    if done.cancelled:
        return _last(done, "stopped"), INTERRUPTED
    if done.timed_out:
        limit = f"ended: it ran past its time limit of {seconds:g} s"
        return _last(done, limit), INTERRUPTED
    if done.code == 0:
        return (b"" if done.output else b"[no output]\n"), DONE
    code = done.code or 0
    how = f"exit code {code}"
    if code > 128:
        how += f": ended by signal {code - 128}"
    return _last(done, how), FAILED


def _last(done: Exit, how: str) -> bytes:
    end = done.tail or done.output
    between = "" if not end or end.endswith(b"\n") else "\n"
    return f"{between}[{how}]\n".encode()


@cache
def _shell() -> tuple[str, ...]:
    return (shutil.which("bash") or "/bin/sh", "-c")


def _missing() -> dict[str, str]:
    return {name: value for name, value in _QUIET.items() if name not in os.environ}


def _drain(fd: int) -> None:
    """Read what nobody waits for, so that who writes it is not held up or ended."""
    threading.Thread(target=_read_all, args=(fd,), daemon=True).start()


def _read_all(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    try:
        while True:
            poll.poll()
            if not os.read(fd, 65536):
                return
    finally:
        os.close(fd)
