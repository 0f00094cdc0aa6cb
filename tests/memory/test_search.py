"""What a search finds, and that nothing in a query or in the texts breaks it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.memory import Mark, Marks, Status
from gitagent.core.settings import Changed
from gitagent.memory.search import Hit
from tests.support.repos import Repo
from tests.support.search import Bag, Library, item, note, note_path

LOCKS = item("locks", "Locks are taken in order of path.", path="src/lock.py")
RENAMES = item("renames", "A renamed folder merges as `walk_changes` says.")
GUIDE = "# Guide\n\nHello.\n\n## Cooking pasta\n\nBoil\nthe water.\n"
BUDGET = item("budget", "What a request can cost is reserved first.", "Nothing else.")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("search")
    repo = Repo.make(folder / "repo", files={"README.md": ""})
    with pytest.MonkeyPatch.context() as patch:  # its index is kept over tests
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        made = Library.make(repo, LOCKS, RENAMES, BUDGET)
    made.write(
        {
            note_path("s-1"): note(
                "s-1", "Retry the push", "It was locked.", "src/p.py"
            ),
            "docs/guide.md": GUIDE,
            "docs/文書.md": "# 検索\n\n索引は鍵の順に作られる。\n",
            "src/code.py": "cooking = 1\n",
        }
    )
    assert made.follow()
    return made


def found(library: Library, query: str, **more: object) -> list[str]:
    return [hit.name for hit in library.index.search(query, **more)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("order of locking", "locks"),
        ("LOCKED PATHS", "locks"),
        ("walk_changes", "renames"),
        ("walkChanges", "renames"),
        ("changes", "renames"),
        ("reserving requests", "budget"),
        ("retry pushes", "s-1"),
        ("src/p.py", "s-1"),
        ("how do I cook pasta?", "docs/guide.md"),
        ("索引", "docs/文書.md"),
        ("pásta", "docs/guide.md"),
    ],
)
def test_a_query_finds_what_says_so_in_any_form(
    library: Library, query: str, first: str
):
    assert first == found(library, query)[0]


def test_an_item_is_told_in_the_line_in_which_it_is_told_everywhere(library: Library):
    (hit,) = library.index.search("reserved cost", kinds=["item"])

    assert hit.text == (
        f"[budget@{BUDGET.blob[:12]} · fact · landing s-000000000000 · 2026-02-03"
        " · active] What a request can cost is reserved first."
    )
    assert ("item", ".agent/memory/budget.md", BUDGET.blob) == (
        hit.kind,
        hit.path,
        hit.blob,
    )


def test_of_a_document_whole_lines_are_told_with_their_place(library: Library):
    (hit,) = library.index.search("boil water", kinds=["document"])

    expected = ("docs/guide.md", "## Cooking pasta\n\nBoil\nthe water.", 5)
    assert expected == (hit.name, hit.text, hit.first)


def test_a_landing_has_its_submission_and_its_date(library: Library):
    (hit,) = library.index.search("retry push", kinds=["landing"])

    assert ("s-1", "2026-02-03T04:05:06Z") == (hit.name, hit.at)


def test_only_what_is_asked_for_is_searched(library: Library):
    every = {hit.kind for hit in library.index.search("locked order path")}

    assert {"item", "landing"} == every
    assert ["s-1"] == found(library, "locked order path", kinds=["landing"])
    assert 1 == len(found(library, "locked order path", most=1))
    assert [] == found(library, "locked", kinds=["nothing"])
    assert [] == found(library, "locked", most=0)


def test_code_is_not_searched(library: Library):
    assert "src/code.py" not in found(library, "cooking", most=50)


def test_what_is_about_the_paths_comes_first(library: Library):
    plain = found(library, "locked")
    lock = found(library, "locked", paths=["src/lock.py"])
    push = found(library, "locked", paths=["src/p*"])

    assert {"locks", "s-1"} == set(plain)
    assert ["locks", "s-1"] == lock
    assert ["s-1", "locks"] == push


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   \n",
        '"',
        "'",
        '"locks" AND ("path" OR NOT NEAR(',
        "title : locks ^ * - +",
        "a\0b\ud800\udc80",
        "the of and",
        "-- ; DROP TABLE word",
        "lock " * 2000,
        "x" * 10_000,
        " ".join(f"word{n}" for n in range(2000)),
    ],
)
def test_no_query_is_an_error(library: Library, query: str):
    assert isinstance(found(library, query), list)


@given(st.text(max_size=60))
def test_no_text_is_an_error(library: Library, query: str):
    scores = [hit.score for hit in library.index.search(query)]

    assert all(0 <= score <= 1 for score in scores)


def test_a_score_says_how_much_of_a_query_is_answered(library: Library):
    def score(query: str) -> float:
        return {h.name: h.score for h in library.index.search(query)}["locks"]

    exact, part = (
        score("locks taken in order of path"),
        score("locks and cats and dogs"),
    )

    assert exact > 0.75
    assert part < 0.3
    assert 0.7 < score("Something long. " * 30 + LOCKS.line + " And more text." * 30)


def test_with_no_time_there_is_no_answer_and_no_error(library: Library):
    assert [] == library.index.search("locks", seconds=0)


def test_a_disputed_item_says_so_and_a_mark_is_told(repo: Repo):
    one = item("one", "Tabs are four wide.", status=Status.DISPUTED, disputes=("two",))
    two = item("two", "Tabs are eight wide.", status=Status.DISPUTED, disputes=("one",))
    library = Library.make(repo, one, two)
    library.marks = {"two": (Mark(Marks.CHANGED, "c" * 40),)}

    told = {hit.name: hit.text for hit in library.search("how wide are tabs")}

    assert "· disputed with two]" in told["one"]
    assert "· disputed with one · evidence changed at cccccccccccc]" in told["two"]


@pytest.mark.parametrize("status", [Status.WITHDRAWN, Status.SUPERSEDED])
def test_what_does_not_count_is_not_found(repo: Repo, status: Status):
    library = Library.make(repo, LOCKS)
    before = library.names("locks", kinds=["item"])

    library.items = [item("locks", LOCKS.line, status=status, because="No.")]

    assert (["locks"], []) == (before, library.names("locks", kinds=["item"]))


def test_what_is_hidden_by_setting_is_not_found(repo: Repo):
    library = Library.make(repo, LOCKS)
    library.marks = {"locks": (Mark(Marks.CHANGED, "c" * 40),)}
    marked = library.names("locks", kinds=["item"])

    library.follow(changed=Changed.HIDE)

    assert ["locks"] == marked
    assert [] == library.index.search("locks", kinds=["item"])


def test_what_is_unverified_is_not_found(repo: Repo):
    library = Library.make(repo, LOCKS)
    library.marks = {"locks": (Mark(Marks.UNVERIFIED, "c" * 40),)}

    assert [] == library.names("locks", kinds=["item"])


def test_vectors_find_what_is_said_in_other_words(repo: Repo):
    bag = Bag({"lock", "mutex"}, {"cost", "price"}, {"fold", "directory"})
    library = Library.make(repo, LOCKS, RENAMES, BUDGET, embedder=bag)

    (hit, *_) = library.search("mutex", kinds=["item"])

    assert "locks" == hit.name
    assert hit.score > 0.9
    assert [] == Library.make(repo, LOCKS, RENAMES, BUDGET).names(
        "mutex", kinds=["item"]
    )


def test_a_vector_is_made_once(repo: Repo):
    bag = Bag({"lock"})
    Library.make(repo, LOCKS, BUDGET, embedder=bag).search("locks")
    made = len(bag.asked)

    again = Library.make(repo, LOCKS, BUDGET, embedder=bag)
    again.search("locks")
    again.search("locks")

    assert 1 == len(bag.asked) - made
    assert made == len(set(bag.asked))


def test_without_vectors_words_are_searched_and_the_reason_is_told(repo: Repo):
    bag = Bag({"lock", "mutex"})
    bag.broken = "The provider is asleep."
    library = Library.make(repo, LOCKS, embedder=bag)

    hits: list[Hit] = library.search("order of locks", kinds=["item"])

    assert ["locks"] == [hit.name for hit in hits]
    assert "The provider is asleep." == library.index.note
