"""Taking over what a worker committed.

What a worker can write is hostile: its Git directory is read here as plain text only,
and git-upload-pack runs on it inside the sandbox. Of all that it may offer, one object
that was asked for by its full id is taken, checked, into a ref of our own.
Source: git-fetch(1), git-upload-pack(1), gitprotocol-pack(5).
"""

import os
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitagent.core.ident import is_oid
from gitagent.errors import Busy, GitError
from gitagent.git.hostile import read
from gitagent.git.private import alternate_dirs, alternates
from gitagent.git.refs import ANY, DURABLE, RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.git.worktree import half_made
from gitagent.host.process import Cancel

TIMEOUT_S = 300.0
LIMIT_BYTES = 2 << 30  # of what the worker's git may send

_ENTRIES = 500_000  # below the private objects folder
_REF_BYTES = 4_096
_PACKED_BYTES = 16 << 20

_REF = re.compile(r"ref: (?P<ref>refs/heads/[^\0-\x20\x7f~^:?*\[\\]+)\n?\Z")


@dataclass(frozen=True, slots=True)
class Fetched:
    """The commit is in the repository, held by the ref."""

    oid: str


@dataclass(frozen=True, slots=True)
class NotFetched:
    """The result cannot be taken; the ref is as it was before, or gone."""

    reason: str  # a full sentence; may quote the worker's git


def upload_pack(git_dir: str) -> tuple[str, ...]:
    """Return the command that offers a private Git directory, to be run confined.

    Of its refs it tells none but HEAD, and it gives any object by its id.
    """
    return (
        "git",
        *("-c", "uploadpack.allowAnySHA1InWant=true"),
        *("-c", "uploadpack.hideRefs=refs/"),
        *("-c", "uploadpack.allowFilter=false"),
        *("upload-pack", "--strict", git_dir),
    )


def fetch_result(
    repo: Repository,
    private_dir: Path,
    oid: str,
    into_ref: str,
    upload_pack_argv: Sequence[str],
    *,
    objects_dirs: Sequence[Path] | None = None,
    pass_fds: tuple[int, ...] = (),
    timeout: float = TIMEOUT_S,
    limit_bytes: int = LIMIT_BYTES,
    cancel: Cancel | None = None,
) -> Fetched | NotFetched:
    """Fetch the commit ``oid`` from a private Git directory into ``into_ref``.

    The worker's processes are dead. ``upload_pack_argv`` is the whole command line of
    the confined ``upload_pack``, which inherits the descriptors ``pass_fds``;
    ``objects_dirs`` is what was lent when the directory was made (default: what the
    repository would lend now).

    Raises:
        Busy: a worktree is being made or removed just now, which git's own look at
            what is connected does not survive.
    """
    if not is_oid(oid):
        return NotFetched("The worker's HEAD is not a commit.")
    lent = alternate_dirs(repo.common_dir) if objects_dirs is None else objects_dirs
    if problem := _tampered(private_dir, alternates(lent)):
        return NotFetched(problem)
    script = private_dir.parent / "upload-pack"
    command = shlex.join(upload_pack_argv)
    # Not head(1): it holds back what the other side waits for.
    limit = f"dd bs=64K iflag=count_bytes count={limit_bytes} status=none"
    script.write_text(f"{command} | {limit}\n", errors="surrogateescape")
    try:
        repo.git.run(
            *DURABLE,
            *("-c", "fetch.fsckObjects=true"),
            *("-c", "fetch.writeCommitGraph=false"),
            *("-c", "protocol.file.allow=always"),
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-prune"),
            *("--no-recurse-submodules", "--no-auto-maintenance", "--refmap="),
            f"--upload-pack=sh {shlex.quote(str(script))}",
            str(private_dir),
            f"+{oid}:{into_ref}",
            timeout=timeout,
            pass_fds=pass_fds,
            cancel=cancel,
        )
        kind = repo.git.run("cat-file", "-t", oid).text
    except GitError as error:
        if half_made(error):
            raise Busy("a worktree is being made or removed", "try again") from error
        return NotFetched(_sentence(error, limit_bytes))
    if kind != "commit":
        with suppress(GitError):
            update(repo.git, [RefUpdate(into_ref, None, ANY)], "gitagent: no commit")
        return NotFetched("The worker's HEAD is not a commit.")
    return Fetched(oid)


def read_head(private_dir: Path) -> str | None:
    """Return the object id at HEAD of a private Git directory; None: there is none.

    Read as text, through no symbolic link, and no further than one branch.
    """
    head = _text(private_dir, "HEAD", _REF_BYTES)
    if match := _REF.match(head):
        ref = match["ref"]
        head = _text(private_dir, ref, _REF_BYTES) or _packed(private_dir, ref)
    oid = head.removesuffix("\n")
    return oid if is_oid(oid) else None


def _packed(private_dir: Path, ref: str) -> str:
    lines = _text(private_dir, "packed-refs", _PACKED_BYTES).split("\n")
    return next(
        (line[: -len(ref) - 1] for line in lines if line.endswith(f" {ref}")), ""
    )


def _text(folder: Path, path: str, limit: int) -> str:
    return (read(folder, path, limit) or b"").decode(errors="replace")


def _tampered(private_dir: Path, lent: bytes) -> str | None:
    """Return what the worker did to its object folder that it has no business with."""
    if read(private_dir, "objects/info/alternates", len(lent)) != lent:
        return "The worker changed the list of the objects that it was lent."
    pending = [private_dir / "objects"]
    entries = 0
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as listed:
                for each in listed:
                    entries += 1
                    if each.is_symlink():
                        return "The worker put a symbolic link among its objects."
                    if each.is_dir(follow_symlinks=False):
                        pending.append(Path(each.path))
                    if entries > _ENTRIES:
                        return f"The worker made more than {_ENTRIES} object files."
        except OSError as error:
            return f"The worker's objects cannot be read ({error.strerror})."
    return None


def _sentence(error: GitError, limit_bytes: int) -> str:
    lines = [line.strip() for line in error.stderr.splitlines() if line.strip()]
    # What was found comes before what the rest of git makes of it.
    found = (line for line in lines if line.startswith(("error: ", "fatal: ")))
    said = next(found, lines[-1] if lines else "git said nothing")
    cut = ("early EOF", "hung up", "unexpected disconnect")
    if any(each in error.stderr for each in cut):
        said += f"; it may be more than {limit_bytes >> 20} MiB"
    return f"The worker's commits cannot be taken over ({said[:300]})."
