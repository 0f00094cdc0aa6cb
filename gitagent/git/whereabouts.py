"""Where a branch is checked out, and what a person is in the middle of there."""

from pathlib import Path

from gitagent.errors import UserError
from gitagent.git import worktree_files
from gitagent.git.obstacle import Blocked, Checkout
from gitagent.git.repository import Repository
from gitagent.git.worktree import Worktree, admin_dir, entries

# Files in a Git directory, and what is under way while they exist.
_HEAD_STAYS = {
    "MERGE_HEAD": "A merge",
    "CHERRY_PICK_HEAD": "A cherry-pick",
    "REVERT_HEAD": "A revert",
    "sequencer": "A cherry-pick or revert",
    "rebase-merge": "A rebase",
    "rebase-apply": "A rebase or git am",
    "BISECT_LOG": "A bisect",
}
_BRANCH_NAMED = {
    "rebase-merge/head-name": "A rebase",
    "rebase-apply/head-name": "A rebase",
    "rebase-merge/update-refs": "A rebase",
    "BISECT_START": "A bisect",
}


def find(repo: Repository, ref: str) -> Checkout | Blocked | None:
    """Return the one checkout of a branch, None if there is none, or what is wrong.

    Our own worktrees do not count: their HEAD stays detached.
    """
    found: list[Checkout] = []
    for number, each in enumerate(worktree_files.read(repo) or entries(repo)):
        if each.bare or each.ours:
            continue
        place = _main(repo, each) if number == 0 else _linked(repo, each, ref)
        if isinstance(place, Blocked):
            return place
        if place is None:
            continue
        if what := _under_way(each, place.git_dir, ref):
            return Blocked(
                (), f"{what} of {ref} is under way in {place.path}; end it first."
            )
        if each.branch == ref:
            found.append(place)
    if len(found) > 1:
        places = " and ".join(str(each.path) for each in found)
        return Blocked((), f"{ref} is checked out twice, in {places}; detach one.")
    return found[0] if found else None


def _main(repo: Repository, entry: Worktree) -> Checkout | None:
    # Git tells a wrong place for a submodule's own repository.
    own = repo.worktree if repo.git_dir == repo.common_dir else None
    path = own or entry.path
    return Checkout(repo, path, repo.common_dir) if path.is_dir() else None


def _linked(repo: Repository, entry: Worktree, ref: str) -> Checkout | Blocked | None:
    """Return a linked worktree; None if it is gone, or broken and elsewhere."""
    if entry.path.is_dir():
        try:
            return Checkout(repo, entry.path, admin_dir(repo, entry.path))
        except UserError as error:
            said = str(error)
    elif entry.locked is not None:
        said = f"{entry.path} is not mounted"
    else:
        return None
    if entry.branch != ref:
        return None
    return Blocked((), f"{ref} is checked out where it cannot be reached: {said}.")


def _under_way(worktree: Worktree, git_dir: Path, ref: str) -> str | None:
    """Return what is under way with the branch ``ref`` in a worktree; None: nothing.

    During a rebase or bisect HEAD is detached, and the branch is moved at the end.
    """
    if worktree.branch == ref:
        for name, what in _HEAD_STAYS.items():
            if (git_dir / name).exists():
                return what
    wanted = {ref.encode(), ref.removeprefix("refs/heads/").encode()}
    for name, what in _BRANCH_NAMED.items():
        try:
            lines = (git_dir / name).read_bytes().split(b"\n")
        except OSError:
            continue
        if wanted.intersection(lines):
            return what
    return None
