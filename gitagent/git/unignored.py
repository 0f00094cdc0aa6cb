"""Which new files a checkout has that no rule of its own commit ignores.

The rules are the commit's ``.gitignore`` files as they are in it, evaluated in a folder
of their own. A new folder may bring rules for what is in it, as the caches of many
tools do; a new rule file beside tracked files counts as new whatever it says. Rules of
the person's, or of ``info/exclude``, do not count. Source: gitignore(5).
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gitagent.git import hostile
from gitagent.git.command import Done
from gitagent.git.sweep import opened

FILES = 1_000  # told; a check that made more is judged by these
DEPTH = 50  # of new folders
ENTRIES = 200_000  # of new folders
PATH_BYTES = 2_000  # of a new folder; the kernel takes 4096 with all that is above

_RULES_BYTES = 1 << 20
_RULE_FILES = (".gitignore", ".gitattributes")


class RunGit(Protocol):
    """git(1) with the folder of the rules as its work tree."""

    def __call__(self, *args: str, stdin: bytes, ok: tuple[int, ...]) -> Done:
        """Run it."""


@dataclass(slots=True)
class Search:
    """One look at the new paths of a checkout."""

    tree: Path
    rules: Path  # a folder that holds the commit's .gitignore files, to be written to
    git: RunGit
    found: list[str] = field(default_factory=list)
    seen: int = 0

    def run(self, new: Iterable[str]) -> list[str]:
        """Return the files at and below ``new`` that nothing ignores.

        ``new`` are the topmost new paths. A folder is told, with a slash at its end, if
        it is a repository or has more in it than can be looked at.
        """
        level: list[str] = []
        for path in new:
            beside_tracked = path.rpartition("/")[2] in _RULE_FILES
            (self.found if beside_tracked else level).append(path)
        for depth in range(DEPTH):
            if not level or len(self.found) >= FILES:
                break
            level = self._next(level, last=depth == DEPTH - 1)
        return self.found[:FILES]

    def _next(self, level: list[str], *, last: bool) -> list[str]:
        """Add the files of one level to those found; return the level below."""
        modes = {path: (self.tree / path).lstat().st_mode for path in level}
        folders = [path for path in level if stat.S_ISDIR(modes[path])]
        below: list[str] = []
        for path in self._not_ignored(level, folders):
            mode = modes[path]
            if stat.S_ISDIR(mode):
                below += self._enter(path, last=last)
            elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                # Git does not see pipes and sockets.
                self.found.append(path)
        return below

    def _enter(self, folder: str, *, last: bool) -> list[str]:
        """Return what is in a new folder, and learn its rules."""
        with opened(self.tree, folder) as fd:
            names = os.listdir(fd)  # noqa: PTH208 - a descriptor has no path
        self.seen += len(names)
        last = last or len(os.fsencode(folder)) > PATH_BYTES
        if ".git" in names or (names and (last or self.seen > ENTRIES)):
            self.found.append(f"{folder}/")
            return []
        if ".gitignore" in names:
            data = hostile.read(self.tree, f"{folder}/.gitignore", _RULES_BYTES)
            if data is not None:
                (self.rules / folder / ".gitignore").write_bytes(data)
        return [f"{folder}/{name}" for name in sorted(names)]

    def _not_ignored(self, level: list[str], folders: list[str]) -> list[str]:
        for path in folders:
            # A pattern for folders matches only what is one.
            (self.rules / path).mkdir(parents=True, exist_ok=True)
        done = self.git(
            *("-c", "core.excludesFile=/dev/null"),
            *("check-ignore", "--no-index", "-z", "--stdin"),
            # A name can begin with a colon, which would be magic.
            stdin="".join(f"./{path}\0" for path in level).encode(
                errors="surrogateescape"
            ),
            ok=(0, 1),
        )
        ignored = {field.removeprefix("./") for field in done.fields}
        return [path for path in level if path not in ignored]
