"""What an agent is told when it wants to stop: what of its task's ``accept`` fails.

At most ``retries`` times it is sent back to work; then it may stop with whatever there
is. Nothing is let through by that: the lander runs ``accept`` again on the merged
result, and what fails there does not land.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitagent.files import clean
from gitagent.files.duration import duration
from gitagent.host import clock
from gitagent.host.process import Exit, run
from gitagent.worker import hooklog
from gitagent.worker.inside.place import Place, texts, write

_LIMIT_S = 600  # of a command, where the task does not say
_KEEP = 16 * 1024  # bytes of output kept at its beginning, beside those at its end


@dataclass(frozen=True, slots=True)
class _Ran:
    """How an ``accept`` command ended."""

    command: str
    verdict: str  # passed, failed or not_evaluated
    how: str = ""  # it ended, if it failed
    output: str = ""
    code: int = -1


def stop(
    given: Mapping[str, Any],
    task: Mapping[str, Any],
    where: Place,
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Return what Claude Code is told; {}: the agent may stop.

    ``accept`` is run in the worktree, up to the first command that fails.
    """
    why = _needless(task, where)
    if why:
        _note(where, "not_evaluated", said=why)
        return {}
    tree = str(task.get("tree") or where.tree or given.get("cwd") or "/")
    limit = _number(task.get("accept_timeout"), _LIMIT_S) or _LIMIT_S
    for command in texts(task, "accept"):
        ran = _run(command, tree, environ, limit)
        blocked = ran.verdict == "failed" and _count(task, where)
        _note(
            where, ran.verdict, what=command, said=ran.how, code=ran.code, sent=blocked
        )
        if blocked:
            return {"decision": "block", "reason": _reason(ran)}
        if ran.verdict == "failed":
            return {}
    return {}


def _needless(task: Mapping[str, Any], where: Place) -> str:
    if where.question.exists():
        return "The agent waits for an answer."
    try:
        returned = json.loads(where.returned.read_bytes())
    except (OSError, ValueError, RecursionError):
        returned = None
    if isinstance(returned, dict) and returned.get("status") == "blocked":
        return "The agent says that it cannot go on."
    if not texts(task, "accept"):
        return "The task has no accept command."
    return ""


def _run(command: str, tree: str, environ: Mapping[str, str], limit: int) -> _Ran:
    done = run(
        ["sh", "-c", command],
        cwd=tree,
        env=environ,
        timeout=limit,
        keep=_KEEP,
        merge_stderr=True,
    )
    if not done.started:
        why = clean.plain(done.stderr)
        return _Ran(command, "not_evaluated", f"It could not be started: {why}.")
    if done.code == 0:
        return _Ran(command, "passed", code=0)
    if done.timed_out:
        how = f"ran past its time limit of {duration(limit)}"
    elif done.code is None:
        how = "was killed"
    else:
        how = f"ended with exit code {done.code}"
    code = -1 if done.code is None else done.code
    return _Ran(command, "failed", how, _output(done), code)


def _output(done: Exit) -> str:
    left = done.dropped - len(done.tail)
    between = f"\n[{left} bytes left out]\n".encode() if left > 0 else b""
    return clean.tail(clean.plain(done.output + between + done.tail))


def _reason(ran: _Ran) -> str:
    return (
        f"{clean.code(ran.command)} {ran.how}. It has to pass before this task can "
        "land: find the cause and mend it, rather than making the failure invisible. "
        "If you cannot, say so with `finish` and the status blocked, or ask.\n\n"
        + clean.fenced(ran.output or "(no output)")
    )


def _count(task: Mapping[str, Any], where: Place) -> bool:
    """Whether the agent may be sent back once more, and count it.

    What cannot be counted is not done: it could go on for ever.
    """
    path = where.home / ".gitagent" / f"stopped-{_number(task.get('attempt'), 0)}"
    try:
        before = int(_text(path) or "0")
        if before >= _number(task.get("retries"), 0):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, b"%d\n" % (before + 1))
    except (OSError, ValueError):
        return False
    return True


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        return ""


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and value >= 0 else default


def _note(
    where: Place,
    verdict: str,
    *,
    what: str = "",
    said: str = "",
    **more: int | bool,
) -> None:
    line = hooklog.entry(
        hooklog.STOP, verdict, what=what, said=said, at=clock.stamp(), **more
    )
    where.note(line, late=True)
