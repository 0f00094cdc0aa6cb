"""Ignored folders that a slot of the pool keeps from one candidate to the next.

A folder is kept as long as the files that its checks name as its key stay the same,
and only after a run that passed: what a failed or stopped run left can be half made.
The run was of what has landed since, or of the same submission: the code under check
writes there, and would have its say in the verdict about others.
Which folders are good is written beside the checkout, where no check can see it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitagent.core.glob import matching
from gitagent.core.settings import Check
from gitagent.git.objects import Objects
from gitagent.git.tree import walk


@dataclass(frozen=True, slots=True)
class Stamps:
    """The note of one slot: which folders are good, for which key, and whose."""

    file: Path

    def kept(
        self, wanted: Mapping[str, str], trusted: Callable[[str], bool]
    ) -> tuple[str, ...]:
        """Return the folders that are good for the keys ``wanted``, sorted.

        ``trusted`` says whether what the run of a submitted tip left may be used.
        """
        found, tip = self._read()
        if not found or not trusted(tip):
            return ()
        return tuple(sorted(f for f in wanted if found.get(f) == wanted[f]))

    def clear(self) -> None:
        """Let no folder count as good; nothing there is no error."""
        self.file.unlink(missing_ok=True)

    def set(self, wanted: Mapping[str, str], tip: str) -> None:
        """Let these folders, left by a run of ``tip``, count as good, and no others."""
        if wanted:
            new = self.file.with_suffix(".new")
            new.write_text(
                json.dumps({"tip": tip, "folders": dict(wanted)}), encoding="utf-8"
            )
            new.replace(self.file)

    def _read(self) -> tuple[dict[str, str], str]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self.file.read_bytes())
            return dict(found["folders"]), str(found["tip"])
        return {}, ""


def keys(objects: Objects, commit: str, checks: tuple[Check, ...]) -> dict[str, str]:
    """Return the key that each declared folder has on a commit.

    A folder that several checks declare has the files of all of them as its key.
    """
    globs: dict[str, set[str]] = {}
    for check in checks:
        for folder in check.cache:
            globs.setdefault(folder.strip("/"), set()).update(check.cache_key)
    if not globs:
        return {}
    files = dict(_files(objects, commit)) if any(globs.values()) else {}
    return {
        folder: _digest(
            {path: files[path] for path in matching(tuple(sorted(g)), files)}
        )
        for folder, g in globs.items()
    }


def _files(objects: Objects, commit: str) -> list[tuple[str, str]]:
    tree = objects.commit(commit).tree
    return [(path, entry.oid) for path, entry in walk(objects, tree)]


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()
