"""Fetching a worker's result out of its private Git directory.

Everything in that directory is hostile, its configuration included, so no git of the
daemon's runs there: the serving side (git-upload-pack) runs inside the sandbox, and
this side takes exactly one object that it asked for by its id, and checks what comes.
Source: git-fetch(1), git-upload-pack(1), fetch.fsckObjects in git-config(1).
"""

import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from gitagent.core.ident import is_oid
from gitagent.errors import GitError, UserError
from gitagent.git import private
from gitagent.git.refs import DURABLE
from gitagent.git.repository import Repository
from gitagent.host.confinement import Confinement
from gitagent.host.sandbox import command, find_bwrap

TIMEOUT_S = 600.0

# An id that no ref names is asked for: the worker may have left HEAD anywhere.
_SERVE = ("git", "-c", "uploadpack.allowAnySHA1InWant=true", "upload-pack", "--strict")


def fetch_result(
    repo: Repository,
    private_dir: Path,
    oid: str,
    into: str,
    *,
    seen_at: str,
    inside: Confinement,
    lent: Sequence[Path],
) -> None:
    """Fetch the object ``oid`` and put the ref ``into`` on it; again is no change.

    ``private_dir`` is the worker's Git directory, which the serving side sees at
    ``seen_at`` in ``inside``; ``lent`` are the object folders it was made with.

    Raises:
        UserError: the directory was tampered with, or what came is not sound.
        GitError: the serving side failed, or took too long.
    """
    if not is_oid(oid):
        raise UserError("the result is no object id")
    _require_untouched(private_dir, lent)
    with ExitStack() as stack:
        serve: Sequence[str] = _SERVE
        fds: tuple[int, ...] = ()
        bwrap = find_bwrap()
        if inside.mode != "off":
            if bwrap is None:
                raise UserError("there is no bubblewrap to serve the result in")
            serve, opened = stack.enter_context(command(bwrap, _SERVE, inside))
            fds = tuple(opened)
        try:
            repo.git.run(
                *DURABLE,
                "-c",
                "fetch.fsckObjects=true",
                "-c",
                "protocol.file.allow=always",
                "fetch",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-maintenance",
                "--no-recurse-submodules",
                f"--upload-pack={shlex.join(serve)}",
                "--end-of-options",
                seen_at,
                f"+{oid}:{into}",
                timeout=TIMEOUT_S,
                pass_fds=fds,
            )
        except GitError as error:
            raise _told(error) from error


def _told(error: GitError) -> GitError | UserError:
    lines = error.stderr.strip().splitlines()
    bad = next(
        (line for line in lines if "fsck" in line or "error in object" in line), ""
    )
    return UserError(f"the result holds a broken object: {bad}") if bad else error


def _require_untouched(private_dir: Path, lent: Sequence[Path]) -> None:
    """Refuse borrowed objects that were not lent, and links out of the directory."""
    objects = private_dir / "objects"
    for path in (private_dir, objects, objects / "info"):
        if path.is_symlink() or not path.is_dir():
            raise UserError(f"{path} was replaced by the worker")
    if _read(objects / "info/alternates") != private.alternates(lent):
        raise UserError("the worker changed which objects it borrows")
    for folder, folders, files in os.walk(objects):
        for name in (*folders, *files):
            if os.path.islink(os.path.join(folder, name)):  # noqa: PTH114, PTH118
                raise UserError(f"the worker put a link among its objects: {name}")


def _read(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 20)
    finally:
        os.close(fd)
