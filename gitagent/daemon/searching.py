"""Searching the memory: the index and the shelf of one commit, opened together.

The same for a command, for agents' tools, for recall and for chats, so that all find
the same.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gitagent.core.budget import limits
from gitagent.core.episode import Episode
from gitagent.core.layout import SUBMISSIONS, TASK_RECORDS
from gitagent.core.models import resolve
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.daemon.entry import find_target
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import GitagentError, UserError
from gitagent.files import record
from gitagent.git import records
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.memory.landed import Past
from gitagent.memory.search import SECONDS, Hit
from gitagent.memory.shelf import Shelf, Shelves

if TYPE_CHECKING:
    from gitagent.memory.dense import Embedder
    from gitagent.memory.index import Index
    from gitagent.worker.models import Models

_RECORDS: Final = 20_000  # that are remembered
_OPEN: Final = 4  # indexes: settings change
_LOADERS: Final[Mapping[bool, Callable[[bytes, str], TaskRecord | Submission]]] = {
    True: record.load_task,
    False: record.load_submission,
}


@dataclass(frozen=True, slots=True)
class Opened:
    """What can be searched, and what may be told of it."""

    index: "Index"
    shelf: Shelf
    note: str = ""  # why words alone are searched, a sentence; "": as it is set


class Searching:
    """One of a daemon, or of a command; for any thread."""

    def __init__(
        self,
        repo: Repository,
        shelves: Shelves | None = None,
        models: "Models | None" = None,
        past: Past | None = None,
    ) -> None:
        self._repo = repo
        self._shelves = shelves or Shelves(repo)
        self._models = models
        self._past = past or Past()
        self._lock = threading.Lock()
        self._indexes: dict[str, Index] = {}  # by what makes their vectors
        self._told: dict[str, TaskRecord | Submission] = {}  # by record
        self._happened: tuple[dict[str, str], list[Episode]] = ({}, [])

    def open(
        self,
        objects: Objects,
        commit: str,
        settings: Settings,
        *,
        episodes: Sequence[Episode] | None = None,
        seconds: float | None = None,
    ) -> Opened:
        """Return what can be searched at a commit of the target.

        ``episodes`` None: as the records of tasks have them. After ``seconds`` the
        index may still lack some; the next call goes on.

        Raises:
            GitError, UserError: the commit or the memory's log cannot be read.
        """
        shelf = self._shelves.at(objects, commit)
        happened = self.episodes(objects) if episodes is None else episodes
        index, note = self._index(settings)
        index.follow(
            objects,
            commit,
            shelf,
            happened,
            changed=settings.memory.changed,
            seconds=seconds,
        )
        return Opened(index, shelf, note or index.note)

    def search(
        self,
        objects: Objects,
        commit: str,
        settings: Settings,
        query: str,
        *,
        kinds: Collection[str] = (),
        paths: Sequence[str] = (),
        most: int = 8,
        seconds: float = SECONDS,
    ) -> list[Hit]:
        """Return what is close to a query at a commit; see `Index.search`.

        Raises as `open`.
        """
        opened = self.open(objects, commit, settings, seconds=seconds)
        return opened.index.search(
            query, kinds=kinds, paths=paths, most=most, seconds=seconds
        )

    def episodes(self, objects: Objects) -> list[Episode]:
        """Return what happened in the attempts that have ended, newest first."""
        refs = objects.refs(TASK_RECORDS) | objects.refs(SUBMISSIONS)
        with self._lock:
            if refs != self._happened[0]:
                told = [self._record(objects, ref, oid) for ref, oid in refs.items()]
                tasks = [each for each in told if isinstance(each, TaskRecord)]
                others = [each for each in told if isinstance(each, Submission)]
                self._happened = refs, self._past.episodes(objects, tasks, others)
            return self._happened[1]

    def close(self) -> None:
        """Close what is open; what is asked next opens it again."""
        with self._lock:
            for index in self._indexes.values():
                index.close()

    def _record(
        self, objects: Objects, ref: str, oid: str
    ) -> TaskRecord | Submission | None:
        known = self._told.get(oid)
        if known is None:
            try:
                data = records.read(objects, oid)
                load = _LOADERS[ref.startswith(TASK_RECORDS)]
                known = load(data, oid)
            except (GitagentError, ValueError):  # status tells what cannot be read
                return None
            if len(self._told) >= _RECORDS:
                self._told.clear()
            self._told[oid] = known
        return known

    def _index(self, settings: Settings) -> tuple["Index", str]:
        """Return the index with the vectors that the settings name, and what is amiss.

        What cannot be had is asked for anew each time: it may have been mended.
        """
        # With SQLite, which a daemon at rest does not need.
        from gitagent.memory.index import Index  # noqa: PLC0415

        wanted = settings.memory.embeddings
        # All that a provider is asked by; another of the same name is another one.
        key = repr((wanted, settings.model.providers if wanted else ()))
        with self._lock:
            if key in self._indexes:
                return self._indexes[key], ""
            embedder, note = None, ""
            try:
                embedder = self._embedder(settings)
            except UserError as error:
                key, note = "", _sentence(error)
            if key not in self._indexes:
                while len(self._indexes) >= _OPEN:
                    self._indexes.pop(next(iter(self._indexes))).close()
                self._indexes[key] = Index(self._repo, embedder)
            return self._indexes[key], note

    def _embedder(self, settings: Settings) -> "Embedder | None":
        """Return what makes vectors. Raises UserError where it cannot be had."""
        wanted = settings.memory.embeddings
        if not wanted:
            return None
        from gitagent.memory.dense import LOCAL, Local  # noqa: PLC0415 - as above

        if wanted == LOCAL:
            return Local()
        ref = resolve(wanted, settings.model)
        if isinstance(ref, str):
            raise UserError(f"no vectors: {ref.rstrip('.')}", "see memory.embeddings")
        if settings.model.providers[ref.provider].kind != "openai":
            raise UserError(
                f"no vectors: the provider {ref.provider} has none",
                'name one of kind "openai" in memory.embeddings',
            )
        from gitagent.model.embedding import ACCOUNT, Embedding  # noqa: PLC0415 - rare
        from gitagent.worker.models import Models  # noqa: PLC0415 - rare

        if self._models is None:
            self._models = Models(self._repo)
        return Embedding(
            ref,
            settings.model,
            limits(settings.budget.day),
            upstream=self._models.upstream,
            ledger=self._models.ledger,
            journal=self._models.journal(ACCOUNT, "", ()),
        )


def of_target(repo: Repository, objects: Objects) -> tuple[str, Settings]:
    """Return the commit of the target, and its settings.

    Raises:
        UserError: there is no target, or no settings that can be read.
    """
    _, commit = find_target(repo, objects)
    settings, _, problem = SettingsInForce().at(objects, commit)
    if settings is None:
        raise UserError(problem or "the target has no settings")
    return commit, settings


def _sentence(error: UserError) -> str:
    line = error.line()
    return f"{line[:1].upper()}{line[1:]}. Words alone are searched."
