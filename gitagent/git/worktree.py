"""Linked worktrees: where refs are checked out, and the ones that workers get.

A worker's worktree is locked with a reason that names its owner, so that a person's
``git worktree prune`` keeps it and that only our own are ever removed. Its files are
the objects' bytes: no filter, line ending or sparse pattern of the configuration is
applied, since the worker's private Git directory knows none of them and would see
every such file as changed. Source: git-worktree(1).
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitagent.errors import GitError, UserError
from gitagent.git.command import Done
from gitagent.git.repository import Repository
from gitagent.git.sweep import remove_tree
from gitagent.host import clock, kin, place
from gitagent.host.boot import boot_id

TIMEOUT_S = 900.0

_TRIES = 5
_PAUSE_S = 0.05
_PREFIX = "gitagent:"
_HALF_MADE = re.compile(r"^fatal: .*\bworktrees/", re.MULTILINE)
_FILTERS = re.compile(rb"filter|include", re.IGNORECASE)

# What a repository's own configuration could say about the files or the index.
_PLAIN = tuple(
    word
    for setting in (
        "core.autocrlf=false",
        "core.eol=lf",
        "core.fileMode=true",
        "core.symlinks=true",
        "core.ignoreStat=false",
        "core.sparseCheckout=false",
        "core.splitIndex=false",
        "core.untrackedCache=false",
        "index.sparse=false",
        "index.skipHash=false",
        "index.version=2",
        "submodule.recurse=false",
        "core.logAllRefUpdates=false",
    )
    for word in ("-c", setting)
)


@dataclass(frozen=True, slots=True)
class Worktree:
    """One entry of ``git worktree list``; the main one comes first."""

    path: Path
    head: str | None  # commit; None if bare
    branch: str | None  # full ref; None if detached or bare
    bare: bool = False
    locked: str | None = None  # the reason, may be empty; None: not locked
    prunable: str | None = None  # why; None: its folder is there

    @property
    def ours(self) -> bool:
        """Whether gitagent made it."""
        return self.locked is not None and self.locked.startswith(_PREFIX)


def entries(repo: Repository) -> tuple[Worktree, ...]:
    """Return all worktrees of the repository."""
    return parse(_run(repo, "list", "--porcelain", "-z").out)


def parse(data: bytes) -> tuple[Worktree, ...]:
    """Return the worktrees in the output of ``git worktree list --porcelain -z``."""
    found = []
    for record in data.decode(errors="surrogateescape").split("\0\0"):
        pairs = (line.partition(" ") for line in record.split("\0") if line)
        facts = {key: value for key, _, value in pairs}
        if "worktree" in facts:
            found.append(
                Worktree(
                    path=Path(facts["worktree"]),
                    head=facts.get("HEAD"),
                    branch=facts.get("branch"),
                    bare="bare" in facts,
                    locked=facts.get("locked"),
                    prunable=facts.get("prunable"),
                )
            )
    return tuple(found)


def add(repo: Repository, path: Path, commit: str) -> None:
    """Check ``commit`` out at ``path``, detached and locked; no hook runs.

    One at a time in all processes. LFS files stay pointers.

    Raises:
        UserError: something is there already.
        GitError: no such commit, the disk is full.
    """
    if os.path.lexists(path):
        raise UserError(f"{path} is there already")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(repo.common_dir):
        for left in reversed(range(_TRIES)):
            try:
                _add(repo, path, commit)
            except GitError as error:
                remove(repo, path)
                # A person's own git in the same moment may hold config.lock.
                passing = "lock" in error.stderr or half_made(error)
                if left == 0 or not passing:
                    raise
                clock.sleep(_PAUSE_S)
            else:
                return


def _add(repo: Repository, path: Path, commit: str) -> None:
    repo.git.run(
        *_PLAIN,
        "worktree",
        "add",
        "--quiet",
        "--detach",
        "--lock",
        "--reason",
        reason(),
        "--",
        str(path),
        commit,
        env=_no_filters(repo),
        timeout=TIMEOUT_S,
    )


def reason() -> str:
    """Return the lock's reason: ``gitagent:<host>:<boot>:<pid>:<ticks>`` of ours."""
    pid = os.getpid()
    return f"{_PREFIX}{os.uname().nodename}:{boot_id()}:{pid}:{kin.ticks(pid)}"


def remove(repo: Repository, path: Path) -> None:
    """Remove a worktree of ours with all that is in it; absent is no error.

    What a worker left there is hostile: no git process looks into it, and the entry
    goes after the folder is gone.

    Raises:
        UserError: a person's worktree, or a repository, is there.
        OSError: the kernel refuses to remove a file.
    """
    real = Path(os.path.realpath(path))
    entry = next((each for each in entries(repo) if each.path == real), None)
    if entry is not None and not entry.ours:
        raise UserError(f"{path} is a worktree that gitagent did not make")
    if entry is None and (path / ".git").is_dir():
        raise UserError(f"{path} is a repository that gitagent did not make")
    remove_tree(path)
    if entry is None:
        return
    try:
        _run(repo, "remove", "--force", "--force", "--", str(real))
    except GitError:
        # A person may have unlocked and pruned it in between.
        if any(each.path == real for each in entries(repo)):
            raise


def half_made(error: GitError) -> bool:
    """Whether git came upon another worktree just when it was made or removed.

    For a moment its HEAD is zeros, or a file is missing; every git that looks at the
    heads of all worktrees dies of it, such as the check of a fetch.
    """
    return _HALF_MADE.search(error.stderr) is not None


def _run(repo: Repository, *args: str) -> Done:
    for left in reversed(range(_TRIES)):
        try:
            return repo.git.run("worktree", *args)
        except GitError as error:
            if left == 0 or not half_made(error):
                raise
            clock.sleep(_PAUSE_S)
    raise AssertionError("unreachable")


def admin_dir(repo: Repository, path: Path) -> Path:
    """Return the worktree's folder below ``.git/worktrees``: HEAD, index.

    Raises:
        UserError: its ``.git`` file names another place.
    """
    try:
        named = (path / ".git").read_text(errors="surrogateescape")
        place = path / named.removeprefix("gitdir: ").removesuffix("\n")
        # Newer gits can be told to write relative paths.
        admin = Path(os.path.realpath(place))
        back = (admin / "gitdir").read_text(errors="surrogateescape").rstrip("\n")
    except OSError as error:
        raise UserError(f"{path} is no worktree any more ({error})") from error
    ours = admin.parent == repo.common_dir / "worktrees"
    if not ours or os.path.realpath(admin / back) != os.path.realpath(path / ".git"):
        raise UserError(f"{path}/.git names {admin}, which is not its own")
    return admin


def _no_filters(repo: Repository) -> dict[str, str]:
    """Return variables that switch off every filter of the repository's config."""
    env = {"GIT_LFS_SKIP_SMUDGE": "1"}
    if not _may_have_filters(repo):
        return env
    listed = repo.git.run(
        "config", "-z", "--name-only", "--get-regexp", r"^filter\.", ok=(0, 1)
    )
    drivers = {key.rpartition(".")[0] for key in listed.fields}
    pairs = [
        (f"{driver}.{key}", value)
        for driver in sorted(drivers)
        for key, value in (("smudge", ""), ("process", ""), ("required", "false"))
    ]
    for number, (key, value) in enumerate(pairs):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env | {"GIT_CONFIG_COUNT": str(len(pairs))}


def _may_have_filters(repo: Repository) -> bool:
    """Whether to ask git, which costs a process; a false alarm costs no more."""
    for name in ("config", "config.worktree"):
        with suppress(FileNotFoundError):
            if _FILTERS.search((repo.common_dir / name).read_bytes()):
                return True
    return False


@contextmanager
def _one_at_a_time(common_dir: Path) -> Iterator[None]:
    folder = place.state_dir(common_dir)
    folder.mkdir(exist_ok=True)
    fd = os.open(folder / "worktree.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
