"""Index and shelf of a commit, with the vectors that the settings name."""

from dataclasses import replace

import pytest

from gitagent.core.settings import Memory, Model, Provider, Settings
from gitagent.daemon import searching
from gitagent.daemon.searching import Searching
from gitagent.git.repository import discover
from gitagent.memory import dense
from gitagent.model.embedding import ACCOUNT, Embedding
from tests.support.repos import Repo


def settings(embeddings: str, kind: str = "openai") -> Settings:
    near = Provider(kind=kind, base_url="http://127.0.0.1:1/v1")
    model = Model(default="near:chat", providers={"near": near})
    return Settings(model=model, memory=Memory(embeddings=embeddings))


def opened(repo: Repo, given: Settings) -> tuple[Searching, searching.Opened]:
    found = discover(repo.path)
    made = Searching(found)
    with found.objects() as objects:
        return made, made.open(objects, repo.head(), given)


def test_what_a_commit_holds_is_found(repo: Repo):
    commit = repo.commit({"docs/a.md": "# Pasta\n"})
    found = discover(repo.path)
    with found.objects() as objects:
        (hit,) = Searching(found).search(objects, commit, Settings(), "pasta")

    assert ("document", "docs/a.md") == (hit.kind, hit.name)


def test_without_the_extra_words_alone_are_searched_and_the_mend_is_told(
    repo: Repo, monkeypatch
):
    monkeypatch.setattr(dense, "find_spec", lambda _: None)
    _, found = opened(repo, settings("local"))

    assert (
        'No vectors: memory.embeddings is "local", and its package is missing; install'
        " gitagent with its extra `embeddings`, or take the setting out. Words alone"
        " are searched."
    ) == found.note
    assert "a repository" in found.index.search("repository")[0].text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (settings("far:small"), "There is no provider far for the model far:small"),
        (settings("near:small", "anthropic"), "the provider near has none; name"),
    ],
)
def test_a_provider_that_cannot_give_vectors_is_named(repo: Repo, given, said):
    _, found = opened(repo, given)

    assert said in found.note


def test_a_provider_that_cannot_be_reached_leaves_the_words_and_a_record(repo: Repo):
    made, found = opened(repo, settings("near:small"))

    assert "The provider near cannot be reached: " in found.note
    assert "a repository" in found.index.search("repository")[0].text
    assert isinstance(found.index._vectors._embedder, Embedding)
    assert repo.ref(f"refs/gitagent/exchanges/{ACCOUNT}")
    assert found.index is opened_again(made, repo).index


def opened_again(made: Searching, repo: Repo) -> searching.Opened:
    with discover(repo.path).objects() as objects:
        return made.open(objects, repo.head(), settings("near:small"))


def test_another_setting_has_another_index(repo: Repo):
    found = discover(repo.path)
    made = Searching(found)
    first = settings("")
    with found.objects() as objects:
        one = made.open(objects, repo.head(), first).index
        same = made.open(objects, repo.head(), replace(first, target="x")).index
        other = made.open(objects, repo.head(), settings("near:small")).index
    made.close()

    assert one is same
    assert one is not other
