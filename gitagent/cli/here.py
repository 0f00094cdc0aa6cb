"""Where a command was called: the folder, and the repository around it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitagent.git.repository import Repository


@dataclass(slots=True)
class Here:
    """The folder of a command line; its repository is found when it is asked for."""

    folder: Path
    _repository: "Repository | None" = None

    @property
    def repository(self) -> "Repository":
        """The repository around the folder. Raises UserError if there is none."""
        if self._repository is None:
            from gitagent.git.repository import discover  # noqa: PLC0415 - start time

            self._repository = discover(self.folder)
        return self._repository
