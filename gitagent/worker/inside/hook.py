"""The hooks of Claude Code, ``pre-tool`` and ``stop``: words to the agent, no boundary.

The sandbox holds what a call may do, and the lander runs ``accept`` again on what is
to land. So a hook that fails lets everything pass and says that it evaluated nothing.

Source: Claude Code's hooks reference (input, exit code 0, JSON on standard output).
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from gitagent.core.pretool import judge
from gitagent.core.reach import Kind
from gitagent.host import clock
from gitagent.worker import hooklog
from gitagent.worker.inside.place import Place, facts, place

_LIMIT = 16 * 1024 * 1024  # bytes of what is told of a call; a file's content is in it

Json = dict[str, Any]


def main(argv: list[str]) -> int:
    """Answer one hook's call; the exit code is 0 whatever happens."""
    name = argv[0] if argv else ""
    if name not in {hooklog.PRE_TOOL, hooklog.STOP}:
        sys.stderr.write("usage: hook pre-tool | hook stop\n")
        return 0
    where = place(os.environ)
    try:
        said = answer(name, sys.stdin.buffer.read(_LIMIT + 1), where, os.environ)
    except Exception as error:  # noqa: BLE001 - a hook never stands in an agent's way
        said = {}
        _unevaluated(where, name, f"{type(error).__name__}: {error}")
    if said:
        sys.stdout.write(json.dumps(said) + "\n")
    return 0


def answer(name: str, data: bytes, where: Place, environ: Mapping[str, str]) -> Json:
    """Return what Claude Code is told; {}: nothing, it goes on as it would."""
    try:
        given = json.loads(data) if len(data) <= _LIMIT else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        _unevaluated(where, name, "The hook's input cannot be read.")
        return {}
    try:
        task = where.task()
    except (OSError, ValueError, RecursionError) as error:
        _unevaluated(where, name, f"The task cannot be read: {error}.")
        return {}
    if name == hooklog.PRE_TOOL:
        return _pre_tool(given, task, where)
    from gitagent.worker.inside.stopping import stop  # noqa: PLC0415 - of one hook

    return stop(given, task, where, environ)


def _pre_tool(given: Json, task: Json, where: Place) -> Json:
    tool, values, cwd = (given.get(each) for each in ("tool_name", "tool_input", "cwd"))
    if not isinstance(tool, str) or not isinstance(values, dict):
        reason = "The hook's input names no tool."
        _unevaluated(where, hooklog.PRE_TOOL, reason)
        return {}
    known = facts(task, where.tree, cwd if isinstance(cwd, str) else "")
    verdict = judge(tool, values, known)
    what = next(
        (
            f"{tool}: {values[key]}"
            for key in ("command", "file_path", "notebook_path", "url")
            if isinstance(values.get(key), str)
        ),
        tool,
    )
    line = hooklog.entry(
        hooklog.PRE_TOOL,
        str(verdict.kind),
        what=what,
        said=verdict.sentence,
        at=clock.stamp(),
    )
    where.note(line)
    if verdict.kind is Kind.NOT_EVALUATED or not verdict.sentence:
        return {}
    said = {"hookEventName": "PreToolUse"}
    if verdict.kind is Kind.DENY:
        said |= {
            "permissionDecision": "deny",
            "permissionDecisionReason": verdict.sentence,
        }
    else:
        said |= {"additionalContext": verdict.sentence}
    return {"hookSpecificOutput": said}


def _unevaluated(where: Place, name: str, why: str) -> None:
    line = hooklog.entry(name, str(Kind.NOT_EVALUATED), said=why, at=clock.stamp())
    where.note(line, late=name == hooklog.STOP)
