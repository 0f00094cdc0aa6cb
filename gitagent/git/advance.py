"""Moving a branch forward together with the checkout that has it, if one has.

A landing is one compare-and-swap of the branch. Where a person has it checked out,
index and files go along, by ``git merge --ff-only`` under a guard: a hook that lets
nothing through but the move of this ref from the old to the new commit. What is a
person's is never overwritten; if it is in the way, that is the answer. The order is
files, index, ref, so a crash in between never leaves the landing's reversal staged.

Rejected: ``git update-ref`` alone leaves index and files behind, and the person's next
commit takes the landing back. ``git read-tree -m -u`` overwrites ignored files. A bare
``git merge --ff-only`` moves whatever branch is checked out by then.
"""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitagent.data import data_path
from gitagent.errors import Busy, GitError, LostRace, UserError
from gitagent.git import obstacle, refs, worktree_files
from gitagent.git.command import clean_environment
from gitagent.git.hold import Held, hold, release_left
from gitagent.git.obstacle import Blocked, Checkout
from gitagent.git.repository import Repository
from gitagent.git.restore import take_back
from gitagent.git.text import clean_message
from gitagent.git.unfinished import Desk, Note, desk, remove_ref_locks
from gitagent.git.whereabouts import find

__all__ = ["Advanced", "Blocked", "advance", "look", "settle"]

TIMEOUT_S = 900.0

_MERGE = (
    "merge",
    "--quiet",
    "--ff-only",
    "--commit",
    "--no-squash",
    "--no-autostash",
    "--no-overwrite-ignore",
    "--no-verify-signatures",
    "--no-stat",
)

_TRIES = 3  # a checkout can change hands between the look and the move

# Messages of a git that ended before it touched a file.
_UNTOUCHED = re.compile(
    r"would be overwritten|would lose untracked|Not possible to fast-forward"
)
_LOCK = re.compile(r"(?<=')[^'\n]+\.lock(?=')")
_LOCKED = re.compile(r"\.lock': File exists|cannot lock ref")


@dataclass(frozen=True, slots=True)
class Advanced:
    """The ref is at the new commit, or was and somebody committed on top of it."""

    checkout: Path | None = None  # the worktree that went along


def advance(
    repo: Repository, ref: str, old: str | None, new: str, message: str
) -> Advanced | Blocked:
    """Move the branch ``ref`` from ``old`` (None: it does not exist) to ``new``.

    ``new`` descends from ``old``; ``message`` goes to the reflog. What an earlier,
    killed call left staged is completed if it was this very move, else taken back.

    Raises:
        LostRace: the ref is not at ``old``.
        Busy: a person's git is at work in the checkout, or an earlier advance is.
        GitError: anything else, such as a full disk; the checkout is as it was.
    """
    with desk(repo) as note:
        _settle(repo, note)
        for _ in range(_TRIES):
            place = find(repo, ref)
            if isinstance(place, Blocked):
                return place
            if place is None:
                return _move_alone(repo, ref, old, new, message)
            if moved := _move_with(place, note, ref, old, new, message):
                return moved
    raise Busy(f"the checkout of {ref} changes hands")


def look(repo: Repository, ref: str, commit: str) -> Blocked | None:
    """Return what is in the way of landing what ``commit`` changes; None: nothing.

    Nothing of a person's is changed. What a killed advance left is taken back first.
    What is found can be gone, or come, a moment later.

    Raises:
        Busy: a person's git is at work in the checkout, or an advance is, whose files
            are there before the ref says so.
    """
    with desk(repo) as note:
        _settle(repo, note)
        place = find(repo, ref)
        if place is None or isinstance(place, Blocked):
            return place
        return _in_the_way(place, commit)


def settle(repo: Repository) -> None:
    """Take back what a killed advance left in a checkout; idempotent.

    Raises:
        Busy: it is still under way, or a person's git is at work there.
    """
    with desk(repo) as note:
        _settle(repo, note)


def _in_the_way(place: Checkout, commit: str) -> Blocked | None:
    if blocked := obstacle.locked(place):
        return blocked
    wanted = obstacle.changes(place, f"{commit}^1", commit)
    taken = obstacle.in_the_way(place, wanted)
    if taken:
        return _blocked(place, tuple(change.path for change in taken))
    if unmerged := obstacle.unmerged(place):
        return _unmerged(place, unmerged)
    return None


def _settle(repo: Repository, note: Desk) -> None:
    left = note.read()
    if left is None:
        return
    place = Checkout(repo, Path(left.path), Path(left.git_dir))
    if place.path.is_dir() and place.git_dir.is_dir():
        remove_ref_locks(repo, left)
        release_left(place.git_dir)
        with hold(place) as held:
            take_back(held, left.new, note.since, partial=False)
    note.clear()


def _move_alone(
    repo: Repository, ref: str, old: str | None, new: str, message: str
) -> Advanced:
    refs.update(repo.git, [refs.RefUpdate(ref, new, old)], message)
    place = find(repo, ref)
    if isinstance(place, Checkout):
        # Checked out between the look and the move: with the old files, or the new.
        _bring_forward(place, old, new)
        return Advanced(place.path)
    return Advanced()


def _bring_forward(place: Checkout, old: str | None, new: str) -> None:
    with suppress(GitError):
        place.git("read-tree", "-m", "-u", old or obstacle.empty_tree(place), new)


def _move_with(
    place: Checkout, note: Desk, ref: str, old: str | None, new: str, message: str
) -> Advanced | Blocked | None:
    """Move ref, index and files; None: the checkout is on another branch by now."""
    if blocked := obstacle.locked(place):
        return blocked
    base = old or obstacle.empty_tree(place)
    zeros = "0" * len(new)
    # Before the lock, which is known for ours only as long as there is a note.
    note.write(Note(str(place.path), str(place.git_dir), ref, old or zeros, new))
    with _held(place, note) as held:
        # For an unborn branch git takes another way, which overwrites ignored files.
        wanted = obstacle.changes(place, base, new) if old is None else ()
        if taken := obstacle.in_the_way(held.place, wanted):
            note.clear()
            return _blocked(place, tuple(change.path for change in taken))
        error = _merge(held, note, message)
        if error is not None and _staged_the_same(held, base, new, error):
            error = _merge(held, note, message)
        if error is not None and not _UNTOUCHED.search(error.stderr):
            take_back(held, new, note.since, partial=True)
        note.clear()
        now = _read(place.repo, ref)
        if now is not None and _contains(place.repo, now, new):
            return Advanced(place.path)
        if now != old:
            raise LostRace(f"{ref} was moved meanwhile")
        if error is None or _head(place) != ref:
            return None
        held.renew()
        return _judge(held.place, base, new, error)


@contextmanager
def _held(place: Checkout, note: Desk) -> Iterator[Held]:
    with ExitStack() as stack:
        try:
            held = stack.enter_context(hold(place))
        except Busy:
            note.clear()
            raise
        yield held


def _judge(place: Checkout, base: str, new: str, error: GitError) -> Blocked:
    """Return what of a person's made the merge fail, or raise why it did."""
    if _LOCKED.search(error.stderr):
        lock = _LOCK.search(error.stderr)
        mend = f"if none runs there, remove {lock[0]}" if lock else ""
        raise Busy(f"git is at work in {place.path}", mend) from error
    wanted = obstacle.changes(place, base, new)
    taken = tuple(change.path for change in obstacle.in_the_way(place, wanted))
    if taken := taken or _named(error.stderr):
        return _blocked(place, taken)
    if unmerged := obstacle.unmerged(place):
        return _unmerged(place, unmerged)
    raise error


def _merge(held: Held, note: Desk, message: str) -> GitError | None:
    """Run the guarded merge; return how it failed, if it did.

    The guard installs the index when it lets the ref move.
    """
    left = note.read()
    if left is None:
        raise AssertionError("an advance without a note")
    branch = left.ref.removeprefix("refs/heads/")
    number = int(clean_environment(user_config=True).get("GIT_CONFIG_COUNT", "0"))
    try:
        held.place.git(
            *refs.DURABLE,
            "-c",
            f"core.hooksPath={guard()}",
            "-c",
            "submodule.recurse=false",
            *_MERGE,
            left.new,
            env={
                "GITAGENT_REF": left.ref,
                "GITAGENT_OLD": left.old,
                "GITAGENT_NEW": left.new,
                "GITAGENT_INDEX": str(held.index),
                "GITAGENT_COPY": str(held.copy),
                "GIT_REFLOG_ACTION": " ".join(clean_message(message).split()),
                # Such as "--no-ff -s ours"; a strategy cannot be unset by an option.
                "GIT_CONFIG_COUNT": str(number + 1),
                f"GIT_CONFIG_KEY_{number}": f"branch.{branch}.mergeOptions",
                f"GIT_CONFIG_VALUE_{number}": "",
            },
            timeout=TIMEOUT_S,
            pass_fds=(note.fd,),
        )
    except GitError as error:
        return error
    return None


def guard() -> Path:
    """Return the folder with the guard.

    Raises:
        UserError: it cannot be executed, and git would go on without it.
    """
    folder = data_path("hooks/advance")
    hook = folder / "reference-transaction"
    if not os.access(hook, os.X_OK):
        raise UserError(
            f"{hook} cannot be executed, and without it no checkout is safe to advance",
            "install gitagent where programs may run, and make that file executable",
        )
    return folder


def _staged_the_same(held: Held, base: str, new: str, error: GitError) -> bool:
    """Stage what is in the way only because it already is what lands.

    A git that was killed while it wrote files leaves such ones. True: all of it was.
    """
    if "would be overwritten" not in error.stderr:
        return False
    place = held.place
    wanted = obstacle.changes(place, base, new)
    taken = obstacle.in_the_way(place, wanted)
    if not taken or len(obstacle.same(place, taken)) < len(taken):
        return False
    lines = "".join(f"{each.mode} {each.oid}\t{each.path}\0" for each in taken)
    stdin = lines.encode(errors="surrogateescape")
    place.git("update-index", "-z", "--index-info", stdin=stdin)
    return True


def _blocked(place: Checkout, paths: tuple[str, ...]) -> Blocked:
    return Blocked(
        paths,
        f"Files in {place.path} are in the way: {_shown(paths)}; commit, stash or move"
        " them.",
    )


def _unmerged(place: Checkout, paths: tuple[str, ...]) -> Blocked:
    return Blocked(
        paths,
        f"Conflicts in {place.path} are not resolved: {_shown(paths)}; resolve"
        " and `git add` them.",
    )


def _shown(paths: tuple[str, ...]) -> str:
    return ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")


def _named(stderr: str) -> tuple[str, ...]:
    return tuple(line[1:] for line in stderr.splitlines() if line.startswith("\t"))


def _read(repo: Repository, ref: str) -> str | None:
    if (found := worktree_files.value(repo, ref)) is not None:
        return found
    done = repo.git.run("rev-parse", "--verify", "-q", ref, ok=(0, 1))
    return done.text or None


def _head(place: Checkout) -> str:
    return place.git("symbolic-ref", "-q", "HEAD", ok=(0, 1)).text


def _contains(repo: Repository, newer: str, older: str) -> bool:
    if newer == older:
        return True
    args = ("merge-base", "--is-ancestor", older, newer)
    return repo.git.run(*args, ok=(0, 1)).code == 0
