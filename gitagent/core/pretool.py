"""What the tools of Claude Code would do, for a hook that asks before they are called.

Messages, and no boundary: the sandbox holds the effect whatever is said here. A tool
that is not known, or is called with something else than its input, has no effect that
could be judged, and is `Kind.NOT_EVALUATED`.
"""

from collections.abc import Mapping
from typing import Any

from gitagent.core import commands, effect
from gitagent.core.effect import Effect, Effects
from gitagent.core.reach import Facts, Kind, Verdict

_WRITE_TOOLS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
_READ_TOOLS = frozenset({"Glob", "Grep", "LS", "NotebookRead", "Read", "TodoWrite"})
_OURS = "mcp__gitagent__"


def judge(tool: str, given: Mapping[str, Any], facts: Facts) -> Verdict:
    """Return what is to be said of a call; ``given`` is the tool's input."""
    would = _effect(tool, given)
    if isinstance(would, str):
        return Verdict(Kind.NOT_EVALUATED, would)
    return effect.judge(would, facts)


def _effect(tool: str, given: Mapping[str, Any]) -> Effect | str:
    """Return what a call would do, or the sentence that says why that is not known."""
    if tool in _WRITE_TOOLS:
        path = given.get(_WRITE_TOOLS[tool])
        if not isinstance(path, str) or not path or "\0" in path:
            return f"{tool} names no path."
        return Effect(Effects.WRITE, path)
    if tool == "Bash":
        command = given.get("command")
        if not isinstance(command, str):
            return "Bash names no command."
        return Effect(Effects.SHELL, command)
    if tool == "WebFetch":
        url = given.get("url")
        if not isinstance(url, str) or commands.address(url) is None:
            return "What it fetches was not looked at."
        return Effect(Effects.NETWORK, url)
    if tool in _READ_TOOLS or tool.startswith(_OURS):
        return Effect(Effects.READ)
    return "The tool is not one that is looked at."
