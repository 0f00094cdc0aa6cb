"""Which commits the target's history takes back, by the line that `git revert` writes.

A revert that was reverted takes nothing back any more.
"""

import re
from collections.abc import Mapping
from typing import Final

from gitagent.errors import GitError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository

_LINE: Final = re.compile(
    r"^This reverts commit ([0-9a-f]{64}|[0-9a-f]{40})(?:\.|, reversing)", re.MULTILINE
)
_WORDS: Final = "This reverts commit"


class Reverts:
    """The reverts of one repository. For one thread; reads each commit once."""

    def __init__(self) -> None:
        self._tip = ""
        self._by: dict[str, str] = {}  # by what is reverted: the newest that does so
        self._standing: dict[str, str] = {}

    def at(self, repo: Repository, objects: Objects, commit: str) -> Mapping[str, str]:
        """Return what is taken back at a commit of the target, and by which commit.

        Where that is a merge, so is what it merged. Raises GitError.
        """
        if commit != self._tip:
            goes_on = self._tip and objects.ancestor(self._tip, commit)
            new = _read(repo, f"{self._tip}..{commit}" if goes_on else commit)
            self._by = self._by | new if goes_on else new
            if new or not goes_on:
                self._standing = _standing(objects, self._by)
            self._tip = commit
        return self._standing


def _read(repo: Repository, commits: str) -> dict[str, str]:
    done = repo.git.run(
        *("log", "-z", "--format=%H%n%B", "--fixed-strings", f"--grep={_WORDS}"),
        *(commits, "--"),
    )
    found: dict[str, str] = {}
    for each in done.fields:
        oid, _, message = each.lstrip("\n").partition("\n")
        for reverted in _LINE.findall(message):
            found.setdefault(reverted, oid)
    return found


def _standing(objects: Objects, by: Mapping[str, str]) -> dict[str, str]:
    whole = dict(by)
    for reverted, oid in by.items():
        for merged in _merged(objects, reverted):
            whole.setdefault(merged, oid)
    undone: dict[str, bool] = {}
    for oid in by.values():
        # Along a chain of reverts of reverts, every other one stands.
        chain = [oid]
        while chain[-1] in whole and chain[-1] not in undone:
            chain.append(whole[chain[-1]])
        last = undone.get(chain[-1], False)
        undone[chain[-1]] = last
        for each in reversed(chain[:-1]):
            last = undone[each] = not last
    return {reverted: oid for reverted, oid in whole.items() if not undone[oid]}


def _merged(objects: Objects, oid: str) -> tuple[str, ...]:
    try:
        return objects.commit(oid).parents[1:]
    except GitError:
        return ()
