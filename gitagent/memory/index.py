"""The index of what can be searched: a cache, made anew whenever it is not as it should.

What it holds is what one commit of the target holds. Nothing is believed because it
lies here: each hit is looked up in that commit before it is told.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from gitagent.core.episode import Episode
from gitagent.core.settings import Changed
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.memory.search import SECONDS, Hit
from gitagent.memory.shelf import Shelf


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def name(self) -> str:
        """What its vectors are kept under; other vectors, another name."""

    @property
    def size(self) -> int:
        """Numbers in one vector; 0: not known before the first one."""

    def embed(self, texts: Sequence[str], seconds: float) -> list[bytes] | str:
        """Return one vector each, 32-bit floats, or why there is none, a sentence."""


class Index:
    """The index of one repository; for any thread and any number of processes."""

    def __init__(self, repo: Repository, embedder: Embedder | None = None) -> None:
        self._repo = repo
        self._embedder = embedder

    @property
    def note(self) -> str:
        """What a person should know of the last search, a sentence; "": nothing."""
        return ""

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
        it stops, and the next call goes on from there.
        """
        raise NotImplementedError

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

        ``kinds`` none named: all. ``paths`` (globs) are put first, where they match
        what a hit is about.
        """
        raise NotImplementedError
