"""Integration checkouts: where checks run, kept in a pool and used again.

A checkout has a Git directory and an index of ours that no sandbox ever sees. The
check gets a fresh private Git directory each time, and may do to it, and to the files,
whatever it likes. What it changed is judged by nothing that it can write: the kernel's
change times against those in our index, and then the bytes themselves, against what
git writes for the commit. So neither hidden index bits nor times put back hide an edit.

Removing files waits for the disk, so that is done behind a run, once its verdict is
told; see ``slots`` for how long that counts.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath

from gitagent.errors import GitagentError
from gitagent.git import hostile, private, scratch
from gitagent.git.command import Done
from gitagent.git.drift import Drift, look, undo
from gitagent.git.identity import OWN
from gitagent.git.repository import Repository
from gitagent.git.same_file import same_file
from gitagent.git.slots import Slot, Slots, Tidy
from gitagent.git.stat_index import Folders, load
from gitagent.git.sweep import opened, remove_below, remove_entry, remove_tree
from gitagent.git.unignored import Search
from gitagent.host import clock
from gitagent.host.confinement import GIT_DIR, WORKSPACE
from gitagent.host.sandbox import Bind

TIMEOUT_S = 900.0

_TICK_S = 2.0  # longest step of a file system's clock


class Pool:
    """The checkouts of one repository below a folder; one taker each.

    What a dead taker held is free at once: the kernel drops its lock.
    """

    def __init__(self, repo: Repository, root: Path) -> None:
        self._repo = repo
        self._slots = Slots(root)

    @contextmanager
    def take(self) -> Iterator["Checkout"]:
        """Yield the first checkout that is free, or a new one."""
        with self._slots.take() as slot:
            yield Checkout(self._repo, slot)


class Checkout:
    """One checkout, held by one taker."""

    def __init__(self, repo: Repository, slot: Slot) -> None:
        self._repo = repo
        self._slot = slot.path
        self._known = slot.known
        self._leave = slot.leave
        self._own = self._slot / "own.git"
        self._keep: frozenset[str] = frozenset()
        self._commit = ""
        self._shown = False  # whether `inside` was made since the last prepare
        self._drift: Drift | None = None  # as it was judged
        self.tree = self._slot / "tree"  # the files
        self.tree.mkdir(exist_ok=True)
        self._env = self._open()

    def prepare(self, commit: str, keep: Sequence[str] = ()) -> None:
        """Make the files exactly those of ``commit``, whatever was done to them.

        Untracked folders whose paths are in ``keep`` stay as they are, unless the
        commit has something there.

        Raises:
            GitError: no such commit, the disk is full.
            OSError: the kernel refuses to remove a file.
        """
        self._keep = frozenset(path for path in keep if _usable(path))
        self._commit, self._shown, self._drift = "", False, None
        tidy, self._known.tidy = self._known.tidy, None
        whole = tidy is not None and tidy.keep == self._keep
        if not whole:
            drift = look(self.tree, self._index(), self._keep)
            undo(self.tree, drift)
            whole = not (drift.altered or drift.missing)
        if not whole or self._keep:
            self._read_tree(commit, "--reset")
        elif tidy is None or tidy.commit != commit:
            # Git need not look at every file again when all are as the index says.
            self._read_tree(commit, "-m")
        if tracked := [x for x in self._keep if _tracked_at(self._index(), x)]:
            for path in tracked:
                remove_below(self.tree, path)
            self._keep -= frozenset(tracked)
            self._read_tree(commit, "--reset")
        self._commit = commit
        self._let_the_clock_tick()

    def inside(
        self,
        *,
        confined: bool = True,
        refs: Mapping[str, str] | None = None,
    ) -> tuple[Bind, ...]:
        """Make the Git directory that the check sees, and return its binds.

        HEAD is detached at the prepared commit, and status is clean. Not ``confined``,
        the checkout's ``.git`` names it by its place on the host.
        """
        git_dir = self._slot / "inside.git"
        lent = private.alternate_dirs(self._repo.common_dir)
        if self._known.skeleton != lent or not git_dir.is_dir():
            self._make_skeleton(lent)
        self._known.skeleton = None
        private.fill(
            git_dir,
            head_branch=self._commit,
            refs=refs or {},
            index_from=self._own / "index",
            shallow_from=self._repo.common_dir / "shallow",
        )
        named = f"gitdir: {GIT_DIR if confined else git_dir}\n"
        scratch.ensure(self._slot / "gitfile", named)
        with opened(self.tree) as fd:
            remove_entry(fd, ".git")
        (self.tree / ".git").write_text(named)
        self._shown = True
        return self.binds()

    def binds(self) -> tuple[Bind, ...]:
        """Return what a sandbox shows of this checkout and of the repository."""
        return (
            Bind(str(self.tree), WORKSPACE, writable=True),
            Bind(str(self._slot / "inside.git"), GIT_DIR, writable=True),
            Bind(str(self._slot / "gitfile"), f"{WORKSPACE}/.git", file=True),
            *(
                Bind(str(each), str(each))
                for each in private.alternate_dirs(self._repo.common_dir)
            ),
        )

    def changed(self) -> tuple[str, ...]:
        """Return what differs from the prepared commit, sorted.

        Content, kind and executable bit of tracked files; those that are gone; new ones
        that no rule of the commit ignores; ``.git/HEAD`` if the check moved it. A file
        that was written again with the same bytes does not differ.
        """
        drift = self._drift = look(self.tree, self._index(), self._keep)
        links = self._index().links
        found = set(drift.missing)
        found.update(self._altered(drift.altered))
        extra = (path for path in drift.extra if path.rpartition("/")[0] not in links)
        found.update(self._new([path for path in extra if path != ".git"]))
        if self._shown:
            head = hostile.read(self._slot, "inside.git/HEAD", 4096)
            if head != f"{self._commit}\n".encode():
                found.add(".git/HEAD")
        return tuple(sorted(found))

    def leave(self) -> None:
        """Say that there is little left to do here: a next taker waits for that."""
        self._leave()

    def tidy(self, keep: Sequence[str] = ()) -> None:
        """Clear up behind a run, so that the next prepare has less to do.

        Untracked folders whose paths are in ``keep`` stay. Nobody may be at work there
        any more. If it fails, the next prepare does it.
        """
        self.leave()
        with suppress(GitagentError, OSError):
            lent = private.alternate_dirs(self._repo.common_dir)
            self._make_skeleton(lent)
            self._known.skeleton, self._known.left = lent, clock.monotonic()
            if self._commit:
                self._tidy(frozenset(path for path in keep if _usable(path)))

    def _make_skeleton(self, lent: tuple[Path, ...]) -> None:
        """Make the Git directory for the next check, but for what is its commit's."""
        git_dir = self._slot / "inside.git"
        remove_tree(git_dir)
        private.skeleton(
            git_dir,
            objects_dirs=lent,
            name=OWN.name,
            email=OWN.email,
            object_format=self._repo.object_format,
        )

    def _tidy(self, keep: frozenset[str]) -> None:
        drift = self._drift
        if drift is None or keep != self._keep:
            drift = look(self.tree, self._index(), keep)
        undo(self.tree, drift)
        if drift.altered or drift.missing:
            self._read_tree(self._commit, "--reset")
        self._known.tidy = Tidy(self._commit, keep)
        self._commit, self._drift = "", None

    def _open(self) -> dict[str, str]:
        """Make the Git directory, or take it over from a taker that may be dead."""
        config = self._own / "config"
        before = config.read_bytes() if config.exists() else b""
        env = scratch.make(self._repo, self._own)
        if config.read_bytes() != before:
            (self._own / "index").unlink(missing_ok=True)
        (self._own / "index.lock").unlink(missing_ok=True)
        return env

    def _git(
        self,
        *args: str,
        work_tree: Path,
        stdin: bytes | None = None,
        ok: tuple[int, ...] = (0,),
    ) -> Done:
        return self._repo.git.run(
            *args,
            stdin=stdin,
            ok=ok,
            git_dir=self._own,
            work_tree=work_tree,
            index=self._own / "index",
            env=self._env,
            timeout=TIMEOUT_S,
        )

    def _read_tree(self, commit: str, how: str) -> None:
        self._git("read-tree", how, "-u", commit, work_tree=self.tree)

    def _index(self) -> Folders:
        """Return what the index says; read again only if it is another file."""
        index = self._own / "index"
        stamp, known = _stamp(index), self._known
        if known.folders is not None and known.stamp == stamp:
            return known.folders
        try:
            folders = load(index, sha256=self._repo.object_format != "sha1")
        except (ValueError, struct.error):
            # Only a crash of the machine can have torn it.
            index.unlink()
            return Folders()
        known.stamp, known.folders = stamp, folders
        return folders

    def _let_the_clock_tick(self) -> None:
        """Wait until a change of a file gets a later time than all that git wrote.

        The kernel's clock for files has steps of some milliseconds.
        """
        written = (self._own / "index").stat().st_ctime_ns
        probe = self._own / "clock"
        limit = clock.monotonic() + _TICK_S
        while clock.monotonic() < limit:
            probe.touch()
            if probe.stat().st_ctime_ns > written:
                return
            clock.sleep(0.0005)

    def _altered(self, paths: list[str]) -> list[str]:
        """Return those of the touched files that differ from what git writes."""
        if not paths:
            return []
        expected = self._written("expected", paths)
        return [path for path in paths if not same_file(expected, self.tree, path)]

    def _new(self, paths: list[str]) -> list[str]:
        if not paths:
            return []
        names = (path for path in self._index().files() if _is_rules(path))
        rules = self._written("rules", list(names))
        return Search(self.tree, rules, partial(self._git, work_tree=rules)).run(paths)

    def _written(self, name: str, paths: list[str]) -> Path:
        """Return a folder with these files as they are in the commit.

        Away from the checkout, so that attributes are those of the index.
        """
        folder = self._slot / name
        remove_tree(folder)
        folder.mkdir()
        stdin = "".join(f"{path}\0" for path in paths)
        self._git(
            *("checkout-index", "--quiet", "-z", "--stdin"),
            work_tree=folder,
            stdin=stdin.encode(errors="surrogateescape"),
        )
        return folder


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ctime_ns, found.st_ino


def _usable(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return str(PurePosixPath(path)) == path and not {"/", "..", ".git"} & {*parts}


def _tracked_at(folders: Folders, path: str) -> bool:
    """Whether the index has something at or below a path, or a file above it."""
    above = (str(each) for each in PurePosixPath(path).parents if each.name)
    return folders.holds(path) or any(
        folders.holds(each) and f"{each}/" not in folders.below for each in above
    )


def _is_rules(path: str) -> bool:
    return path.rpartition("/")[2] == ".gitignore"
