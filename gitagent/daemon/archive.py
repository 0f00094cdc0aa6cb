"""Settled records moved out of the way, and still there for plain Git.

``refs/gitagent/archive/<yyyy-mm>`` is a chain; each step's further parents are the
records it took in, and its tree names them. Nothing is lost when it is cut short: a
record that is in the archive and under its own ref is archived once more.
"""

import json

from gitagent.core.action import Archive
from gitagent.core.layout import ARCHIVE
from gitagent.git.objects import Objects
from gitagent.git.records import Records
from gitagent.git.refs import RefUpdate, update
from gitagent.git.repository import Repository


def enact(repo: Repository, objects: Objects, action: Archive) -> None:
    """Take records into the month's archive, then drop their refs."""
    ref = ARCHIVE + action.month
    payload = json.dumps({"records": dict(action.refs)}, indent=1).encode()
    Records(repo).append(
        ref,
        objects.ref(ref),
        payload,
        what=f"{len(action.refs)} settled records archived",
        kind="archive",
        parents=tuple(oid for _, oid in action.refs),
    )
    drops = [RefUpdate(name, None, oid) for name, oid in action.refs]
    update(repo.git, drops, "gitagent: archived")
