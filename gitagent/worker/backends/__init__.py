"""How each kind of agent is started.

A backend turns an order into a ``Launch`` and runs nothing itself.
"""

from collections.abc import Mapping
from typing import Protocol

from gitagent.worker.backends import command, shell
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

__all__ = ["Launch", "Means", "Refused", "prepare"]


class Backend(Protocol):
    """A module of this package."""

    def prepare(
        self, order: Order, folder: Folder, prompt: str, means: Means | None
    ) -> Launch | Refused:
        """Return how the agent is started, or why it cannot be.

        ``means`` is None for one that talks to no model.
        """
        ...


_BACKENDS: Mapping[str, Backend] = {"shell": shell, "command": command}


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
