"""A landing that waits to advance a checked-out target."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitagent.git.advance import Advanced, Blocked, advance, settle
from gitagent.git.repository import discover
from tests.support.repos import Content, Repo

MAIN = "refs/heads/main"


class Landing:
    """A repository with ``main`` checked out, and a landing made beside it."""

    def __init__(
        self,
        path: Path,
        files: Mapping[str, Content],
        landing: Mapping[str, Content],
        **how: Any,
    ) -> None:
        self.repo = Repo.make(path, files, **how)
        self.old = self.repo.oid(MAIN)
        self.new = self.land(landing)

    def land(self, files: Mapping[str, Content]) -> str:
        """Make a landing commit on top of the target; return it."""
        return self.repo.commit_at(
            "refs/gitagent/landing", files, "landing", parents=(self.old,)
        )

    def advance(self, new: str = "") -> Advanced | Blocked:
        """Advance the target from its old commit to the landing, or to ``new``."""
        found = discover(self.repo.path)
        return advance(found, MAIN, self.old, new or self.new, "gitagent: land s-1")

    def recover(self) -> Advanced | Blocked:
        """Do what a daemon does that finds the landing recorded."""
        settle(discover(self.repo.path))
        if 0 == self.repo.ask("merge-base", "--is-ancestor", self.new, MAIN):
            return Advanced()
        return self.advance()

    @property
    def landed(self) -> bool:
        """Whether ref and index are at the landing."""
        return self.repo.ref(MAIN) == self.new and not self.repo.git(
            "diff", "--cached", "--name-only", self.new
        )

    @property
    def untouched(self) -> bool:
        """Whether ref and index are at the old commit."""
        return self.repo.ref(MAIN) == self.old and not self.repo.git(
            "diff", "--cached", "--name-only", self.old
        )


def snapshot(repo: Repo) -> tuple[object, ...]:
    """Return every file of the checkout, its status and the branches."""
    files = {
        path.relative_to(repo.path): (path.lstat().st_mode, _content(path))
        for path in repo.path.rglob("*")
        if ".git" not in path.parts
    }
    return files, repo.status(), repo.refs("refs/heads")


def _content(path: Path) -> Path | bytes | None:
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes() if path.is_file() else None
