"""The search of a repository, scored against its labelled set."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitagent.core.scoring import Judged, Scores, scores
from gitagent.daemon.searching import Searching, of_target
from gitagent.errors import UserError
from gitagent.files import clean, labels
from gitagent.git.repository import Repository
from gitagent.memory.index import Index

_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Scored:
    """The figures, and what they are held against."""

    scores: Scores
    gates: Mapping[str, float]
    k: int
    floor: float
    vectors: str  # what is searched by, in words
    missed: tuple[tuple[str, tuple[str, ...]], ...]  # query, and what it did not find
    note: str = ""  # why words alone were searched, though the settings say otherwise

    @property
    def failed(self) -> list[str]:
        """The figures below their gates, in words."""
        found = []
        for name, least in self.gates.items():
            value = getattr(self.scores, name).value
            if value is None:
                found.append(f"{name} has nothing to be told from")
            elif value < least:
                found.append(f"{name} {value:.3f} < {least:g}")
        return found


def score(repo: Repository, given: tuple[str, bytes] | None = None) -> Scored:
    """Score the search at the target; ``given`` is a set's path and content.

    Raises:
        ConfigError: the set is none.
        UserError: there is no set, no target or no settings.
    """
    with repo.objects() as objects:
        commit, settings = of_target(repo, objects)
        if given is None:
            path = settings.memory.labels
            (data,) = objects.blobs_at([(commit, path)])
            if data is None:
                raise UserError(
                    f"there is no labelled set at {clean.sentence(path, 200)}",
                    "commit one, or name one with --file; see: gitagent memory eval -h",
                )
            given = path, data
        wanted = labels.parse(given[1], clean.sentence(given[0], 200))
        opened = Searching(repo).open(objects, commit, settings, seconds=_PATIENCE_S)
        floor = settings.memory.floor
        judged = answers(opened.index, wanted, floor)
        note = opened.note or opened.index.note
    by = settings.memory.embeddings
    return Scored(
        scores(judged),
        wanted.gates,
        wanted.k,
        floor,
        f"words and vectors of {by}" if by and not note else "words alone",
        tuple(
            (query.text, tuple(name for name in query.wanted if name not in each.found))
            for query, each in zip(wanted.queries, judged, strict=True)
            if each.right < len(each.wanted)
        ),
        note,
    )


def answers(index: Index, wanted: labels.Labels, floor: float) -> list[Judged]:
    """Return what each query of a set finds, as far as recall would tell it."""
    found = []
    for query in wanted.queries:
        hits = index.search(
            query.text, kinds=query.kinds, paths=query.paths, most=wanted.k
        )
        names = tuple(hit.name for hit in hits if hit.score >= floor)
        found.append(Judged(frozenset(query.wanted), names))
    return found
