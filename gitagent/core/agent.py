"""Agent definitions: which program does a task, and what it may do."""

from dataclasses import dataclass

BACKENDS = ("shell", "command", "model", "claude", "codex", "opencode", "aider", "acp")

BUILT_IN = "built in: "  # how the path of one begins that gitagent brings along

GRANTS = ("write", "shell", "start_task", "remember", "network")


@dataclass(frozen=True, slots=True)
class Agent:
    """What ``.agent/agents/<name>.md`` or one from elsewhere says; see docs/agents.md.

    ``shell`` exists without a file.
    """

    name: str
    backend: str  # one of BACKENDS
    argv: tuple[str, ...] = ()  # for the backends "command" and "acp"
    model: str = ""
    tools: tuple[str, ...] = ()  # empty: all that the grants allow
    paths: tuple[str, ...] = ()  # globs its results may touch; empty: all
    network: tuple[str, ...] = ()  # "host:port"
    may: tuple[str, ...] = ("write", "shell")  # grants, of GRANTS
    decide: tuple[str, ...] = ()  # effects that a person has to allow each time
    mcp: tuple[str, ...] = ()  # servers of [mcp] whose tools it has
    instructions: str = ""
    description: str = ""
    path: str = ""  # of its definition, for people; "": it has none
    blob: str = ""  # object id of the definition's content; "": none
    source: str = ""  # the definition's content, if no commit has it


SHELL = Agent(name="shell", backend="shell")
