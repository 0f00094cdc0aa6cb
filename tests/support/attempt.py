"""A worktree with a private Git directory, and a sandbox around both."""

from pathlib import Path

from gitagent.git import private, worktree
from gitagent.git.repository import discover
from gitagent.host.engine import LocalEngine
from gitagent.host.sandbox import Bind, Confinement
from tests.support.repos import Repo

BRANCH = "refs/heads/agent/a"


class Attempt:
    """A worktree with a private Git directory, as a worker sees it."""

    def __init__(self, repo: Repo, folder: Path, exclude: str = "") -> None:
        self.repo = discover(repo.path)
        self.tree, self.git = folder / "tree", folder / "git"
        worktree.add(self.repo, self.tree, repo.head())
        self.dirs = private.alternate_dirs(self.repo.common_dir)
        private.make(
            self.git,
            objects_dirs=self.dirs,
            head_branch=BRANCH,
            refs={
                BRANCH: repo.head(),
                "refs/heads/main": repo.head(),
                "refs/remotes/origin/main": repo.head(),
            },
            name='A "worker" \\ ü',
            email="worker@example.org",
            index_from=worktree.admin_dir(self.repo, self.tree) / "index",
            exclude=exclude,
            object_format=self.repo.object_format,
            shallow_from=self.repo.common_dir / "shallow",
        )
        self.gitfile = folder / "gitfile"
        self.gitfile.write_text("gitdir: /gitagent/git\n")

    @property
    def inside(self) -> Confinement:
        """What its processes see."""
        binds = (
            Bind(str(self.tree), "/workspace", writable=True),
            Bind(str(self.git), "/gitagent/git", writable=True),
            Bind(str(self.gitfile), "/workspace/.git", file=True),
            *(Bind(str(each), str(each)) for each in self.dirs),
        )
        return Confinement(cwd="/workspace", binds=binds)

    def sh(self, script: str, code: int = 0) -> str:
        """Run a shell script confined; return its output."""
        done = LocalEngine().run(
            ["sh", "-ec", script],
            self.inside,
            timeout=60,
            merge_stderr=True,
        )

        assert code == done.code, done
        return done.output.decode()
