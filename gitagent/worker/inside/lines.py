"""How the daemon has the programs beside an agent started, and what they need.

They run on gitagent's own Python, which is shown inside, isolated (``-I``) from the
worktree that they are started in. Nothing that an agent changes is imported.
"""

import sys
from pathlib import Path

from gitagent.worker.inside import start

# Programs that start them with an environment made from scratch have to hand these on.
PASSED = (
    "GITAGENT_OUT",
    "GITAGENT_PROMPT_FILE",
    "GITAGENT_RETURN_FILE",
    "GITAGENT_STATUS_URL",
    "GITAGENT_TOKEN",
)


def mcp() -> tuple[str, ...]:
    """Return the command line of the MCP server."""
    return (*_python(), "mcp")


def hook() -> tuple[str, ...]:
    """Return the command line of a hook but its name, ``pre-tool`` or ``stop``."""
    return (*_python(), "hook")


def hands() -> tuple[str, ...]:
    """Return the command line of what carries out calls for the built-in agent."""
    return (*_python(), "hands")


def servers() -> tuple[str, ...]:
    """Return the command line of the client of an agent's MCP servers."""
    return (*_python(), "servers")


def _python() -> tuple[str, ...]:
    # Not where a virtual environment's link leads: there is no library there.
    return (sys.executable, "-I", str(Path(start.__file__).resolve()))
