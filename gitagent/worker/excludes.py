"""What Git ignores in a worktree beyond its ``.gitignore`` files, as text.

Inside the sandbox neither the repository's ``info/exclude`` nor the user's
``core.excludesFile`` is there, so the private Git directory gets a copy of both.
"""

import os
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from gitagent.git.repository import Repository

# What an agent's program keeps in the worktree and nobody wants (aider, its map).
_CACHES = "/.aider.tags.cache.v*/\n"

_LIMIT = 1024 * 1024
_SPECIAL = re.compile(r"[\\*?\[\]]")

_lock = Lock()
# Asking git takes as long as the sandbox's start, so it is asked again only when one of
# the files that usually hold the answer has changed.
_known: dict[Path, tuple[tuple[object, ...], Path | None]] = {}


def text_of(repo: Repository) -> str:
    """Return the patterns of caches, then of the user, then of the repository.

    Later patterns win, which gives those the weight that gitignore(5) gives them.
    """
    parts = (
        _CACHES,
        _load(_users_file(repo)),
        _load(repo.common_dir / "info" / "exclude"),
    )
    return "".join(
        part if part.endswith("\n") else f"{part}\n" for part in parts if part
    )


def patterns(paths: Iterable[str]) -> str:
    """Return patterns that match exactly these paths of the worktree."""
    return "".join(f"/{_escaped(posixpath.normpath(path))}\n" for path in paths)


def _escaped(path: str) -> str:
    text = _SPECIAL.sub(r"\\\g<0>", path).replace("\n", "?")
    bare = text.rstrip(" ")
    return bare + "\\ " * (len(text) - len(bare))


def _load(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            return file.read(_LIMIT).decode(errors="surrogateescape")
    except OSError:
        return ""


def _users_file(repo: Repository) -> Path | None:
    signature = tuple(_stamp(path) for path in _config_files(repo))
    with _lock:
        known = _known.get(repo.common_dir)
        if known is not None and known[0] == signature:
            return known[1]
        found = _ask(repo)
        _known[repo.common_dir] = (signature, found)
        return found


def _ask(repo: Repository) -> Path | None:
    done = repo.git.run(
        "config",
        "--type=path",
        "--get",
        "core.excludesFile",
        user_config=True,
        ok=(0, 1),
    )
    if done.code == 0:
        return repo.common_dir / done.text if done.text else None
    return _config_home() / "git" / "ignore"


def _config_home() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(given) if given else Path.home() / ".config"


def _config_files(repo: Repository) -> tuple[Path, ...]:
    global_file = os.environ.get("GIT_CONFIG_GLOBAL")
    own = [Path(global_file)] if global_file else []
    return (
        *(own or (Path.home() / ".gitconfig", _config_home() / "git" / "config")),
        Path("/etc/gitconfig"),
        repo.common_dir / "config",
    )


def _stamp(path: Path) -> object:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
