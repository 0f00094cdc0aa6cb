"""Bundles: refs and all that they reach in one file, whole or not there at all.

Source: git-bundle(1) and gitformat-bundle(5).
"""

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final

from gitagent.core.ident import is_oid, ref_problem
from gitagent.errors import GitError, UserError
from gitagent.files import clean
from gitagent.git.refs import DURABLE
from gitagent.git.repository import Repository
from gitagent.host import clock

TIMEOUT_S: Final = 3600.0

# What histories of twenty years have, and harms nobody.
_OLD = "zeroPaddedFilemode=ignore,badTimezone=ignore,missingSpaceBeforeDate=ignore"
_HEADER_BYTES = 64 << 20  # some 500,000 refs
_PIECE = 1 << 20
_SIGNATURES = (b"# v2 git bundle\n", b"# v3 git bundle\n")


@dataclass(frozen=True, slots=True)
class Bundle:
    """What the head of a bundle says."""

    path: Path
    refs: dict[str, str]  # what it brings
    needs: tuple[str, ...]  # commits that have to be there already
    pack: int  # where its pack begins
    hash: str  # "sha1" or "sha256"


def create(
    repo: Repository, refs: Sequence[str], folders: Sequence[str], to: Path
) -> None:
    """Write a bundle of refs, and of those below ``folders``, to the file ``to``.

    It is there whole, looked at and on the disk, or not at all. One that is there is
    replaced.

    Raises:
        UserError: it cannot be written there, or what was written is damaged.
        GitError: git cannot make it.
    """
    new = to.with_name(f".{to.name}.{os.getpid()}.new")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        _sweep(to)
        globs = [f"--glob={folder}*" for folder in folders]
        repo.git.run(
            *("bundle", "create", "--quiet", str(new), *globs, *refs),
            timeout=TIMEOUT_S,
        )
        made = read(new)
        repo.git.run("bundle", "verify", "--quiet", str(new), timeout=TIMEOUT_S)
        if problem := damage(made):
            raise UserError(f"the bundle that was written is damaged: {problem}")
        _sync(new)
        new.replace(to)
        _sync(to.parent)
    except OSError as error:
        raise UserError(f"{to} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            new.unlink()


def read(path: Path) -> Bundle:
    """Return what the head of a bundle says.

    Raises:
        UserError: there is no such file, or it is no bundle.
    """
    try:
        with path.open("rb") as file:
            first = file.readline(100)
            if first not in _SIGNATURES:
                raise UserError(f"{path} is no bundle of Git")
            return _read(path, file)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def damage(bundle: Bundle) -> str:
    """Return how the pack of a bundle is damaged, a clause, or ""."""
    digest = hashlib.new(bundle.hash, usedforsecurity=False)
    size = digest.digest_size
    with bundle.path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        left = end - bundle.pack - size
        file.seek(bundle.pack)
        if left < len(b"PACK") or file.read(4) != b"PACK":
            return "it has no pack"
        file.seek(bundle.pack)
        while left > 0:
            piece = file.read(min(_PIECE, left))
            if not piece:
                break
            digest.update(piece)
            left -= len(piece)
        return "" if file.read(size) == digest.digest() else "its pack is not whole"


def fetch(repo: Repository, bundle: Bundle, refs: Iterable[str]) -> None:
    """Take over all objects that refs of a bundle reach; no ref moves.

    Raises:
        UserError: it is damaged, of another object format, or not whole; what it
            brings is not sound.
    """
    if bundle.hash != repo.object_format:
        raise UserError(
            f"{bundle.path} holds {bundle.hash} objects, and this repository"
            f" {repo.object_format} ones"
        )
    if bundle.needs:
        names = ", ".join(each[:12] for each in bundle.needs[:3])
        raise UserError(
            f"{bundle.path} is not whole: it needs commits that are not in it: {names}",
            "take a bundle without prerequisites",
        )
    if problem := damage(bundle):
        raise UserError(f"{bundle.path} is damaged: {problem}", "take another copy")
    lines = "".join(f"{ref}\n" for ref in refs)
    try:
        _look_through(repo, bundle)
        repo.git.run(
            *(*DURABLE, "-c", "fetch.fsckObjects=true"),
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-prune"),
            *("--no-recurse-submodules", "--no-auto-maintenance", "--refmap="),
            *("--stdin", "--", str(bundle.path.absolute())),
            stdin=lines.encode(),
            timeout=TIMEOUT_S,
        )
    except GitError as error:
        rows = [row.strip() for row in error.stderr.splitlines() if row.strip()]
        said = clean.sentence(rows[0] if rows else error.message, 300)
        raise UserError(f"{bundle.path} cannot be taken over: {said}") from error


def _look_through(repo: Repository, bundle: Bundle) -> None:
    """Raise GitError unless every object of a bundle is sound, and all are there.

    Before git 2.46 a fetch from a bundle looks at nothing, whatever it is told.
    """
    with tempfile.TemporaryDirectory(
        prefix="gitagent-bundle-", dir=repo.common_dir
    ) as folder:
        pack = Path(folder, "whole.pack")
        with bundle.path.open("rb") as file, pack.open("wb") as copy:
            file.seek(bundle.pack)
            shutil.copyfileobj(file, copy, _PIECE)
        repo.git.run("index-pack", f"--strict={_OLD}", str(pack), timeout=TIMEOUT_S)


def _read(path: Path, file: BufferedReader) -> Bundle:
    refs: dict[str, str] = {}
    needs: list[str] = []
    kind = "sha1"
    while file.tell() < _HEADER_BYTES:
        row = file.readline(_HEADER_BYTES)
        if row == b"\n":
            return Bundle(path, refs, tuple(needs), file.tell(), kind)
        if not row.endswith(b"\n"):
            break
        text = row.decode(errors="surrogateescape").rstrip("\n")
        if text.startswith("@"):
            key, _, value = text[1:].partition("=")
            if key == "object-format" and value in {"sha1", "sha256"}:
                kind = value
            else:
                raise UserError(f"{path} is a bundle of another kind: {text[:60]}")
        elif text.startswith("-"):
            needs.append(text[1:].partition(" ")[0])
        else:
            oid, _, ref = text.partition(" ")
            # A name goes to git as a refspec, and one like `+a:b` would move a ref.
            if not is_oid(oid) or (ref != "HEAD" and ref_problem(ref)):
                shown = clean.sentence(text, 120)
                raise UserError(f"{path} is damaged: its head names no ref: {shown}")
            refs[ref] = oid
    raise UserError(f"{path} is damaged: its head has no end", "take another copy")


def _sweep(to: Path) -> None:
    """Remove what killed writers of this bundle have left, and nobody writes now."""
    now = clock.now().timestamp()
    for left in to.parent.glob(f".{glob.escape(to.name)}.*.new*"):
        with suppress(OSError):
            if now - left.stat().st_mtime > TIMEOUT_S:
                left.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
