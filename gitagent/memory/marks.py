"""What Git says of items beyond their files, told anew for each commit of the target.

Nothing of it is stored. What was found for one commit is kept for the next, so that
after a landing only what it touched is looked at again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from gitagent.core.candidate import PathChange
from gitagent.core.memory import COUNTS, From, Item, Mark, Marks, Source
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.memory.drift import Drift
from gitagent.memory.ledger import Ledger
from gitagent.memory.provenance import Provenance
from gitagent.memory.reverts import Reverts

_REPOSITORIES: Final = 16  # of one process that are remembered
_ORDER: Final = {mark: n for n, mark in enumerate(Marks)}
_KINDS: Final = {
    From.RECEIPT: ("blob", "receipt"),
    From.LANDING: ("commit", "landing"),
    From.DECISION: ("commit", "record"),
}

_lock = Lock()
_known: dict[Path, "Marker"] = {}


def marks(
    repo: Repository, objects: Objects, commit: str, items: Mapping[str, Item]
) -> dict[str, tuple[Mark, ...]]:
    """Return the marks of the items that count, by slug, as they are at ``commit``.

    Those that have none are left out. For any thread; what was looked up for one
    commit is remembered for the next.

    Raises:
        GitError: Git cannot be read.
    """
    with _lock:
        marker = _known.pop(repo.common_dir, None) or Marker(repo)
        _known[repo.common_dir] = marker
        while len(_known) > _REPOSITORIES:
            _known.pop(next(iter(_known)))
    return marker.at(objects, commit, items)


class Marker:
    """The marks of one repository. For any thread."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._lock = Lock()
        self._state = _State()

    def at(
        self, objects: Objects, commit: str, items: Mapping[str, Item]
    ) -> dict[str, tuple[Mark, ...]]:
        """Return what `marks` does."""
        with self._lock:
            state, self._state = self._state, _State()  # in case that this is cut short
            state.renew(objects, commit, items)
            found: dict[str, set[Mark]] = {}
            for slug, mark in state.told(self._repo, objects, commit, items):
                found.setdefault(slug, set()).add(mark)
            self._state = state
        return {slug: tuple(sorted(some, key=_rank)) for slug, some in found.items()}


def _rank(mark: Mark) -> tuple[int, str]:
    return _ORDER[mark.mark], mark.at


@dataclass(frozen=True, slots=True)
class _Own:
    """What was found of one item by itself."""

    item: Item
    gone: tuple[Source, ...]  # lines that stand no more
    missing: tuple[str, ...]  # why sources do not resolve
    paths: frozenset[str]  # whose change can change that
    blobs: frozenset[str]  # whose coming back can
    commits: frozenset[str]  # that make it suspect, when they are rolled back
    received: frozenset[str]  # slugs that its work was given


class _Index:
    """Slugs by what they depend on."""

    def __init__(self) -> None:
        self._slugs: dict[str, set[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._slugs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._slugs)

    def of(self, key: str) -> Iterable[str]:
        return self._slugs.get(key, ())

    def add(self, slug: str, keys: Iterable[str]) -> None:
        for key in keys:
            self._slugs.setdefault(key, set()).add(slug)

    def drop(self, slug: str, keys: Iterable[str]) -> None:
        for key in keys:
            left = self._slugs[key]
            left.discard(slug)
            if not left:
                del self._slugs[key]


class _State:
    """What is known of one repository's items, as of one commit of the target."""

    def __init__(self) -> None:
        self.drift = Drift()
        self.reverts = Reverts()
        self.provenance = Provenance()
        self.own: dict[str, _Own] = {}
        self.odd: set[str] = set()  # slugs of items with lines gone or sources missing
        self.paths = _Index()
        self.blobs = _Index()
        self.commits = _Index()
        self.received = _Index()

    def renew(self, objects: Objects, commit: str, items: Mapping[str, Item]) -> None:
        """Look again at what the way from the last commit to this one has touched."""
        touched = self._touched(self.drift.move(objects, commit))
        ledger = self.provenance.begin(objects)
        for slug in [x for x in self.own if not _counts(items.get(x))]:
            self._forget(slug)
        for slug, item in items.items():
            old = self.own.get(slug)
            if old is not None:
                same = old.item is item or (item.blob and old.item.blob == item.blob)
                if same and slug not in touched:
                    continue
                self._forget(slug)
            if _counts(item):
                self._learn(slug, self._look(objects, ledger, item))

    def _touched(self, changes: tuple[PathChange, ...] | None) -> set[str]:
        if changes is None:
            return set(self.own)
        touched = {x for x in self.odd if self.own[x].missing}
        for change in changes:
            touched.update(self.paths.of(change.path), self.blobs.of(change.new_blob))
        return touched

    def _look(self, objects: Objects, ledger: Ledger, item: Item) -> _Own:
        gone: list[Source] = []
        missing: list[str] = []
        paths: set[str] = set()
        blobs: set[str] = set()
        for source in item.sources:
            if source.kind is not From.LINES:
                kind, name = _KINDS[source.kind]
                if objects.kind(source.oid) != kind:
                    missing.append(f"{name} {source.oid[:12]} is not here")
                continue
            stand = self.drift.stand(objects, source)
            if stand.problem:
                missing.append(stand.problem)
                continue
            paths.add(source.name)
            if stand.path:
                paths.add(stand.path)
                self.drift.back(source)
            else:
                gone.append(source)
                blobs.add(stand.blob)
        return _Own(
            item=item,
            gone=tuple(gone),
            missing=tuple(missing),
            paths=frozenset(paths),
            blobs=frozenset(blobs),
            commits=self.provenance.commits(ledger, item),
            received=self.provenance.received(ledger, item),
        )

    def _learn(self, slug: str, own: _Own) -> None:
        self.own[slug] = own
        if own.gone or own.missing:
            self.odd.add(slug)
        self.paths.add(slug, own.paths)
        self.blobs.add(slug, own.blobs)
        self.commits.add(slug, own.commits)
        self.received.add(slug, own.received)

    def _forget(self, slug: str) -> None:
        own = self.own.pop(slug)
        self.odd.discard(slug)
        self.paths.drop(slug, own.paths)
        self.blobs.drop(slug, own.blobs)
        self.commits.drop(slug, own.commits)
        self.received.drop(slug, own.received)

    def told(
        self, repo: Repository, objects: Objects, commit: str, items: Mapping[str, Item]
    ) -> Iterator[tuple[str, Mark]]:
        """Yield every mark with its slug; some of them twice."""
        gone = [source for slug in self.odd for source in self.own[slug].gone]
        taken = self.drift.taken(repo, objects, gone)
        for slug in self.odd:
            own = self.own[slug]
            yield from ((slug, Mark(Marks.CHANGED, taken[x])) for x in own.gone)
            yield from ((slug, Mark(Marks.UNVERIFIED, x)) for x in own.missing)
        if self.commits:
            for oid, by in self.reverts.at(repo, objects, commit).items():
                yield from ((x, Mark(Marks.SUSPECT, by)) for x in self.commits.of(oid))
        for slug in self.received:
            if slug in items and not _counts(items[slug]):
                for heir in self._heirs(slug):
                    yield heir, Mark(Marks.DERIVED, slug)

    def _heirs(self, slug: str) -> set[str]:
        """Return what came of an item, and what came of that.

        What stands in its place does not depend on it.
        """
        found: set[str] = set()
        todo = [slug]
        while todo:
            top = todo.pop()
            for heir in self.received.of(top):
                replaced = top in self.own[heir].item.supersedes
                if heir not in found and heir != slug and not replaced:
                    found.add(heir)
                    todo.append(heir)
        return found


def _counts(item: Item | None) -> bool:
    return item is not None and item.status in COUNTS
