"""What Git says of items beyond their files: told anew for each commit of the target."""

from collections.abc import Mapping

from gitagent.core.memory import Item, Mark
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository


def marks(
    repo: Repository, objects: Objects, commit: str, items: Mapping[str, Item]
) -> dict[str, tuple[Mark, ...]]:
    """Return the marks of the items, by slug, as they are at ``commit``.

    Those that have none are left out. For any thread; what was looked up for one
    commit is remembered for the next.
    """
    return {}
