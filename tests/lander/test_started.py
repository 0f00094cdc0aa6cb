"""Which tasks a submission starts, read from its tree."""

from gitagent.core.candidate import Started
from gitagent.git.repository import discover
from gitagent.git.tree import walk_changes
from gitagent.lander.started import started

EDITED = """\
+++
agent = "claude"
budget = { usd = 2 }
+++
Do it.
"""


def test_new_and_changed_task_files_are_told_with_their_agent(repo):
    before = repo.commit(
        {
            ".agent/tasks/same.md": "Do it.\n",
            ".agent/tasks/edited.md": "Do it.\n",
            ".agent/tasks/gone.md": "Do it.\n",
        }
    )
    after = repo.commit(
        {
            ".agent/tasks/edited.md": EDITED,
            ".agent/tasks/new.md": "Do it.\n",
            ".agent/tasks/gone.md": None,
            ".agent/tasks/broken.md": "+++\nagent = \n+++\n",
            ".agent/tasks/large.md": "x" * 300_000,
            ".agent/tasks/done/old.md": "Done.\n",
            ".agent/tasks/run*": "true\n",
            "tasks/other.md": "Do it.\n",
        }
    )
    with discover(repo.path).objects(fast=True) as objects:
        trees = (objects.commit(oid).tree for oid in (before, after))
        found = started(objects, walk_changes(objects, *trees))

    assert (
        Started(".agent/tasks/edited.md", "claude", (("usd", 2.0),), EDITED),
        Started(".agent/tasks/new.md", None, content="Do it.\n"),
    ) == found
