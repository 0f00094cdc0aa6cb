"""The remote's target: brought up to the landings, and looked at for what else it has.

What it has is kept by a ref of our own, ``refs/gitagent/remote/<remote>``: the lag is
told from it, and nobody's remote-tracking ref is moved behind their back.
"""

from contextlib import suppress
from dataclasses import dataclass

from gitagent.core.layout import REMOTES
from gitagent.errors import GitagentError
from gitagent.git.push import Moved, NotPushed, Pushed, Refusal, push
from gitagent.git.push import fetch as fetch_ref
from gitagent.git.refs import ANY, RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.lander import witness


@dataclass(frozen=True, slots=True)
class Exchange:
    """What came of talking to a remote."""

    pushed: bool = False  # the remote's target is at the commit
    error: str = ""  # a sentence; empty: nothing went wrong
    moved: str | None = None  # commit of the remote's target that the commit lacks


def exchange(
    repo: Repository, remote: str, ref: str, commit: str, *, send: bool
) -> Exchange:
    """Push ``commit`` to ``ref`` on the remote; with ``send`` off only look there.

    What the records are is told there too, once there were landings to push.
    """
    said = push(repo, remote, ref, commit) if send else None
    if isinstance(said, Pushed):
        with suppress(GitagentError):  # it is what was seen last, no more
            seen = RefUpdate(REMOTES + remote, commit, ANY)
            update(repo.git, [seen], "gitagent: pushed")
        witness.tell(repo, remote, ref)
        return Exchange(pushed=True)
    if said is not None and said.refusal is not Refusal.BEHIND:
        return Exchange(error=said.reason)
    there = fetch(repo, remote, ref, commit)
    if isinstance(there, Moved):
        return Exchange(moved=there.commit)
    if isinstance(there, NotPushed):
        return Exchange(error=there.reason)
    if said is None:
        witness.tell(repo, remote, ref, begin=False)
    return Exchange(error=said.reason if said is not None else "")


def fetch(
    repo: Repository, remote: str, ref: str, commit: str
) -> Moved | NotPushed | None:
    """Return what ``ref`` has on the remote beyond ``commit``; None: nothing."""
    there = fetch_ref(repo, remote, ref, REMOTES + remote)
    if there is None or isinstance(there, NotPushed):
        return there
    with repo.objects(fast=True) as objects:
        return None if objects.ancestor(there, commit) else Moved(there)
