"""How each kind of agent is started.

A backend turns an order into a ``Launch`` and runs nothing itself.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from gitagent.core.agent import Agent
from gitagent.core.grants import GATED
from gitagent.worker import conversation
from gitagent.worker.backends import (
    acp,
    aider,
    claude,
    codex,
    command,
    model,
    opencode,
    program,
    shell,
    version,
)
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

__all__ = ["Launch", "Means", "Refused", "installed", "prepare", "session"]


class Backend(Protocol):
    """A module of this package."""

    def prepare(
        self, order: Order, folder: Folder, prompt: str, means: Means | None
    ) -> Launch | Refused:
        """Return how the agent is started, or why it cannot be.

        ``means`` is None for one that talks to no model.
        """
        ...


class Packaged(Protocol):
    """A module of this package whose program comes with a package."""

    NAME: str
    PACKAGE: str
    LEAST: str
    INSTALL: str


_BACKENDS: Mapping[str, Backend] = {
    "acp": acp,
    "aider": aider,
    "claude": claude,
    "codex": codex,
    "command": command,
    "model": model,
    "opencode": opencode,
    "shell": shell,
}

# Those that are a program of one name, from a package.
_PROGRAMS: Mapping[str, Packaged] = {
    "aider": aider,
    "claude": claude,
    "codex": codex,
    "opencode": opencode,
}

# Whether a conversation is there, for programs that fail when it is not.
_SAVED: Mapping[str, Callable[[Folder, str], bool]] = {
    "claude": claude.saved,
    "codex": codex.saved,
    "opencode": opencode.saved,
}


def prepare(
    order: Order, folder: Folder, prompt: str, means: Means | None
) -> Launch | Refused:
    """Return how the agent of an order is started, or why it cannot be."""
    backend = _BACKENDS.get(order.agent.backend)
    if backend is None:
        have = ", ".join(sorted(_BACKENDS))
        return Refused(
            f"This release cannot run the backend {order.agent.backend} of agent"
            f" {order.agent.name}; it has {have}."
        )
    return backend.prepare(order, folder, prompt, means)


def installed(agent: Agent) -> str | Refused:
    """Return the version of an agent's program, "" if it is not known.

    Refused: it is missing, or too old.
    """
    module = _PROGRAMS.get(agent.backend)
    if module is None:
        name = agent.argv[0] if agent.argv else ""
        if name and program.find(name) is None:
            return Refused(f"There is no program `{name}` on the PATH.")
        return ""
    found = version.require(module.NAME, module.PACKAGE, module.LEAST, module.INSTALL)
    return found if isinstance(found, Refused) else found[1]


def session(order: Order, folder: Folder) -> str:
    """Return the saved conversation that the agent can go on with, "" for none.

    Without a sandbox each attempt has other paths, and programs look for conversations
    by the folder that they were had in.
    """
    if order.agent.backend == GATED:
        return model.session(order)
    found = conversation.session_of(folder) if folder.confined else ""
    saved = _SAVED.get(order.agent.backend)
    return "" if found and saved and not saved(folder, found) else found
