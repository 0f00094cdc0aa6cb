"""The queue's switch: paused, drained or running, as a person said last."""

from collections.abc import Mapping

from gitagent.core.layout import QUEUE
from gitagent.core.switch import RUNNING, Switch
from gitagent.files import record
from gitagent.git import records
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository


def read(objects: Objects, refs: Mapping[str, str]) -> Switch:
    """Return the switch among ``refs``; without a record the queue runs.

    Raises:
        UserError: a newer release wrote it.
    """
    oid = refs.get(QUEUE)
    return RUNNING if oid is None else load(objects, oid)


def load(objects: Objects, oid: str) -> Switch:
    """Return the switch that a record commit holds. Raises UserError as `read`."""
    return record.load_switch(records.read(objects, oid), oid)


def write(repo: Repository, old: Switch, new: Switch, what: str) -> Switch:
    """Record a new position; ``what`` says in words what happened.

    Raises:
        LostRace: the record is not ``old`` any more.
    """
    records.Records(repo).append(
        QUEUE, old.oid or None, record.dump_switch(new), what=what, kind="queue"
    )
    return new
