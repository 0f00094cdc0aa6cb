"""What of the memory's folder counts, however it came there."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.core.candidate import Remembered
from gitagent.core.exposure import Received, Way
from gitagent.core.layout import MEMORY, OPERATIONS
from gitagent.core.remembering import Filed, Ruling
from gitagent.core.settings import Lander, Strategy
from gitagent.daemon.memory import change
from gitagent.errors import UserError
from gitagent.files import memoryfile
from gitagent.files.message import annotated
from gitagent.git import rulings
from gitagent.git.repository import discover
from gitagent.lander.audit import Audit
from gitagent.lander.land import Landed
from gitagent.memory.shelf import Shelves
from tests.support.memory import FACTS, MAIN, Writer, add, withdraw, writing

SUMS = ".agent/memory/sums.md"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "repo"


@pytest.fixture
def writer(template: Path, tmp_path: Path) -> Iterator[Writer]:
    with writing(template, tmp_path / "repo") as made:
        yield made


def edited(writer: Writer, line: str = "Two and two are FOUR.") -> str:
    """Return the text of an item that a person has edited."""
    return writer.file("sums").replace("Two and two are four.", line, 1)


def direct(writer: Writer) -> tuple[str, ...]:
    made = writer.bench
    return Audit(made.repository).direct(made.objects, made.target, {})


def test_a_target_without_a_memory_has_an_empty_shelf(writer: Writer):
    shelf = writer.shelf

    assert ("", {}, (), []) == (shelf.tree, shelf.items, shelf.refused, shelf.told())


@pytest.mark.parametrize("key", ["", "memory", "done"])
def test_what_a_direct_commit_put_there_is_refused_with_the_mend(writer: Writer, key):
    writer.ask(add("sums"))
    text = writer.file("sums")
    ours = [("Gitagent-Record", key)] if key else []
    files = {".agent/memory/copy.md": text}
    commit = writer.bench.repo.commit_at(MAIN, files, annotated("Add copy\n\nx", ours))
    (reason,) = writer.refused.values()

    assert {"sums": "active"} == writer.statuses
    assert reason.startswith(".agent/memory/copy.md: a commit put it there past")
    assert "`gitagent memory withdraw copy` takes it away" in reason
    assert commit in direct(writer)


def test_a_direct_edit_of_an_item_takes_it_off_the_shelf_until_reverted(
    writer: Writer,
):
    writer.ask(add("sums"))
    was = writer.file("sums")
    writer.bench.repo.commit({SUMS: edited(writer)})

    assert ({}, [SUMS]) == (writer.statuses, list(writer.refused))
    writer.bench.repo.commit({SUMS: was})
    assert {"sums": "active"} == writer.statuses


def test_a_direct_revert_brings_nothing_back_that_was_withdrawn(writer: Writer):
    writer.ask(add("sums"))
    was = writer.file("sums")
    writer.ask(withdraw("sums"))
    writer.bench.repo.commit({SUMS: was})

    assert ({}, [SUMS]) == (writer.statuses, list(writer.refused))


def test_a_ruling_whose_commit_never_came_to_the_target_admits_nothing(
    writer: Writer,
):
    ruling = writer.ask(add("sums"), submit=True)
    text = writer.bench.repo.read(SUMS, ruling.commit)
    writer.bench.repo.commit({SUMS: text})

    assert ({}, [SUMS]) == (writer.statuses, list(writer.refused))


def test_the_executor_takes_away_or_replaces_what_is_no_item(writer: Writer):
    for name in ("one", "two"):
        writer.bench.repo.commit({f".agent/memory/{name}.md": "# By hand\n"})
    ruled = writer.one(withdraw("one"))
    writer.ask(add("two"))

    assert "Its file, which was no item, is taken away." == ruled.reason
    assert [".agent/memory/two.md"] == writer.bench.repo.paths(MAIN, ".agent/memory")
    assert ({"two": "active"}, {}) == (writer.statuses, writer.refused)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".agent/memory/x.md@", "a symbolic link"),
        (".agent/memory/x.md*", "executable"),
        (".agent/memory/x.md/y.md", "a folder"),
        (".agent/memory/x.txt", "no item"),
    ],
)
def test_what_no_item_can_be_is_named(writer: Writer, path: str, said: str):
    writer.bench.repo.commit_at(MAIN, {path: "target"})
    (reason,) = writer.refused.values()

    assert f"it is {said}, and only regular .md files belong here" in reason


def test_a_file_where_the_folder_is_to_be_is_named(writer: Writer):
    writer.bench.repo.commit_at(MAIN, {".agent/memory@": "elsewhere"})

    assert {".agent/memory": ".agent/memory: it has to be a folder"} == writer.refused


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".agent/memory@", ".agent/memory is a file, and has to be a folder"),
        (
            ".agent/memory/sums.md/y.md",
            ".agent/memory/sums.md is a folder, and has to be a file",
        ),
    ],
)
def test_what_stands_in_the_way_of_an_item_is_named(writer: Writer, path, said):
    writer.bench.repo.commit_at(MAIN, {path: "x"})
    writer.bench.repo.git("reset", "-q", "--hard")
    before = writer.bench.target
    with pytest.raises(UserError, match=said):
        writer.ask(add("sums"))

    assert before == writer.bench.target


def test_the_executor_takes_a_folder_away_that_has_the_name_of_an_item(writer: Writer):
    writer.bench.repo.commit_at(MAIN, {".agent/memory/sums.md/y.md": "x"})
    writer.bench.repo.git("reset", "-q", "--hard")
    writer.ask(withdraw("sums"))
    writer.ask(add("sums"))

    assert ({"sums": "active"}, {}) == (writer.statuses, writer.refused)


def test_a_landed_hand_edit_is_admitted(writer: Writer):
    writer.ask(add("sums"))
    tip = writer.bench.offer({SUMS: edited(writer)})
    result = writer.bench.land(tip)
    assert isinstance(result, Landed)
    *_, ruling = rulings.read_all(writer.bench.objects)

    assert "Two and two are FOUR." == writer.shelf.items["sums"].line
    assert {} == writer.refused
    assert (result.commit, "", ()) == (ruling.commit, ruling.task, ruling.ruled)


@pytest.mark.parametrize("strategy", list(Strategy))
def test_what_the_executor_submits_counts_however_it_lands(writer: Writer, strategy):
    lander = Lander(strategy=strategy)
    writer.bench.settings = replace(writer.bench.settings, lander=lander)
    ruling = writer.ask(add("sums"), submit=True)
    writer.bench.repo.commit({"other.txt": "x\n"})
    writer.bench.land(ruling.commit)

    assert ({"sums": "active"}, {}) == (writer.statuses, writer.refused)


def test_a_candidate_says_what_it_makes_of_the_memory(writer: Writer):
    writer.ask(add("sums"))
    files = {
        SUMS: None,
        ".agent/memory/a.md": edited(writer),
        ".agent/memory/b.md": writer.file("sums").replace('"fact"', '"hunch"'),
        ".agent/memory/deep/c.md": "x",
    }
    made = writer.bench
    candidate = made.prepare(made.submit(made.offer(files)))
    product = made.prepare(made.submit(made.offer({"c.txt": "x\n"}, branch="other")))

    kind = 'kind is the text "hunch", expected decision or fact or lesson'
    problems = (
        f'.agent/memory/b.md:2: {kind}; write kind = "decision".',
        f".agent/memory/deep/c.md is no place for an item: that is {MEMORY}NAME.md.",
    )

    assert candidate.memory == Remembered(before=1, count=1, problems=problems)
    assert product.memory is None


def test_what_came_past_every_door_takes_up_no_room(writer: Writer):
    writer.ask(add("sums"))
    text = writer.file("sums")
    made = writer.bench
    made.repo.commit({f".agent/memory/x{n}.md": text for n in range(3)})
    tip = made.offer({".agent/memory/y.md": text})
    candidate = made.prepare(made.submit(tip))

    assert candidate.memory == Remembered(before=1, count=2)


def test_what_was_merged_line_by_line_is_told_from_what_was_examined(writer: Writer):
    writer.ask(add("sums", body="One.\nTwo.\nThree.\nFour.\nFive."))
    made = writer.bench
    text = writer.file("sums")
    tip = made.offer({SUMS: text.replace("Five.", "5.")})
    made.repo.commit({SUMS: text.replace("four", "FOUR", 1)})
    candidate = made.prepare(made.submit(tip))

    assert candidate.memory is not None
    assert (SUMS,) == candidate.memory.mixed


def test_ten_thousand_planted_files_are_refused_and_hold_nothing_up(writer: Writer):
    writer.ask(add("sums"))
    text = writer.file("sums")
    files = {f".agent/memory/x{n}.md": text for n in range(10_000)}
    writer.bench.repo.commit_at(MAIN, files)
    ruled = writer.one(add("wet", "Water is wet.", sources=(f"main:{FACTS}:3-3",)))

    assert ruled.admitted
    assert {"sums": "active", "wet": "active"} == writer.statuses
    assert 10_000 == len(writer.shelf.refused)


def test_a_newer_log_is_named_and_a_rewound_target_is_read_anew(writer: Writer):
    writer.ask(add("sums"))
    before = writer.bench.repo.oid("main~1")
    with_item = writer.bench.target

    assert ["sums"] == list(writer.shelf.items)
    writer.bench.repo.git("reset", "-q", "--hard", before)
    assert {} == writer.statuses
    writer.bench.repo.git("reset", "-q", "--hard", with_item)
    assert ["sums"] == list(writer.shelf.items)


def test_without_its_log_nothing_counts(writer: Writer):
    writer.ask(add("sums"))
    writer.bench.repo.git("update-ref", "-d", OPERATIONS)

    assert ({}, [SUMS]) == (writer.statuses, list(writer.refused))


def test_of_a_log_that_others_write_to_nothing_is_lost(writer: Writer):
    made = writer.bench
    one = Ruling("2026-12-01T12:00:00Z", "Ada", files=(Filed("a", "b" * 40),))
    for _ in range(3):
        rulings.append(made.repository, made.objects, one)
    with made.repository.objects(fast=True) as others:
        rulings.append(made.repository, others, one)

    assert [one] * 4 == list(rulings.read_all(made.objects))


def given(writer: Writer, slug: str = "sums") -> Received:
    return Received(slug, writer.shelf.items[slug].blob, Way.BRIEF)


def test_what_was_given_is_in_force_until_it_says_why_not(writer: Writer):
    writer.ask(add("sums"))
    first = given(writer)
    assert "" == writer.shelf.in_force(first)

    writer.ask(add("sums", "Two and two are not four."))
    assert "sums is disputed with sums-2." == writer.shelf.in_force(first)
    assert "" == writer.shelf.in_force(given(writer))

    writer.ask(withdraw("sums"))
    assert "sums was withdrawn: It is not so." == writer.shelf.in_force(first)
    second = given(writer, "sums-2")

    over = add("wet", "Water is wet.", sources=(f"main:{FACTS}:3-3",))
    writer.ask(replace(over, supersedes=("sums-2",)))
    assert "sums-2 was superseded by wet." == writer.shelf.in_force(second)

    writer.bench.repo.commit({SUMS: None})
    assert "sums is gone." == writer.shelf.in_force(first)


def test_a_change_of_what_was_given_is_told(writer: Writer):
    writer.ask(add("sums"))
    first = given(writer)
    writer.bench.land(writer.bench.offer({SUMS: edited(writer)}))

    assert "sums was changed. It says now: Two and two are FOUR." == (
        writer.shelf.in_force(first)
    )


def test_two_shelves_of_one_commit_are_one(writer: Writer):
    writer.ask(add("sums"))
    shelves = Shelves(writer.bench.repository)
    target = writer.bench.target
    facts = writer.bench.objects

    assert shelves.at(facts, target) is shelves.at(facts, target)
    assert memoryfile.path_of("sums") == SUMS


def test_a_clone_without_the_log_is_told_to_fetch_it_and_writes_none(
    writer: Writer, tmp_path: Path
):
    writer.ask(add("sums"))
    path = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", writer.bench.repo.path, path], check=True)
    repository = discover(path)
    fetch = re.compile("run: git (fetch origin) '(refs/gitagent/memory/.*)'")
    with repository.objects() as objects:
        commit = objects.ref(MAIN) or ""
        (refused,) = Shelves(repository).at(objects, commit).refused
        with pytest.raises(UserError) as caught:
            change(repository, [withdraw("sums")])
        found = fetch.search(refused.reason)

        assert found
        assert fetch.search(caught.value.line())

        mend = [*found[1].split(), "-q", found[2]]
        subprocess.run(["git", "-C", path, *mend], check=True)
        fetched = Shelves(repository).at(objects, commit)

    assert (["sums"], ()) == ([*fetched.items], fetched.refused)
