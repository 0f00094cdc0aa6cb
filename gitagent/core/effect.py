"""The one gate: what a call would do, and whether that may be done.

Every way in asks `judge`: a tool of the built-in agent, code mode, an MCP tool, the
hook of another program, the command line.
"""

from dataclasses import dataclass
from enum import StrEnum


class Effects(StrEnum):
    """What a call does to the world; six kinds, whatever the tool."""

    READ = "read"  # of the worktree and its history
    WRITE = "write"  # a file of the worktree
    SHELL = "shell"  # a command, or code, in the sandbox
    NETWORK = "network"  # a host is reached
    START_TASK = "start_task"
    REMEMBER = "remember"  # a memory item


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call would do."""

    kind: Effects
    what: str = ""  # path, command, "host:port" or URL, id of a task, slug of an item
    cwd: str = ""  # where a path or a command is meant; "": the worktree
