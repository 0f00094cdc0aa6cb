"""Whether lines that are cited still stand in the target, and which commit took them.

They stand where the file of that path has them as whole lines, or where the very file
lies at another path by now. All that is remembered follows from object ids.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gitagent.core.candidate import PathChange
from gitagent.core.memory import Source
from gitagent.errors import GitError, UserError
from gitagent.git.objects import BLOB, EXECUTABLE, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import walk, walk_changes
from gitagent.memory.lines import file_problem, find, lines_of

_CHANGES: Final = 20_000  # paths that differ, beyond which all is looked at anew
_FILES: Final = 50_000  # of a tree in which a moved file is looked for
_STEPS: Final = (
    1_000  # commits that changed a cited path, in which the one is looked for
)
_ARGUMENTS: Final = 200  # paths for one process
_REMEMBERED: Final = 500_000  # answers about one source and one blob


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a source stands in one commit of the target."""

    path: str = ""  # "": nowhere
    blob: str = ""  # that it lies in where it was cited
    problem: str = ""  # why it does not resolve at all


@dataclass(slots=True)
class Drift:
    """What is known of the cited lines of one repository. For one thread."""

    commit: str = ""
    tree: str = ""
    _blobs: dict[tuple[str, str], str] = field(default_factory=dict)  # of good quotes
    _there: dict[tuple[Source, str], bool] = field(default_factory=dict)
    _moved: dict[str, str] | None = None  # blobs of the tree, with a path of each
    _taken: dict[Source, str] = field(default_factory=dict)  # by which commit

    def move(self, objects: Objects, commit: str) -> tuple[PathChange, ...] | None:
        """Go to another commit; return what differs, or None for all that there is.

        Raises GitError.
        """
        old, before = self.commit, self.tree
        self.commit, self.tree = commit, objects.commit(commit).tree
        if self.tree != before:
            self._moved = None
        if len(self._there) > _REMEMBERED:
            self._there.clear()
            self._blobs.clear()
        if old and objects.ancestor(old, commit):
            try:
                return walk_changes(objects, before, self.tree, limit=_CHANGES)
            except UserError:
                return None
        self._taken.clear()
        return None

    def stand(self, objects: Objects, source: Source) -> Stand:
        """Return where the lines of a source stand. Raises GitError."""
        cited = self._cited(objects, source)
        if not cited:
            return Stand(problem=_problem(objects, source))
        entry = objects.path(self.tree, source.name)
        blob = "" if entry is None or file_problem(entry) else entry.oid
        if blob and (blob == cited or self._has(objects, source, blob)):
            return Stand(source.name, cited)
        return Stand(self._elsewhere(objects).get(cited, ""), cited)

    def _cited(self, objects: Objects, source: Source) -> str:
        """Return the blob that a source quotes; "" if it does not say that there."""
        key = (source.oid, source.name)
        blob = self._blobs.get(key)
        if blob is None:
            if objects.kind(source.oid) != "commit":
                return ""
            entry = objects.path(source.oid, source.name)
            blob = "" if entry is None or file_problem(entry) else entry.oid
            self._blobs[key] = blob
        good = (source, "")
        if good not in self._there:
            self._there[good] = blob != "" and _quotes(objects, blob, source)
        return blob if self._there[good] else ""

    def _has(self, objects: Objects, source: Source, blob: str) -> bool:
        key = (source, blob)
        if key not in self._there:
            lines = lines_of(objects, blob)
            found = lines is not None and find(lines, source.quote) > 0
            self._there[key] = found
        return self._there[key]

    def _elsewhere(self, objects: Objects) -> Mapping[str, str]:
        if self._moved is None:
            self._moved = {}
            try:
                for path, entry in walk(objects, self.tree, limit=_FILES):
                    if entry.mode in {BLOB, EXECUTABLE}:
                        known = self._moved.get(entry.oid, path)
                        self._moved[entry.oid] = min(known, path)
            except UserError:
                self._moved.clear()
        return self._moved

    def taken(
        self, repo: Repository, objects: Objects, gone: Sequence[Source]
    ) -> dict[Source, str]:
        """Return by which commit of the target each of these was taken away.

        Where that is not found within bounds, it is the commit that is looked at.
        """
        new = [source for source in gone if source not in self._taken]
        paths = sorted({source.name for source in new})
        for first in range(0, len(paths), _ARGUMENTS):
            some = frozenset(paths[first : first + _ARGUMENTS])
            steps = list(_steps(repo, self.commit, some))
            for source in new:
                if source.name in some:
                    self._taken[source] = self._taker(objects, source, steps)
        return {source: self._taken[source] for source in gone}

    def _taker(self, objects: Objects, source: Source, steps: Sequence["_Step"]) -> str:
        newest = ""
        for step in steps:
            if step.path != source.name:
                continue
            newest = newest or step.commit
            if self._in(objects, source, step.old) and not self._in(
                objects, source, step.new
            ):
                return step.commit
        return newest or self.commit

    def _in(self, objects: Objects, source: Source, blob: str) -> bool:
        try:
            return bool(blob.strip("0")) and self._has(objects, source, blob)
        except GitError:  # a submodule, or no blob of this clone
            return False

    def back(self, source: Source) -> None:
        """Say that a source stands again, or is cited no more."""
        self._taken.pop(source, None)


@dataclass(frozen=True, slots=True)
class _Step:
    """One path that one commit of the target changed."""

    commit: str
    path: str
    old: str  # blobs; zeros: none
    new: str


def _steps(repo: Repository, commit: str, paths: frozenset[str]) -> Iterator[_Step]:
    """Yield what commits of the first-parent history changed, the newest first."""
    done = repo.git.run(
        *("--literal-pathspecs", "log", "-z", "--raw", "--no-abbrev", "--no-renames"),
        *("-m", "--first-parent", f"--max-count={_STEPS}", "--format=commit %H"),
        *(commit, "--", *sorted(paths)),
    )
    fields, at = iter(done.fields), ""
    for each in fields:
        head = each.lstrip("\n")
        if head.startswith("commit "):
            at = head.removeprefix("commit ")
        elif head.startswith(":"):
            _, _, old, new, _ = head.split(" ")
            yield _Step(at, next(fields), old, new)


def _quotes(objects: Objects, blob: str, source: Source) -> bool:
    lines = lines_of(objects, blob)
    span = slice(source.first - 1, source.last)
    return lines is not None and "\n".join(lines[span]) == source.quote


def _problem(objects: Objects, source: Source) -> str:
    if objects.kind(source.oid) != "commit":
        return f"commit {source.oid[:12]} is not here"
    return f"commit {source.oid[:12]} does not say that"
