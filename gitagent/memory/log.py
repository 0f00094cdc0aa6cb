"""What the log of the memory says: see `git.rulings`, where it is kept.

A ruling counts once its commit is on the target. Of one file the newest that counts is
the last word: what it put there is admitted, what came before it is not any more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gitagent.core.layout import MEMORY, OPERATIONS
from gitagent.core.remembering import Ruling
from gitagent.errors import GitError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository

FETCH: Final = "run: git fetch origin 'refs/gitagent/memory/*:refs/gitagent/memory/*'"
_OURS: Final = ("^Gitagent-Record: memory$", "^Gitagent-Submission: ")


def elsewhere(repo: Repository, objects: Objects, commit: str) -> bool:
    """Whether the memory of a commit was written with a log that is not here.

    So it is in a clone, to which Git brings no such refs. What the trailers say admits
    nothing, and only tells which mend to name. Walks the history where there is no log.
    """
    if objects.ref(OPERATIONS) is not None or objects.path(commit, MEMORY[:-1]) is None:
        return False
    ours = (f"--grep={each}" for each in _OURS)
    done = repo.git.run("log", "-1", "--format=%H", *ours, commit, "--", MEMORY)
    return bool(done.text.strip())


@dataclass(slots=True)
class Admitted:
    """Which files the log's rulings put onto a target; remembers what it has asked."""

    repo: Repository
    _at: str = ""  # commit that was asked about last
    _there: set[str] = field(default_factory=set)  # commits that are part of it

    def newest(
        self, objects: Objects, commit: str, rulings: Iterable[Ruling]
    ) -> dict[str, str]:
        """Return by slug the blob that the log has it at on ``commit``; "": gone."""
        rulings = [each for each in rulings if each.commit and each.files]
        self._ask(objects, commit, {each.commit for each in rulings})
        return {
            each.slug: each.blob
            for ruling in rulings
            if ruling.commit in self._there
            for each in ruling.files
        }

    def _ask(self, objects: Objects, commit: str, wanted: set[str]) -> None:
        if self._at != commit and not self._goes_on(objects, commit):
            self._there.clear()
        self._at = commit
        unknown = sorted(wanted - self._there)
        if not unknown:
            return
        # One walk for all of them. In a shallow clone those that are cut off are not
        # here, and count: it is their files' content that lies on the target.
        asked = "".join(f"{oid}\n" for oid in (*unknown, f"^{commit}"))
        done = self.repo.git.run(
            "rev-list", "--ignore-missing", "--stdin", stdin=asked.encode()
        )
        self._there |= set(unknown) - set(done.text.splitlines())

    def _goes_on(self, objects: Objects, commit: str) -> bool:
        """Whether what was part of the target is part of ``commit``, too."""
        try:
            return bool(self._at) and objects.ancestor(self._at, commit)
        except GitError:
            return False
