"""Where a repository's attempts, checkouts and daemon files lie on this machine."""

import hashlib
import os
import re
from pathlib import Path


def cache_root(common_dir: Path) -> Path:
    """Return the folder for attempts and checkouts of the repository, not made yet.

    It lies in ``$XDG_CACHE_HOME/gitagent`` and is named after the repository and the
    path of its common Git directory, so all its worktrees share it.
    """
    common = Path(os.path.realpath(common_dir))
    named = common.parent if common.name == ".git" else common
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", named.name.removesuffix(".git"))
    digest = hashlib.sha256(os.fsencode(common)).hexdigest()[:8]
    return _cache_home() / "gitagent" / f"{name.strip('-') or 'repository'}-{digest}"


def state_dir(common_dir: Path) -> Path:
    """Return the folder of the daemon's socket and log inside the repository."""
    return common_dir / "gitagent"


def free_bytes(path: Path) -> int:
    """Return what this user can still write where ``path`` is or will be."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    facts = os.statvfs(there)
    return facts.f_bavail * facts.f_frsize


def _cache_home() -> Path:
    # A relative value is to be ignored (XDG Base Directory Specification).
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if given.startswith("/") else Path.home() / ".cache"
