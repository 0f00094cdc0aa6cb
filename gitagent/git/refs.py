"""Refs move here, by git's own compare-and-swap, and nowhere else.

All updates of a call are made or none, as far as Git can promise it: a process killed
in the middle may leave some refs moved, so nothing may rely on two moving together.
Source: git-update-ref(1), --stdin.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitagent.errors import Busy, GitError, LostRace, UserError
from gitagent.files import clean
from gitagent.git.command import Git
from gitagent.git.identity import OWN
from gitagent.git.ref_session import Session
from gitagent.host import clock

ANY: Final = "*"  # as `old`: whatever the ref is now

LOCK_WAIT_S = 10.0

# Without these a crash of the machine can lose a ref or leave it empty.
DURABLE = ("-c", "core.fsync=committed,loose-object,reference")

_OWN_REFS = "refs/gitagent/"  # git keeps no reflog of them

# A reflog line needs a name; without one git asks the resolver for the host's.
_WHO = {
    "GIT_COMMITTER_NAME": OWN.name,
    "GIT_COMMITTER_EMAIL": OWN.email,
}

_sessions: dict[Path, Session] = {}  # by common directory

_LOCKED = re.compile(r"Unable to create '(?P<lock>[^']+\.lock)': File exists")
_STALE = re.compile(
    r"is at [0-9a-f]+ but expected|reference already exists"
    r"|reference is missing but expected|unable to resolve reference"
)
_IN_THE_WAY = re.compile(r"'(?P<there>[^']+)' exists; cannot create '(?P<new>[^']+)'")


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One ref's move; equal ``new`` and ``old`` only verify."""

    ref: str  # full name
    new: str | None  # object id; None: delete it
    old: str | None  # object id it has now; None: it does not exist; ANY: no matter


def update(
    git: Git,
    updates: Iterable[RefUpdate],
    message: str,
    *,
    wait_s: float = LOCK_WAIT_S,
) -> None:
    """Move all refs, or none when one of them is not at its old value.

    ``message`` goes to the reflog, which is kept for branches in bare repositories
    too. An empty list is no change.

    Raises:
        LostRace: a ref has another value than ``old``.
        Busy: a ref stayed locked for ``wait_s`` seconds; the lock and its age are
            named.
        UserError: a ref such as ``a/b`` is in the way of ``a``, or the other way.
        GitError: anything else, such as a full disk.
    """
    updates = tuple(updates)
    if not updates or _swiftly(git, updates):
        return
    wait_ms = int(wait_s * 1000)
    branches = any(change.ref.startswith("refs/heads/") for change in updates)
    try:
        git.run(
            *DURABLE,
            "-c",
            f"core.filesRefLockTimeout={wait_ms}",
            "-c",
            f"core.packedRefsTimeout={wait_ms}",
            "update-ref",
            *(("--create-reflog",) if branches else ()),
            "-m",
            clean.sentence(message) or "gitagent",
            "--stdin",
            "-z",
            stdin=b"".join(_command(change) for change in updates),
            env=_WHO,
            timeout=60 + 2 * wait_s,
        )
    except GitError as error:
        raise _reason(git, updates, error) from error


def update_each(
    git: Git, updates: Sequence[RefUpdate], messages: Sequence[str]
) -> list[LostRace | None]:
    """Move each ref that is at its old value; say of each that is not, in order.

    It takes about as long as one, unless one of them was moved by somebody else.

    Raises as `update`, LostRace aside; then some of them can have moved.
    """
    if not updates:
        return []
    try:
        update(git, updates, messages[0])
    except LostRace as race:
        if len(updates) == 1:
            return [race]
        return [
            _lost(git, change, message)
            for change, message in zip(updates, messages, strict=True)
        ]
    return [None] * len(updates)


def _lost(git: Git, change: RefUpdate, message: str) -> LostRace | None:
    try:
        update(git, [change], message)
    except LostRace as race:
        return race
    return None


@contextmanager
def swift(git: Git) -> Iterator[None]:
    """Let updates of our own refs within cost no process each, in every thread.

    For what lives long. Branches are still moved by a process of their own, which
    writes a message to the reflog.
    """
    place = git.common_dir
    if place in _sessions:
        yield
        return
    _sessions[place] = Session(git, (*DURABLE, "update-ref", "--stdin", "-z"), _WHO)
    try:
        yield
    finally:
        _sessions.pop(place).close()


def _swiftly(git: Git, updates: tuple[RefUpdate, ...]) -> bool:
    """Make all updates in the process that stays; False: none was made."""
    session = _sessions.get(git.common_dir)
    if session is None or not all(x.ref.startswith(_OWN_REFS) for x in updates):
        return False
    return session.update(b"".join(_command(change) for change in updates))


def _command(change: RefUpdate) -> bytes:
    """Return one command of ``update-ref --stdin -z``.

    A delete goes to the ref itself: through a symbolic ref it would delete the ref
    that a person's points to.
    """
    ref, new, old = change.ref, change.new, change.old
    known = "" if old == ANY else old
    if new is None and old is None:
        text = f"verify {ref}\0\0"
    elif new is None:
        text = f"option no-deref\0delete {ref}\0{known}\0"
    elif old is None:
        text = f"create {ref}\0{new}\0"
    elif new == old:
        text = f"verify {ref}\0{old}\0"
    else:
        text = f"update {ref}\0{new}\0{known}\0"
    return text.encode()


def _reason(git: Git, updates: tuple[RefUpdate, ...], error: GitError) -> Exception:
    if match := _LOCKED.search(error.stderr):
        return _busy(Path(match["lock"]))
    if match := _IN_THE_WAY.search(error.stderr):
        return UserError(
            f"{match['new']} cannot be made while {match['there']} exists",
            f"rename {match['there']}",
        )
    stale = _moved(git, updates)
    if stale is None and _STALE.search(error.stderr):
        stale = updates[0].ref
    return error if stale is None else LostRace(f"{stale} was moved meanwhile")


def _moved(git: Git, updates: tuple[RefUpdate, ...]) -> str | None:
    """Return the first ref that is not at its old value; None if all are."""
    pattern = "--format=%(objectname) %(refname)"
    listed = git.run("for-each-ref", pattern, *(change.ref for change in updates))
    now = {
        ref: oid for oid, _, ref in (x.partition(" ") for x in listed.text.split("\n"))
    }
    for change in updates:
        if change.old not in (ANY, now.get(change.ref)):
            return change.ref
    return None


def _busy(lock: Path) -> Busy:
    try:
        age = clock.now().timestamp() - lock.stat().st_mtime
    except OSError:
        return Busy(f"{lock} was held")
    return Busy(
        f"{lock} is held, for {max(0, round(age))} s now",
        "if no git runs here, remove that file",
    )
