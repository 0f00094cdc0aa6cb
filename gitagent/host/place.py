"""Where a repository's attempts, checkouts and daemon files lie on this machine."""

import hashlib
import os
import re
from pathlib import Path

_PLACES = (
    *("HOME", "LOGNAME", "PATH", "TMPDIR", "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"),
)


def cache_root(common_dir: Path) -> Path:
    """Return the folder for attempts and checkouts of the repository, not made yet.

    It lies in ``$XDG_CACHE_HOME/gitagent`` and is named after the repository and the
    path of its common Git directory, so all its worktrees share it.
    """
    common = Path(os.path.realpath(common_dir))
    named = common.parent if common.name == ".git" else common
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", named.name.removesuffix(".git"))
    digest = hashlib.sha256(os.fsencode(common)).hexdigest()[:8]
    return (
        _home("XDG_CACHE_HOME", ".cache")
        / "gitagent"
        / f"{name.strip('-') or 'repository'}-{digest}"
    )


def owner(common_dir: Path) -> str:
    """Return a name for whoever has the daemon's lock of the repository."""
    return hashlib.sha256(os.fsencode(os.path.realpath(common_dir))).hexdigest()[:32]


def clone_id(common_dir: Path) -> str:
    """Return a name for this clone that another one, or another machine's, has not.

    It follows from where the clone lies, so nothing that is written there changes it.
    """
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        machine = ""
    whole = f"{machine or os.uname().nodename}\0{os.path.realpath(common_dir)}"
    return hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()[:12]


def state_dir(common_dir: Path) -> Path:
    """Return the folder of the daemon's socket and log inside the repository."""
    return common_dir / "gitagent"


def own_agents() -> Path:
    """Return where the user's own agent definitions are, if there are any."""
    return _home("XDG_CONFIG_HOME", ".config") / "gitagent" / "agents"


def socket_path(common_dir: Path) -> Path:
    """Return where the daemon of the repository listens."""
    return state_dir(common_dir) / "socket"


def make_private(folder: Path) -> None:
    """Make a folder that other users cannot enter, or shut it to them.

    What is confined is the daemon's user outside: a program that it leaves with the
    setuid bit would give whoever starts it that user's rights.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def free_bytes(path: Path) -> int:
    """Return what this user can still write where ``path`` is or will be."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    facts = os.statvfs(there)
    return facts.f_bavail * facts.f_frsize


def cache_problem(common_dir: Path) -> str | None:
    """Return the sentence why nothing can be kept in `cache_root`, or None."""
    there = folder = cache_root(common_dir)
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        why = f"{there} is no folder"
    elif not os.access(there, os.W_OK | os.X_OK):
        why = f"{there} cannot be written"
    else:
        return None
    return (
        f"The cache {folder} cannot be used: {why}; mend that, or set XDG_CACHE_HOME."
    )


def _home(variable: str, default: str) -> Path:
    # A relative value is to be ignored (XDG Base Directory Specification).
    given = os.environ.get(variable, "")
    return Path(given) if given.startswith("/") else Path.home() / default


def environment() -> dict[str, str]:
    """Return the variables that say where things are, for a process of gitagent's own.

    Nothing of the daemon's that is a secret is among them.
    """
    return {name: os.environ[name] for name in _PLACES if name in os.environ}
