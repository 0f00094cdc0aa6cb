"""The labelled set: how well the search does, with the figures printed."""

import sys

from gitagent.core.scoring import FIGURES, Scores, scores
from gitagent.core.settings import Memory
from gitagent.daemon.scoring import answers
from gitagent.files.labels import parse
from gitagent.memory.dense import Local
from tests.support.repos import Repo
from tests.support.search import LABELLED, labelled

SET = parse((LABELLED / "recall.toml").read_bytes(), "recall.toml")


def figures(repo: Repo, embedder=None) -> Scores:
    library = labelled(repo, embedder)
    assert library.follow()
    return scores(answers(library.index, SET, Memory().floor))


def show(what: str, found: Scores) -> None:
    lines = [f"{what}: {found.queries} queries, {found.empty} for nothing"]
    for name in FIGURES:
        each = getattr(found, name)
        interval = f"[{each.low:.3f}, {each.high:.3f}]"
        lines.append(f"  {name:<9} {each.value:.3f} {interval} n {each.n}")
    sys.stdout.write("\n".join(lines) + "\n")


def below(found: Scores) -> dict[str, float]:
    values = {name: getattr(found, name).value for name in SET.gates}
    return {name: v for name, v in values.items() if v < SET.gates[name]}


def test_words_alone_find_what_people_say_they_should(repo: Repo):
    found = figures(repo)

    show("words", found)
    assert {} == below(found)


def test_vectors_add_to_what_words_find(repo: Repo):
    words = figures(repo)

    both = figures(repo, Local())

    show("words and vectors", both)
    assert {} == below(both)
    assert both.recall.value > words.recall.value
