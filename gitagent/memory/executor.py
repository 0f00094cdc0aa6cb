"""The one writer of the memory.

Operations are examined and ruled on; what is admitted becomes one commit that changes
nothing but ``.agent/memory``. The ruling is recorded before that commit goes anywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitagent.core.remembering import Operation, Ruled, Ruling
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.text import Person
from gitagent.memory.evidence import Verify
from gitagent.memory.shelf import Shelves


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks, and of which work."""

    by: Person
    task: str = ""  # whose attempt proposed it; "": a person's command
    attempt: int = 0
    passed: str = ""  # why that work has not passed its verdict; "": it has
    strict: bool = False  # refuse a line that its quotes do not support


def execute(
    repo: Repository,
    objects: Objects,
    shelves: Shelves,
    target_ref: str,
    operations: Sequence[Operation],
    origin: Origin,
    *,
    limit: int,
    verify: Verify | None = None,
    submit: bool = False,
    dropped: Sequence[Ruled] = (),
) -> Ruling:
    """Rule on operations, in order, and make what is admitted.

    Each is made whole or not at all. If more than ``limit`` items would count in the
    end, the last ones that add to them are refused. With ``submit`` the commit is only
    made, for the lander: ``ruling.submission`` is `ident.submission_id` of it. Else
    the target is at it. What was ``dropped`` before stands first in the ruling.

    Raises:
        UserError: there is no target, or something of a person's is in the way:
            nothing was changed.
        Busy, LostRace: others are at work on the target all the time.
    """
    raise NotImplementedError


def keep(
    repo: Repository,
    objects: Objects,
    target_ref: str,
    files: Mapping[str, bytes | None],
    by: Person,
    what: str,
) -> Ruling:
    """Put files below ``.agent/memory/chapters/`` onto the target, or take them away.

    ``files`` are by path. ``what`` is the commit's subject. Raises as `execute`.
    """
    raise NotImplementedError
