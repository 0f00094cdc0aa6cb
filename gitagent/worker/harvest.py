"""The worker's commits become the repository's: fetched, looked at, put on the branch.

What is fetched is an object that was named inside; what is believed is only what this
repository then holds. Nothing is lost: what does not go on the branch, or comes off
it, gets a ref under ``refs/gitagent/kept/<task>/<attempt>/``.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gitagent.core.layout import HARVEST, KEPT
from gitagent.errors import Busy, GitagentError, LostRace, UserError
from gitagent.files import clean
from gitagent.git import advance, refs, worktree
from gitagent.git.harvest import NotFetched, fetch_result, upload_pack
from gitagent.git.objects import GITLINK, Objects
from gitagent.git.refs import ANY, RefUpdate
from gitagent.git.tree import walk_changes
from gitagent.host import clock
from gitagent.host.sandbox import command, find_bwrap
from gitagent.worker import sandbox
from gitagent.worker.folder import Folder
from gitagent.worker.leftovers import Leftovers
from gitagent.worker.order import Order

_TRIES = 3
_FETCHES = 50  # beside workers that start
_PAUSE_S = 0.1
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Harvest:
    """What came of the work."""

    tip: str = ""  # commit that holds all of it; empty: there is none to use
    problem: str = ""  # a sentence; the result is refused, or is still in the workspace
    note: str = ""  # a sentence about the branch
    safe: bool = True  # whether a ref holds all that the workspace had


def harvest(order: Order, folder: Folder, left: Leftovers) -> Harvest:
    """Take over the commit that the worktree came to; again after a crash too."""
    if not left.head:
        return Harvest(problem=left.problem, safe=False)
    try:
        return _harvest(order, folder, left)
    except GitagentError as error:
        reason = f"The result could not be harvested: {error.line()}."
        return Harvest(problem=reason, safe=False)


def _harvest(order: Order, folder: Folder, left: Leftovers) -> Harvest:
    base = order.attempt.base
    into = f"{HARVEST}{order.task.id}"
    for oid, ref in ((left.branch, _kept(order, "branch")), (left.head, into)):
        if oid not in {"", base}:
            _fetch(order, folder, oid, ref)
    with order.repo.objects() as objects:
        tip, problem = _tip(order, objects, left)
        if tip == base:
            new = not objects.ancestor(base, order.target)
            return Harvest(base if new else "", problem, safe=left.complete)
        drops = [RefUpdate(into, None, ANY)]
        if left.branch and not problem:
            drops.append(RefUpdate(_kept(order, "branch"), None, ANY))
        refusal = _refusal(order, objects, tip)
        if refusal:
            _update(order, _keep(order, "result", tip), *drops)
            return Harvest(problem=refusal, safe=False)
        note = _set_branch(order, objects, tip, drops)
    return Harvest(tip, problem, note, safe=left.complete)


@contextmanager
def borrowed(order: Order, folder: Folder, left: Leftovers) -> Iterator[str]:
    """Take over what the worktree came to for a look, and move no branch.

    Yields the commit. Raises GitagentError when there is none to be had.
    """
    if not left.head:
        raise UserError(left.problem.rstrip("."))
    into = f"{HARVEST}{order.task.id}.look-{secrets.token_hex(8)}/"
    wanted = {"branch": left.branch, "head": left.head}
    taken = {n: oid for n, oid in wanted.items() if oid not in {"", order.attempt.base}}
    try:
        for name, oid in taken.items():
            _fetch(order, folder, oid, into + name)
        with order.repo.objects() as objects:
            yield _tip(order, objects, left)[0]
    finally:
        _update(order, *(RefUpdate(into + name, None, ANY) for name in taken))


def _fetch(order: Order, folder: Folder, oid: str, into: str) -> None:
    for left in reversed(range(_FETCHES)):
        try:
            _fetch_once(order, folder, oid, into)
        except Busy:
            if not left:
                raise
            clock.sleep(_PAUSE_S)
        else:
            return


def _fetch_once(order: Order, folder: Folder, oid: str, into: str) -> None:
    serve = upload_pack(folder.inside_git)
    if not folder.confined:
        _take(order, folder, oid, into, serve)
        return
    bwrap = find_bwrap()
    if bwrap is None:
        raise UserError("there is no bubblewrap to serve the result in")
    with command(bwrap, serve, sandbox.reading(order, folder)) as (line, fds):
        _take(order, folder, oid, into, line, tuple(fds))


def _take(
    order: Order,
    folder: Folder,
    oid: str,
    into: str,
    serve: Sequence[str],
    fds: tuple[int, ...] = (),
) -> None:
    done = fetch_result(order.repo, folder.git, oid, into, serve, pass_fds=fds)
    if isinstance(done, NotFetched):
        raise UserError(done.reason.rstrip("."))


def _tip(order: Order, objects: Objects, left: Leftovers) -> tuple[str, str]:
    """Return the result and what is wrong with it.

    A HEAD that only looks back at the branch (a bisect, a look at an older commit)
    stands for the branch.
    """
    head, branch = left.head, left.branch
    if not branch or objects.ancestor(branch, head):
        return head, ""
    if objects.ancestor(head, branch):
        return branch, ""
    name = order.local_branch
    return head, (
        f"HEAD was left on commits without those of {name}, which are at"
        f" {_kept(order, 'branch')}."
    )


def _refusal(order: Order, objects: Objects, tip: str) -> str:
    base = order.attempt.base
    trees = objects.commit(base).tree, objects.commit(tip).tree
    changes = walk_changes(objects, *trees)
    embedded = [c.path for c in changes if c.new_mode == GITLINK != c.old_mode]
    if embedded:
        return (
            "The result has repositories inside the tree, whose content would not be"
            f" committed: {_names(embedded)}; remove them, or their .git."
        )
    return _lent(order, tip)


def _lent(order: Order, tip: str) -> str:
    """Look for the ``copy`` files in every new commit: a later one hides nothing."""
    names = order.settings.worker.copy
    if not names:
        return ""
    found = order.repo.git.run(
        "rev-list",
        "--full-history",
        "--max-count=1",
        tip,
        f"^{order.attempt.base}",
        f"^{order.target}",
        "--",
        *(f":(top,literal){name}" for name in names),
    ).text
    if not found:
        return ""
    return (
        f"Commit {found[:12]} has a file that `worker.copy` only lends"
        f" ({_names([*names])}); make the commits anew without it."
    )


def _names(paths: list[str]) -> str:
    return ", ".join(clean.line(path) for path in paths[:_SHOWN])


def _set_branch(
    order: Order, objects: Objects, tip: str, drops: list[RefUpdate]
) -> str:
    """Move the branch to ``tip``; return what there is to say about it.

    What counts is the tip: a branch that cannot move is said, and is no failure.
    """
    for _ in range(_TRIES):
        old = objects.ref(order.branch)
        forward = old is None or objects.ancestor(old, tip)
        why = _unmovable(order, old, forward=forward)
        moves = [] if old == tip else [RefUpdate(order.branch, tip, old)]
        if old is not None and not forward:
            moves.append(_keep(order, "before", old))
        try:
            if moves and not why and _checked_out(order):
                why = _advance(order, tip, old)
                moves = []
            if not why:
                _update(order, *moves, *drops)
                return ""
        except LostRace:
            continue
        except UserError as error:
            why = f"cannot be set: {error.line()}"
        break
    else:
        why = "is being moved by somebody else"
    _update(order, _keep(order, "result", tip), *drops)
    where = _kept(order, "result")
    return f"The branch {order.local_branch} {why}; the result is at {where}."


def _unmovable(order: Order, old: str | None, *, forward: bool) -> str:
    if not forward and old not in {order.attempt.base, order.tip}:
        return "has commits of somebody else"
    if not forward and _checked_out(order):
        return "is checked out, and the result is no successor of it"
    return ""


def _checked_out(order: Order) -> bool:
    found = worktree.entries(order.repo)
    return any(each.branch == order.branch and not each.ours for each in found)


def _advance(order: Order, tip: str, old: str | None) -> str:
    done = advance.advance(order.repo, order.branch, old, tip, _what(order))
    if isinstance(done, advance.Blocked):
        return f"is checked out and cannot move: {done.reason.rstrip('.')}"
    return ""


def _update(order: Order, *updates: RefUpdate) -> None:
    refs.update(order.repo.git, updates, _what(order))


def _what(order: Order) -> str:
    return f"gitagent: attempt {order.attempt.number} at {order.task.id}"


def _keep(order: Order, what: str, oid: str) -> RefUpdate:
    return RefUpdate(_kept(order, what), oid, ANY)


def _kept(order: Order, what: str) -> str:
    return f"{KEPT}{order.task.id}/{order.attempt.number}/{what}"
