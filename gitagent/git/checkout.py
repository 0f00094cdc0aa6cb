"""Integration checkouts: a pool of folders, each exactly one commit's tree when taken.

A check runs the code that it judges, so the folder and the Git directory that it sees
are hostile afterwards. The daemon's own Git directory and index lie beside them, out
of the sandbox's sight. What a check may have forged (sizes, times) is caught by the
change time, which no process can set; see "Racy Git" in Git's technical documents.

    <root>/<n>/lock     flock of the taker
    <root>/<n>/own.git  the daemon's Git directory and index
    <root>/<n>/tree     the files
    <root>/<n>/git      the Git directory that the check sees, made anew each time
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath

from gitagent.errors import GitError
from gitagent.git import private
from gitagent.git.command import Done
from gitagent.git.repository import Repository
from gitagent.git.sweep import remove_tree
from gitagent.host.confinement import Bind

TREE = "/workspace"
GIT = "/gitagent/git"

_TIMEOUT_S = 600.0
_IDENTITY = ("gitagent check", "check@gitagent.invalid")


@dataclass(frozen=True, slots=True)
class Checkout:
    """One slot of the pool, held by one taker."""

    repo: Repository
    path: Path

    @property
    def tree(self) -> Path:
        """The folder that the check works in."""
        return self.path / "tree"

    def prepare(self, commit: str, keep: Sequence[str] = ()) -> None:
        """Make the folder exactly the tree of ``commit``, but for ignored ``keep``.

        ``keep`` are paths from the top that stay as they are.

        Raises:
            GitError: an object is missing, or the disk is full.
        """
        remove_tree(self.path / "git")
        remove_tree(self.tree / ".git")
        try:
            self._switch(commit, keep)
        except (GitError, OSError):
            # A pruned object in the old index, or a folder closed by its last check.
            remove_tree(self.tree)
            remove_tree(self._own)
            self._switch(commit, keep)

    def inside(self, commit: str, *, confined: bool = True) -> tuple[Bind, ...]:
        """Make the Git directory that the check sees; return what to bind.

        HEAD is detached at ``commit``, and ``git status`` in there is clean.
        """
        lent = private.alternate_dirs(self.repo.common_dir)
        name, email = _IDENTITY
        private.make(
            self.path / "git",
            objects_dirs=lent,
            head_branch=commit,
            refs={},
            name=name,
            email=email,
            index_from=self._own / "index",
            object_format=self.repo.object_format,
        )
        gitfile = self.path / "gitfile"
        gitfile.write_text(f"gitdir: {GIT}\n")
        if not confined:
            (self.tree / ".git").write_text(f"gitdir: {self.path / 'git'}\n")
        return (
            Bind(str(self.tree), TREE, writable=True),
            Bind(str(self.path / "git"), GIT, writable=True),
            Bind(str(gitfile), f"{TREE}/.git", file=True),
            *(Bind(str(each), str(each)) for each in lent),
        )

    def changed(self) -> tuple[str, ...]:
        """Return the paths that differ from what was prepared, sorted.

        Tracked content and modes, deletions, and new files that the commit's own
        ignore rules do not cover. A new folder may ignore itself, as caches do; a new
        ignore file beside tracked files is a change.
        """
        remove_tree(self.tree / ".git")
        done = self._git(
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--no-renames",
            "--ignore-submodules=none",
        )
        found = set()
        folders: set[str] | None = None
        for field in done.fields:
            state, path = field[:2], field[3:]
            if state != "!!":
                found.add(path)
            elif PurePosixPath(path).name == ".gitignore":
                folders = self._folders() if folders is None else folders
                if str(PurePosixPath(path).parent) in folders:
                    found.add(path)
        return tuple(sorted(found))

    @property
    def _own(self) -> Path:
        return self.path / "own.git"

    def _switch(self, commit: str, keep: Sequence[str]) -> None:
        self.tree.mkdir(exist_ok=True)
        if not self._own.is_dir():
            private.make(
                self._own,
                objects_dirs=private.alternate_dirs(self.repo.common_dir),
                head_branch=commit,
                refs={},
                name=_IDENTITY[0],
                email=_IDENTITY[1],
                object_format=self.repo.object_format,
            )
            self._git("config", "core.checkStat", "default")
        (self._own / "index.lock").unlink(missing_ok=True)
        (self._own / "HEAD").write_text(f"{commit}\n")
        kept = [word for path in keep for word in ("-e", f"/{path.strip('/')}")]
        self._git("clean", "-ffdxq", *kept)
        self._git("read-tree", "--reset", "-u", commit)
        self._git("clean", "-ffdxq", *kept)

    def _folders(self) -> set[str]:
        """Return every folder of the prepared tree, the top as a dot."""
        paths = self._git("ls-files", "-z").fields
        parents = {str(up) for path in paths for up in PurePosixPath(path).parents}
        return parents | {"."}

    def _git(self, *args: str) -> Done:
        return self.repo.git.run(
            "-c",
            "core.trustctime=true",
            "-c",
            "core.symlinks=true",
            "-c",
            "submodule.recurse=false",
            *args,
            git_dir=self._own,
            work_tree=self.tree,
            env={"GIT_LFS_SKIP_SMUDGE": "1"},
            timeout=_TIMEOUT_S,
        )


@dataclass(frozen=True, slots=True)
class Pool:
    """The checkouts of one repository, as many as are taken at once."""

    repo: Repository
    root: Path

    @contextmanager
    def take(self) -> Iterator[Checkout]:
        """Hold the first slot that nobody holds; the kernel frees those of the dead."""
        self.root.mkdir(parents=True, exist_ok=True)
        for number in count():
            path = self.root / str(number)
            path.mkdir(mode=0o700, exist_ok=True)
            fd = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                continue
            try:
                yield Checkout(self.repo, path)
            finally:
                os.close(fd)
            return
