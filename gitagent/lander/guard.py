"""Whether a move of the target is a way in, told from the commits that it brings."""

from gitagent.core.layout import TASKS
from gitagent.errors import GitError
from gitagent.git.objects import Objects
from gitagent.lander.scope import only_in
from gitagent.lander.trail import first_parents

LONGEST = 1000  # commits of one move that are looked at


def way_in(objects: Objects, old: str, new: str) -> bool:
    """Whether each commit that ``new`` has on top of ``old`` changes only tasks.

    False too if ``old`` is not on the first-parent history of ``new``: then the target
    is rewound, or its history is put behind somebody else's.
    """
    try:
        for count, (commit, parent) in enumerate(first_parents(objects, new)):
            if commit.oid == old:
                return True
            before = None if parent is None else parent.tree
            if count == LONGEST or not only_in(objects, before, commit.tree, (TASKS,)):
                return False
    except GitError:
        return False
    return False
