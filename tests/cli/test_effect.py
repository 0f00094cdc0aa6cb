"""gitagent memory effect: from records, archived ones too, and from receipts alone."""

import pytest

from gitagent.core.coin import toss
from gitagent.core.exposure import Exposure
from gitagent.core.memory import From, Item, Kind, Source
from gitagent.files import memoryfile
from tests.support.cli import call
from tests.support.repos import Repo
from tests.support.taught import archived, failed, landed

RATE = 0.5
SOURCE = Source(From.LINES, "c" * 40, "README.md", 1, 1, "# a repository")
ITEM = Item("it", Kind.FACT, "It is one.", "2026-01-01T00:00:00Z", sources=(SOURCE,))

RECALLED = [f"t{n}" for n in range(40) if toss(f"t{n}", ["it"], RATE) == (True, ())]
SPARED = [f"t{n}" for n in range(40) if toss(f"t{n}", ["it"], RATE) == (True, ("it",))]
BARE = [f"t{n}" for n in range(40) if not toss(f"t{n}", ["it"], RATE)[0]]


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({".agent/memory/it.md": memoryfile.dump(ITEM).decode()})
    call(repo, "init", "--no-check")


def told(repo: Repo, *args: str) -> dict:
    return call(repo, "memory", "effect", "--json", *args).json


def test_without_tasks_nothing_can_be_told(repo):
    answer = call(repo, "memory", "effect")

    assert 0 == answer.code
    assert answer.out.startswith("Nothing can be told yet")
    assert (0, None) == (told(repo)["tasks"], told(repo)["needed"]["20"])


def test_tasks_are_compared_as_their_coin_says_and_receipts_alone_count(repo):
    kept = landed(repo, RECALLED[0], Exposure(rate=RATE))
    landed(repo, RECALLED[1], Exposure(rate=RATE), receipt="refs/gitagent/receipts/x:y")
    failed(repo, SPARED[0], Exposure(rate=RATE, withheld=("it",)))
    failed(repo, BARE[0], Exposure(rate=RATE, recalled=False))
    failed(repo, BARE[1], Exposure(rate=RATE))
    failed(repo, "other", Exposure())
    archived(repo, RECALLED[0], kept.id)
    found = told(repo)
    recall = found["recall"]
    (item,) = found["items"]

    assert (4, RATE) == (found["tasks"], found["rate"])
    assert (3, 1) == (recall["given"]["tasks"], recall["given"]["first_tries"])
    assert (1, 0) == (recall["withheld"]["tasks"], recall["withheld"]["first_tries"])
    assert ("it", 2, 1) == (
        item["slug"],
        item["given"]["tasks"],
        item["withheld"]["tasks"],
    )
    assert "unknown" == recall["verdict"]
    assert recall["difference"]["first_tries"]["low"] < 0
    assert {
        "no coin was tossed for them": 1,
        "their record says other than their coin": 1,
    } == found["not_compared"]


def test_people_read_a_sentence_a_table_and_what_is_needed(repo):
    landed(repo, RECALLED[0], Exposure(rate=RATE))
    failed(repo, SPARED[0], Exposure(rate=RATE, withheld=("it",)))
    failed(repo, BARE[0], Exposure(rate=RATE, recalled=False))
    answer = call(repo, "memory", "effect")
    one = call(repo, "memory", "effect", "--item", "it")

    assert answer.lines[0].startswith("No effect of recall can be told yet, of 3 tasks")
    assert "1 (50 %)" in answer.out
    assert "346 find 20 points, and 1,345 find 10" in answer.lines[0]
    assert one.lines[0].startswith("No effect of it can be told yet, of 2 tasks")
    assert told(repo, "--item", "it")["recall"] is None


def test_an_item_that_hurts_is_named_with_its_figures(repo, monkeypatch):
    # So that a handful of tasks is enough.
    monkeypatch.setattr("gitagent.core.uplift.SURE", 0.2)
    for name in RECALLED[:3]:
        failed(repo, name, Exposure(rate=RATE))
    for name in SPARED[:3]:
        landed(repo, name, Exposure(rate=RATE, withheld=("it",)))
    (against,) = told(repo)["withdraw"]
    answer = call(repo, "memory", "effect")
    one = call(repo, "memory", "effect", "--item", "it")

    assert one.lines[0].startswith("it hurts: -100 points")
    assert "tasks find a difference of 20 points in four of five cases" in one.out
    assert ("it", "hurts", 6) == (
        against["slug"],
        against["kind"],
        len(against["evidence"]),
    )
    assert "it: It hurts: 0 of 3 tasks that were given it" in answer.out


def test_since_leaves_out_what_began_before(repo):
    failed(repo, BARE[0], Exposure(rate=RATE, recalled=False))

    assert 0 == told(repo, "--since", "2999-01-01")["tasks"]
    assert 1 == told(repo, "--since", "2020-01-01")["tasks"]


def test_a_date_that_is_none_and_an_item_without_a_coin_are_refused(repo):
    wrong = call(repo, "memory", "effect", "--since", "yesterday")
    nobody = call(repo, "memory", "effect", "--item", "no-such")

    assert (2, 1) == (wrong.code, nobody.code)
    assert "2026-11-01" in wrong.err
    assert "gitagent memory list" in nobody.err
