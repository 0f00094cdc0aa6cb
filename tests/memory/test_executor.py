"""The one writer of the memory: what it makes, refuses, and leaves alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.layout import OPERATIONS
from gitagent.core.remembering import Filed, Op, Operation, Ruling
from gitagent.daemon.memory import change
from gitagent.errors import Busy, UserError
from gitagent.files import memoryfile
from gitagent.git import rulings
from gitagent.git.advance import advance
from gitagent.git.repository import discover
from gitagent.lander.audit import Audit
from gitagent.memory import executor
from gitagent.memory.evidence import Examined, examine
from gitagent.memory.executor import keep
from tests.support.memory import ADA, FACTS, MAIN, SAYS, Writer, add, withdraw, writing


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "repo"


@pytest.fixture
def writer(template: Path, tmp_path: Path) -> Iterator[Writer]:
    with writing(template, tmp_path / "repo") as made:
        yield made


def dispute(slug: str, other: str) -> Operation:
    return Operation(Op.DISPUTE, slug, against=other, because="Both cannot be.")


def decide(slug: str, other: str) -> Operation:
    return Operation(Op.DECIDE, slug, against=other, because="It was measured.")


def test_an_item_is_one_commit_of_the_person_that_changes_nothing_else(writer: Writer):
    before = writer.bench.target
    ruling = writer.ask(add("sums"))
    repo = writer.bench.repo

    assert writer.bench.target == ruling.commit
    assert [before] == repo.log("%P", "-1")
    assert [".agent/memory/sums.md"] == repo.git(
        "diff", "--name-only", before, ruling.commit
    ).splitlines()
    assert ["Ada <ada@example.org>"] == repo.log("%an <%ae>", "-1")
    assert ("Gitagent-Record", "memory") in repo.trailers()
    assert [] == repo.status()


def test_its_quote_is_what_git_has_and_not_what_was_asked_for(writer: Writer):
    writer.ask(add("sums"))
    (source,) = writer.shelf.items["sums"].sources

    assert "Two and two are four." == source.quote
    assert writer.bench.repo.oid("main~1") == source.oid


def test_the_ruling_names_commit_files_and_what_it_rests_on(writer: Writer):
    ruling = writer.ask(add("sums"))
    (recorded,) = rulings.read_all(writer.bench.objects)
    blob = writer.bench.repo.oid("main:.agent/memory/sums.md")

    assert ruling == recorded
    assert (Filed("sums", blob),) == recorded.files
    assert blob == recorded.ruled[0].blob
    assert (writer.bench.repo.oid(f"main:{FACTS}"),) == recorded.ruled[0].evidence


def test_what_is_refused_changes_nothing_and_its_reason_is_the_answer(writer: Writer):
    before = writer.bench.target
    ruled = writer.one(add("sums", "x" * 171))

    assert "Its line has 171 characters, and 160 are the most." == ruled.reason
    assert not ruled.admitted
    assert before == writer.bench.target
    assert writer.bench.repo.ref(OPERATIONS) is None


def test_what_an_attempt_asks_for_in_vain_is_on_record_with_the_reason(writer: Writer):
    writer.origin = replace(writer.origin, task="fix", attempt=1)
    writer.ask(add("sums", sources=("main:facts.txt:9-9",)))
    (recorded,) = rulings.read_all(writer.bench.objects)

    assert ("fix", 1, "") == (recorded.task, recorded.attempt, recorded.commit)
    assert "does not resolve" in recorded.ruled[0].reason


def test_of_several_each_is_made_whole_or_not_at_all(writer: Writer):
    ruling = writer.ask(
        add("sums"),
        add("none", "Nobody knows.", sources=("main:gone.txt:1-1",)),
        add("wet", "Water is wet.", sources=(f"main:{FACTS}:3-3",)),
    )

    assert [True, False, True] == [each.admitted for each in ruling.ruled]
    assert {"sums": "active", "wet": "active"} == writer.statuses


def test_a_withdrawn_item_leaves_its_line_its_sources_and_why(writer: Writer):
    writer.ask(add("sums", body="At length.", verify="true"), verify=passes)
    writer.ask(withdraw("sums"))
    item = writer.shelf.items["sums"]

    assert ("withdrawn", "It is not so.") == (item.status, item.because)
    assert ("Two and two are four.", "", "") == (item.line, item.body, item.verify)
    assert 1 == len(item.sources)
    assert [] == writer.shelf.told()


def passes(command: str, tree: str) -> str:
    assert "true" == command
    assert tree
    return ""


def test_a_person_may_say_anew_what_was_withdrawn(writer: Writer):
    writer.ask(add("sums"))
    writer.ask(withdraw("sums"))
    again = writer.one(add("sums"))

    assert "sums was withdrawn before: It is not so." == again.warning
    assert {"sums": "active"} == writer.statuses


def test_what_says_otherwise_stands_beside_it_and_both_are_disputed(writer: Writer):
    writer.ask(add("sums"))
    ruled = writer.one(add("sums", "Two and two are not four."))
    items = writer.shelf.items

    assert "sums-2" == ruled.slug
    assert {"sums": "disputed", "sums-2": "disputed"} == writer.statuses
    assert (("sums-2",), ("sums",)) == (
        items["sums"].disputes,
        items["sums-2"].disputes,
    )


def test_saying_the_same_again_is_no_dispute_whatever_commit_it_names(writer: Writer):
    writer.ask(add("sums"))
    writer.bench.repo.commit({"other.txt": "x\n"})
    ruled = writer.one(add("sums"))

    assert not ruled.admitted
    assert "sums says that already, word for word." == ruled.reason

    other = writer.one(add("sums", sources=(f"main:{FACTS}:1-2",)))

    assert "add it under another name that supersedes sums." in other.reason
    assert {"sums": "active"} == writer.statuses


def test_a_decision_withdraws_one_and_frees_the_other(writer: Writer):
    writer.ask(add("sums"), add("sums", "Two and two are not four."))
    writer.ask(decide("sums", "sums-2"))
    item = writer.shelf.items["sums-2"]

    assert {"sums": "active", "sums-2": "withdrawn"} == writer.statuses
    assert () == writer.shelf.items["sums"].disputes
    assert "It was measured." == item.because


def test_of_three_in_dispute_the_other_two_go_on_disputing(writer: Writer):
    writer.ask(
        add("a", "Two and two are four."),
        add("b", "Three and three are six.", sources=(f"main:{FACTS}:2-2",)),
        add("c", "Water is wet.", sources=(f"main:{FACTS}:3-3",)),
    )
    writer.ask(dispute("a", "b"), dispute("a", "c"))
    writer.ask(withdraw("b"))

    assert {"a": "disputed", "b": "withdrawn", "c": "disputed"} == writer.statuses
    assert ("c",) == writer.shelf.items["a"].disputes


def test_what_is_superseded_stays_with_its_reasons_and_counts_no_more(writer: Writer):
    writer.ask(add("old", body="At length."))
    writer.ask(
        add(
            "new",
            "Three and three are six.",
            sources=(f"main:{FACTS}:2-2",),
            supersedes=("old",),
        )
    )

    assert {"new": "active", "old": "superseded"} == writer.statuses
    assert "At length." == writer.shelf.items["old"].body
    assert ["new"] == [each.slug for each in writer.shelf.told()]


def test_the_limit_is_told_with_the_numbers_and_holds_over_all(writer: Writer):
    writer.limit = 2
    writer.ask(add("a", "Two and two are four."))
    ruling = writer.ask(
        add("b", "Three and three are six.", sources=(f"main:{FACTS}:2-2",)),
        add("c", "Water is wet.", sources=(f"main:{FACTS}:3-3",)),
    )

    assert [True, False] == [each.admitted for each in ruling.ruled]
    assert (
        "With it 3 items would count, and 2 are the most; withdraw one first."
    ) == ruling.ruled[1].reason
    assert {"a": "active", "b": "active"} == writer.statuses


def test_room_that_a_later_operation_makes_is_room(writer: Writer):
    writer.limit = 1
    writer.ask(add("a", "Two and two are four."))
    ruling = writer.ask(
        add("b", "Three and three are six.", sources=(f"main:{FACTS}:2-2",)),
        withdraw("a"),
    )

    assert [True, True] == [each.admitted for each in ruling.ruled]
    assert {"a": "withdrawn", "b": "active"} == writer.statuses


def test_with_a_smaller_limit_than_before_things_still_get_fewer(writer: Writer):
    writer.ask(add("a"), add("b", "Water is wet.", sources=(f"main:{FACTS}:3-3",)))
    writer.limit = 0
    refused = writer.one(add("c", "Three is odd."))

    assert not refused.admitted
    assert "With it 3 items would count, and 0 are the most; withdraw 3 first." == (
        refused.reason
    )
    assert writer.one(withdraw("a")).admitted


def test_a_submission_is_only_made_and_named_by_its_commit(writer: Writer):
    before = writer.bench.target
    ruling = writer.ask(add("sums"), submit=True)

    assert before == writer.bench.target
    assert [before] == writer.bench.repo.log("%P", "-1", ruling.commit)
    assert submission_id(ruling.commit) == ruling.submission
    assert {} == writer.statuses


def test_edits_of_a_person_stay_and_are_named_when_in_the_way(writer: Writer):
    repo = writer.bench.repo
    repo.write("facts.txt", "edited\n")
    writer.ask(add("sums"))
    repo.write(".agent/memory/wet.md", "mine\n")
    before = writer.bench.target
    with pytest.raises(UserError, match=r"wet\.md") as raised:
        writer.ask(add("wet", "Water is wet.", sources=(f"main:{FACTS}:3-3",)))

    assert "in the way" in raised.value.line()
    assert before == writer.bench.target
    assert "edited\n" == (repo.path / "facts.txt").read_text()
    assert "mine\n" == (repo.path / ".agent/memory/wet.md").read_text()
    assert 1 == len(rulings.read_all(writer.bench.objects))


def test_a_target_that_moves_in_between_is_read_again(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
):
    others = iter(["one", "two"])

    def moved(*args: object) -> object:
        if name := next(others, None):
            writer.bench.repo.commit({f"{name}.txt": "x\n"})
        return advance(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(executor, "advance", moved)
    ruling = writer.ask(add("sums"))

    assert writer.bench.target == ruling.commit
    assert {"sums": "active"} == writer.statuses
    assert ["one.txt", "two.txt"] == [
        path for path in writer.bench.repo.paths() if path in {"one.txt", "two.txt"}
    ]


def test_however_long_a_lock_is_held_one_ruling_is_recorded(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
):
    held = iter(range(3))

    def locked(*args: object) -> object:
        if next(held, None) is not None:
            raise Busy("git is at work")
        return advance(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(executor, "advance", locked)
    monkeypatch.setattr(executor, "_PAUSE_S", 0.0)
    ruling = writer.ask(add("sums"))

    assert writer.bench.target == ruling.commit
    assert (ruling,) == rulings.read_all(writer.bench.objects)


def test_what_is_refused_on_a_target_that_moved_meanwhile_is_asked_anew(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
):
    others = iter(["one", "two"])

    def examined(*args: Any, **more: Any) -> Examined:
        if name := next(others, None):
            writer.bench.repo.commit({f"{name}.txt": "x\n"})
        return examine(*args, **more)

    monkeypatch.setattr(executor, "examine", examined)
    ruled = writer.one(add("sums"))

    assert ruled.admitted, ruled.reason
    assert {"sums": "active"} == writer.statuses


def test_two_at_once_are_both_there(writer: Writer):
    path = writer.bench.repo.path
    wet = add("wet", "Water is wet.", sources=(f"main:{FACTS}:3-3",))
    made: list[Ruling] = []

    def ask(operation: Operation) -> None:
        made.append(change(discover(path), [operation]))

    threads = [Thread(target=ask, args=(each,)) for each in (add("sums"), wet)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [True, True] == [each.ruled[0].admitted for each in made]
    assert {"sums": "active", "wet": "active"} == writer.statuses
    assert [] == writer.bench.repo.status()


_KILLED = """
import sys
from pathlib import Path
from gitagent.daemon.memory import change
from gitagent.git.repository import discover
from gitagent.core.remembering import Op, Operation
sources = ("main:facts.txt:1-1",)
line = "Two and two are four."
asked = Operation(Op.ADD, "sums", kind="fact", line=line, sources=sources)
change(discover(Path(sys.argv[1])), [asked])
"""


def test_killed_between_ruling_and_swap_leaves_no_lie_and_goes_well_again(
    writer: Writer,
):
    repo = writer.bench.repo
    env = os.environ | {"GITAGENT_FAILPOINT": "memory-recorded"}
    argv = [sys.executable, "-c", _KILLED, str(repo.path)]
    done = subprocess.run(argv, env=env, capture_output=True, check=False)
    (lost,) = rulings.read_all(writer.bench.objects)

    assert -signal.SIGKILL == done.returncode, done.stderr.decode()
    assert lost.ruled[0].admitted
    assert {} == writer.statuses
    assert writer.one(add("sums")).admitted
    assert {"sums": "active"} == writer.statuses


def test_what_a_chapter_carries_over_is_no_item_and_no_finding(writer: Writer):
    path = ".agent/memory/chapters/one.md"
    facts = writer.bench.repository, writer.bench.objects
    ruling = keep(*facts, MAIN, {path: b"# One\n"}, ADA, "Close chapter one")

    facts_commit = writer.bench.repo.oid("main~1")

    assert "# One\n" == writer.bench.repo.read(path)
    assert (Filed("chapters/one.md", ruling.files[0].blob),) == ruling.files
    assert ({}, ()) == (writer.statuses, writer.shelf.refused)
    found = Audit(writer.bench.repository).direct(
        writer.bench.objects, ruling.commit, {}
    )

    assert (facts_commit,) == found


def test_only_chapters_are_kept_so(writer: Writer):
    facts = writer.bench.repository, writer.bench.objects
    with pytest.raises(ValueError, match=r"sums\.md"):
        keep(*facts, MAIN, {memoryfile.path_of("sums"): b""}, ADA, "Cheat")

    assert SAYS == writer.bench.repo.read(FACTS)
