"""The index of what can be searched: a cache that is made anew whenever it is no good.

What it holds is what one commit of the target holds. Nothing is believed because it
lies here: each hit is looked up in that commit before it is told.
"""

from collections.abc import Collection, Sequence
from typing import Final

from gitagent.core.episode import Episode
from gitagent.core.settings import Changed
from gitagent.errors import GitError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.memory import ranking
from gitagent.memory.dense import Embedder
from gitagent.memory.indexfile import IndexFile
from gitagent.memory.search import KINDS, SECONDS, Hit
from gitagent.memory.shelf import Shelf
from gitagent.memory.sync import bring, held
from gitagent.memory.telling import Here, tell
from gitagent.memory.vectors import Vectors

_PATIENCE_S: Final = 60.0  # of who has set no limit


class Index:
    """The index of one repository; for any thread and any number of processes."""

    def __init__(self, repo: Repository, embedder: Embedder | None = None) -> None:
        self._repo = repo
        self._file = IndexFile(repo.common_dir)
        self._vectors = None if embedder is None else Vectors(embedder)
        self._spread = ranking.Spread()
        self._here = Here()

    @property
    def note(self) -> str:
        """What a person should know of the last search, a sentence; "": nothing."""
        if self._file.problem:
            return f"Nothing can be searched here: {self._file.problem}."
        return "" if self._vectors is None else self._vectors.note

    def close(self) -> None:
        """Close the file; what is asked next opens it again."""
        self._file.close()

    def follow(
        self,
        objects: Objects,
        commit: str,
        shelf: Shelf,
        episodes: Sequence[Episode] = (),
        *,
        changed: Changed = Changed.MARK,
        seconds: float | None = None,
    ) -> bool:
        """Hold what ``commit`` holds from now on; return whether that was finished.

        ``changed`` is what becomes of items whose evidence changed. After ``seconds``
        it stops, and the next call, or a search, goes on from there.
        """
        until = clock.monotonic() + (_PATIENCE_S if seconds is None else seconds)
        try:
            tree = objects.commit(commit).tree
        except GitError:
            return False
        here = Here(
            commit,
            tree,
            {item.slug: item for item in shelf.told(changed)},
            shelf.marks,
            {each.name: each for each in episodes},
        )
        self._here = here
        return self._bring(objects, here, until)

    def search(
        self,
        query: str,
        *,
        kinds: Collection[str] = (),
        paths: Sequence[str] = (),
        most: int = 8,
        seconds: float = SECONDS,
    ) -> list[Hit]:
        """Return what is close to any text, the closest first. Never raises.

        ``kinds`` none named: all. Hits that are about ``paths`` (globs) come before
        others that are as close.
        """
        here = self._here
        until = clock.monotonic() + seconds
        wanted = [kind for kind in KINDS if not kinds or kind in kinds]
        if not here.commit or most < 1 or not wanted:
            return []
        try:
            with self._repo.objects() as objects:
                if self._file.run(held, until) != here.held:
                    # Another process looks at another commit, or it was lost.
                    self._bring(objects, here, until - seconds / 2)
                found = ranking.ranked(
                    self._file,
                    self._vectors,
                    self._spread,
                    query,
                    wanted,
                    tuple(paths),
                    most,
                    until,
                )
                return tell(objects, here, found, most)
        except GitError:  # the repository is gone, or its disk
            return []

    def _bring(self, objects: Objects, here: Here, until: float) -> bool:
        try:
            done = bring(self._file, objects, here.held, here, until)
        except GitError:
            return False
        if self._vectors is not None:
            self._vectors.fill(self._file, objects, here, until)
        return done
