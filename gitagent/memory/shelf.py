"""The shelf: what the memory holds at one commit of the target. The one way to read it.

An item counts if the memory's executor put it there, or if it landed. Whatever else
lies in the folder is refused with the mend, and told to nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitagent.core.exposure import Received
from gitagent.core.memory import Item, Mark
from gitagent.core.settings import Changed
from gitagent.core.task import Refusal
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository


@dataclass(frozen=True, slots=True)
class Shelf:
    """The memory at one commit."""

    commit: str
    tree: str = ""  # of `.agent/memory`; "": there is none
    items: Mapping[str, Item] = field(default_factory=dict)  # whatever their status
    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()

    def told(self, changed: Changed = Changed.MARK) -> list[Item]:
        """Return what may be told: items that count and resolve, by slug.

        With HIDE not those whose evidence changed, either.
        """
        raise NotImplementedError

    def in_force(self, received: Received) -> str:
        """Return why what was given does not count any more, a sentence; "" if it does.

        Its marks are not looked at.
        """
        raise NotImplementedError


class Shelves:
    """The shelves of one repository. For any thread; remembers what it has read."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo

    def at(self, objects: Objects, commit: str) -> Shelf:
        """Return the shelf of a commit of the target."""
        raise NotImplementedError
