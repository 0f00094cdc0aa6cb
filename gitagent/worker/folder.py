"""Where the things of one attempt lie, on the host and as its agent sees them."""

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitagent.host.confinement import GIT_DIR, WORKSPACE
from gitagent.host.place import cache_root

_OUT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Folder:
    """One attempt's folder; a worker can write ``tree``, ``git``, ``home``, ``out``."""

    path: Path
    confined: bool

    @property
    def tree(self) -> Path:
        """The linked worktree."""
        return self.path / "tree"

    @property
    def git(self) -> Path:
        """The private Git directory."""
        return self.path / "git"

    @property
    def home(self) -> Path:
        """HOME of a confined agent."""
        return self.path / "home"

    @property
    def given(self) -> Path:
        """What the daemon hands over, read-only inside."""
        return self.path / "in"

    @property
    def out(self) -> Path:
        """What the daemon takes back: hostile."""
        return self.path / "out"

    @property
    def gitfile(self) -> Path:
        """The file that covers the worktree's ``.git``."""
        return self.path / "gitfile"

    @property
    def log(self) -> Path:
        """The output of the attempt, as it comes."""
        return self.path / "log"

    @property
    def inside_tree(self) -> str:
        """The worktree as the agent sees it."""
        return WORKSPACE if self.confined else str(self.tree)

    @property
    def inside_git(self) -> str:
        """The private Git directory as the agent sees it."""
        return GIT_DIR if self.confined else str(self.git)

    @property
    def inside_given(self) -> str:
        """The folder of handed-over files as the agent sees it."""
        return "/gitagent/in" if self.confined else str(self.given)

    @property
    def inside_out(self) -> str:
        """The folder for the agent's return as the agent sees it."""
        return "/gitagent/out" if self.confined else str(self.out)

    @property
    def mark(self) -> str:
        """A value that names this attempt in the environment of its processes."""
        return hashlib.sha256(os.fsencode(self.path)).hexdigest()[:32]

    def write_state(self, name: str, values: dict[str, Any]) -> None:
        """Write a file of the daemon's own, whole or not at all."""
        new = self.path / f"{name}.new"
        new.write_text(json.dumps(values) + "\n", encoding="utf-8")
        new.replace(self.path / name)

    def load_state(self, name: str) -> dict[str, Any] | None:
        """Return what `write_state` wrote, or None."""
        try:
            values = json.loads((self.path / name).read_bytes())
        except (OSError, ValueError):
            return None
        return values if isinstance(values, dict) else None

    def load_out(self, name: str, limit: int = _OUT_BYTES) -> bytes | None:
        """Return what was left in ``out`` under a plain name.

        None if there is nothing; never through a link, from a device, or waiting.

        Raises:
            ValueError: it is no plain file, or has more than ``limit`` bytes.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(self.out / name, flags)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ValueError(f"it cannot be read ({error.strerror})") from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ValueError("it is not a plain file")
            data = _read(fd, limit + 1)
        finally:
            os.close(fd)
        if len(data) > limit:
            raise ValueError(f"it has more than {limit} bytes")
        return data


def _read(fd: int, count: int) -> bytes:
    """Return the first ``count`` bytes of a file, or all of it."""
    parts = []
    while count > 0 and (data := os.read(fd, count)):
        parts.append(data)
        count -= len(data)
    return b"".join(parts)


def attempts_root(common_dir: Path) -> Path:
    """Return the folder of all attempts of a repository."""
    return cache_root(common_dir) / "attempts"


def folder_of(common_dir: Path, task: str, number: int, *, confined: bool) -> Folder:
    """Return the folder of an attempt, which need not exist."""
    return Folder(attempts_root(common_dir) / f"{task}-{number}", confined)


def exists(path: Path) -> bool:
    """Whether something is there, be it a link that leads nowhere."""
    return path.is_symlink() or path.exists()
