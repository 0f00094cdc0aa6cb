"""The teacher: what attempts and chats are told of the memory, and what they ask of it.

Whatever is told is true at the commit that the target has by then. Trouble never stops
an attempt: it is a note in the log, and the reason why nothing was told.
"""

from collections.abc import Mapping
from typing import Any

from gitagent.core.agent import Agent
from gitagent.core.exposure import Delivery, Received
from gitagent.core.task import Attempt, TaskFile
from gitagent.git.repository import Repository
from gitagent.memory.shelf import Shelves


class Teacher:
    """Tells; one of a daemon, for any thread. See `worker.order.Teacher`."""

    def __init__(self, repo: Repository, shelves: Shelves) -> None:
        self._repo = repo
        self._shelves = shelves

    def begin(
        self, task: TaskFile, agent: Agent, attempt: Attempt, target: str
    ) -> Delivery:
        """Return what an attempt is told at its start; ``target`` is a commit."""
        del task, agent, attempt, target
        return Delivery()

    def asked(
        self, name: str, agent: Agent, op: str, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the answer to what an agent asks while it works."""
        del name, agent, given
        return {"error": f"There is no {op} here."}

    def received(self, name: str) -> tuple[Received, ...]:
        """Return what was given in answers since the newest start."""
        del name
        return ()
