"""A claim on a task, so that two daemons on two clones do not both run it.

It is a ref on the remote that the target is pushed to, made by a create-only push. The
claim of one clone on one task is always the same object, so that a daemon knows its own
claim of an earlier life.
"""

import os

from gitagent.core.task import Outcome
from gitagent.files import clean
from gitagent.git import push
from gitagent.git.identity import OWN
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.place import cache_root
from gitagent.worker.order import Ending, Order


def take(order: Order) -> Ending | None:
    """Claim the task; None: it is ours, or claims are not asked for."""
    remote, task = order.settings.lander.push, order.task.id
    if not remote:
        return None
    with order.repo.objects() as objects:
        mine = claim_oid(order.repo, objects, task)
    done = push.claim(order.repo, remote, task, mine)
    if isinstance(done, push.Pushed):
        return None
    if done.refusal is not push.Refusal.BEHIND:
        why = clean.sentence(done.reason, 300)
        return Ending(Outcome.CLAIMED, f"It could not be claimed on {remote}: {why}")
    found = push.read_claim(order.repo, remote, task)
    text = found.text if isinstance(found, push.Claim) else ""
    who = clean.sentence(text or f"the claim on {remote} does not say who")
    return Ending(Outcome.CLAIMED, f"Another daemon has claimed it: {who.rstrip('.')}.")


def release(repo: Repository, remote: str, task: str) -> None:
    """Take our claim back, if it is ours; a remote that is away keeps it."""
    with repo.objects() as objects:
        mine = claim_oid(repo, objects, task)
    push.unclaim(repo, remote, task, mine)


def claim_oid(repo: Repository, objects: Objects, task: str) -> str:
    """Write the commit that says who claims the task; return its object id."""
    who = f"{os.uname().nodename}, {cache_root(repo.common_dir).name}"
    empty = objects.write_tree(())
    return objects.write_commit(empty, (), f"{task} is claimed by {who}", OWN, OWN)
