"""What merging a tip onto a base gives, without a work tree.

The engine is git's own (ort), run in a scratch repository that borrows the object
directory: no configuration of the repository is read, so no merge driver, filter or
rename limit of one machine decides, and the result is a function of what is merged.
Attributes are those of the base. Source: git-merge-tree(1), gitattributes(5).

``merge-tree --stdin`` answers each merge at once only from git 2.49 on. An older one
prints through stdio, which flushes before it waits for input when both ends are a
terminal; a C library that does not is found out, and each merge is a process then.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from gitagent.core.ident import is_oid
from gitagent.errors import GitError
from gitagent.git import codec, scratch
from gitagent.git.attributes import Attributes, attribute_files, lay_out
from gitagent.git.command import TIMED_OUT, clean_environment, git_argv
from gitagent.git.identity import OWN
from gitagent.git.merge_answer import answer, conflict_paths
from gitagent.git.objects import Objects
from gitagent.git.refs import DURABLE
from gitagent.git.repository import Repository
from gitagent.host.talker import Talker

TIMEOUT_S = 300.0
PROBE_S = 10.0  # for a merge of a commit with itself; a machine can be busy
MERGES = 1000  # by one process; it keeps in memory what it read
LIVES = 8  # processes that may end over a merge before each merge has its own

_COMMAND: Final = (*DURABLE, "merge-tree", "--write-tree", "--name-only", "-z")
_mute = False  # the git of this machine was seen not to answer at once


@dataclass(frozen=True, slots=True)
class MergeResult:
    """A merged tree, or why there is none."""

    tree: str | None
    conflicts: tuple[str, ...] = ()  # paths, sorted; no tree and none: unrelated


def merge(
    repo: Repository,
    objects: Objects,
    base: str,
    tip: str,
    *,
    common: str | None = None,
) -> MergeResult:
    """Merge once; see ``Merger.merge``."""
    with Merger(repo, objects) as merger:
        return merger.merge(base, tip, common=common)


class Merger:
    """Many merges in a row, by one process while the attributes stay the same.

    For one thread and one round of work: a history that is deepened meanwhile is not
    noticed. To be closed before ``objects``.
    """

    def __init__(self, repo: Repository, objects: Objects) -> None:
        self._repo = repo
        self._objects = objects
        self._place: Path | None = None  # made with the first merge
        self._env: dict[str, str] = {}
        self._attributes: Attributes | None = None
        self._talker: Talker | None = None
        # In a partial clone git can have to fetch, and to ask for a password.
        self._lives = 0 if repo.partial else LIVES
        self._left = 0
        self._own: dict[str, int] = {}  # commits made for merges, with their times

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End the process and remove the folder; more than once is harmless."""
        self._hang_up()
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
            self._place = None

    def merge(
        self,
        base: str,
        tip: str,
        *,
        common: str | None = None,
        contained: Sequence[str] = (),
    ) -> MergeResult:
        """Merge ``tip`` onto ``base``; new trees and blobs are stored.

        Both are full ids of commits. With ``common`` it is the merge base, and all
        three may be trees. ``contained`` are commits to take for ancestors of
        ``base``. Nothing pins the result: a ref has to, at once.

        Raises:
            GitError: an object is not here, the disk is full, no answer in time.
            UserError: the base has too many files of attributes.
        """
        try:
            self._lay(attribute_files(self._objects, self._tree(base)))
            sides = self._sides(base, tip, common, contained)
            fields = self._ask(sides) or self._once(sides)
        except OSError as error:
            raise GitError(("git", "merge-tree", base, tip), 1, str(error)) from error
        if fields is None:
            return MergeResult(None)
        clean, merged, *rest = fields
        if clean == "1":
            return MergeResult(merged)
        return MergeResult(None, conflict_paths(rest, sides))

    @property
    def _folder(self) -> Path:
        """Where git finds the attributes."""
        return self._git_dir.with_name("tree")

    @property
    def _git_dir(self) -> Path:
        if self._place is None:
            place = Path(tempfile.mkdtemp(prefix="gitagent-merge-"))
            env = scratch.make(self._repo, place / "git") | scratch.lend(place / "git")
            self._env = env | {"GIT_WORK_TREE": "."}
            self._place = place
        return self._place / "git"

    def _tree(self, treeish: str) -> str:
        if self._objects.kind(treeish) == "tree":
            return treeish
        return self._objects.commit(treeish).tree

    def _lay(self, attributes: Attributes) -> None:
        if attributes == self._attributes:
            return
        self._hang_up()  # git remembers the attributes that it has read
        self._attributes = None
        if self._folder.exists():
            shutil.rmtree(self._folder)
        lay_out(self._objects, attributes, self._folder)
        self._attributes = attributes

    def _sides(
        self, base: str, tip: str, common: str | None, contained: Sequence[str]
    ) -> tuple[str, str]:
        """Return two commits whose merge is the one that is wanted."""
        if common is not None:
            if self._objects.kind(common) == "tree":
                common = self._commit(common)
            return self._child(base, common), self._child(tip, common)
        if contained:
            return self._commit(self._tree(base), base, *contained), tip
        return base, tip

    def _child(self, treeish: str, parent: str) -> str:
        """Return a commit of the tree that has only this parent."""
        if self._objects.kind(treeish) == "commit":
            commit = self._objects.commit(treeish)
            if commit.parents == (parent,):
                return treeish
            treeish = commit.tree
        return self._commit(treeish, parent)

    def _commit(self, tree: str, *parents: str) -> str:
        """Make a commit that only this merger sees."""
        # git walks history by date: one of the year 1970 makes it walk to the root.
        when = max((self._time(each) for each in parents), default=0)
        who = replace(OWN, when=when)
        data = codec.dump_commit(tree, parents, "merge\n", who, who)
        self._own[oid := self._write(data)] = when
        return oid

    def _time(self, commit: str) -> int:
        when = self._own.get(commit)
        return self._objects.commit(commit).committer.when if when is None else when

    def _write(self, data: bytes) -> str:
        return scratch.write(self._git_dir, "commit", data, self._repo.object_format)

    def _ask(self, sides: tuple[str, str]) -> list[str] | None:
        """Return the fields of an answer: 1 or 0, the tree, paths, messages.

        None if there is no process that answers, or it ended over this merge.
        """
        try:
            talker = self._call(sides[0])
            if talker is None:
                return None
            self._left -= 1
            return answer(talker, sides, TIMEOUT_S)
        except EOFError:
            self._hang_up()
            self._lives -= 1
            return None
        except TimeoutError as error:
            self._hang_up()
            reason = f"no answer within {TIMEOUT_S:g} s; stopped"
            raise GitError(("git", "merge-tree", *sides), TIMED_OUT, reason) from error

    def _call(self, commit: str) -> Talker | None:
        """Return the process, once it was seen to answer."""
        global _mute  # noqa: PLW0603 - true of the machine, not of one merger
        if self._left == 0:
            self._hang_up()
        if self._talker is not None:
            return self._talker
        if self._lives == 0 or _mute:
            return None
        try:
            self._talker = Talker(
                git_argv(self._repo.git.config, (*_COMMAND, "--stdin")),
                cwd=self._folder,
                env=self._environment(),
                terminal=True,
            )
        except OSError:
            self._lives = 0
            return None
        self._left = MERGES
        try:
            answer(self._talker, (commit, commit), PROBE_S)
        except TimeoutError:
            self._hang_up()
            _mute = True
            return None
        return self._talker

    def _environment(self) -> dict[str, str]:
        alone = clean_environment(user_config=False)
        return alone | self._repo.git.place(self._folder, self._git_dir) | self._env

    def _once(self, sides: tuple[str, str]) -> list[str] | None:
        """Merge by a process of its own; None if the two have nothing in common."""
        try:
            done = self._repo.git.run(
                *_COMMAND,
                *sides,
                git_dir=self._git_dir,
                work_tree=self._folder,
                env=self._env,
                ok=(0, 1),
                timeout=TIMEOUT_S,
            )
        except GitError:
            if self._objects.merge_base(*sides) is None:
                return None
            raise
        tree, *rest = done.out.decode(errors="surrogateescape").split("\0")
        if not is_oid(tree):
            raise GitError(("git", "merge-tree", *sides), done.code, done.err)
        return ["1" if done.code == 0 else "0", tree, *rest]

    def _hang_up(self) -> None:
        if self._talker is not None:
            self._talker.close()
            self._talker = None
