"""Marks: what Git says of items, told anew after each commit of the target."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gitagent.core.action import Archive
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.memory import From, Item, Kind, Mark, Marks, Source, Status
from gitagent.core.submission import SubmissionState
from gitagent.core.task import Attempt, TaskState
from gitagent.daemon import archive
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository, discover
from gitagent.memory.evidence import resolve
from gitagent.memory.marks import Marker, marks
from tests.support import ledger
from tests.support.repos import Content, Repo

MAIN = "refs/heads/main"
TEN = "".join(f"line {n}\n" for n in range(1, 11))


@dataclass
class Memory:
    """A repository with items about it, and what is known of them between calls."""

    repo: Repo
    found: Repository
    items: dict[str, Item] = field(default_factory=dict)
    marker: Marker = field(init=False)

    def __post_init__(self) -> None:
        self.marker = Marker(self.found)

    def land(
        self, files: Mapping[str, Content], message: str = "Change", **how: Any
    ) -> str:
        return self.repo.commit_at(MAIN, files, message, **how)

    def add(self, slug: str, *sources: str | Source, **said: Any) -> Item:
        """Keep an item; a source is written as people do."""
        read = [x if isinstance(x, Source) else self.read(x) for x in sources]
        assert not [x for x in read if isinstance(x, str)]
        item = Item(
            slug=slug,
            kind=Kind.FACT,
            line=f"what {slug} says",
            updated="2026-11-01T12:00:00Z",
            sources=tuple(x for x in read if isinstance(x, Source)),
            blob=f"{len(self.items):040x}",
        )
        self.items[slug] = replace(item, **said)
        return self.items[slug]

    def read(self, text: str) -> Source | str:
        tip = self.repo.oid(MAIN)
        with self.found.objects() as objects:
            named = text.replace("main:", f"{tip}:", 1)
            return resolve(self.found, objects, tip, named)

    def withdraw(self, slug: str, status: Status = Status.WITHDRAWN) -> None:
        old = self.items[slug]
        self.items[slug] = replace(old, status=status, blob="f" + old.blob[1:])

    def told(self, commit: str = "") -> dict[str, tuple[Mark, ...]]:
        """Return the marks; one that knows nothing before has to say the same."""
        with self.found.objects() as objects:
            at = commit or self.repo.oid(MAIN)
            told = self.marker.at(objects, at, self.items)
            anew = Marker(self.found).at(objects, at, self.items)
        assert anew == told
        return told

    def work(self, task: str, *received: Received, **fields: Any) -> None:
        """Record a task that proposed something, and what it had been given."""
        first = Attempt(
            1, "0" * 40, "0" * 40, "2026-11-01T12:00:00Z", proposed="a" * 40
        )
        attempt = replace(first, memory=Exposure(received=received))
        ledger.task(self.repo, task, TaskState.DONE, attempts=(attempt,), **fields)

    def landing(self, tip: str, commit: str, **fields: Any) -> str:
        """Record a submission that landed; return its id."""
        made = ledger.submission(self.repo, tip, **fields)
        landed = SubmissionState.LANDED
        return ledger.moved(self.repo, made, landed, commit=commit).id


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    repo = Repo.make(tmp_path / "repo", {"a.txt": TEN, "b.txt": "else\n"})
    return Memory(repo, discover(repo.path))


def changed(commit: str) -> tuple[Mark, ...]:
    return (Mark(Marks.CHANGED, commit),)


# --- evidence that changed


def test_lines_that_stand_have_no_mark(memory: Memory):
    memory.add("a", "main:a.txt:3-4")

    assert {} == memory.told()


def test_lines_that_moved_within_their_file_still_stand(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    memory.told()
    memory.land({"a.txt": f"new\n{TEN}".replace("line 9", "line nine")})

    assert {} == memory.told()


def test_lines_that_changed_are_marked_with_the_commit_that_took_them(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    memory.add("b", "main:b.txt:1-1")
    memory.land({"a.txt": TEN.replace("line 9", "line nine")})
    took = memory.land({"a.txt": TEN.replace("line 3", "line three")})
    memory.land({"a.txt": TEN.replace("line 3", "line iii"), "c.txt": "1\n"})

    assert {"a": changed(took)} == memory.told()


def test_the_commit_that_took_lines_stays_the_same(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    memory.told()
    took = memory.land({"a.txt": TEN.replace("line 3", "line three")})
    first = memory.told()
    memory.land({"a.txt": TEN.replace("line 3", "line iii")})

    assert {"a": changed(took)} == first == memory.told()


def test_lines_that_came_back_stand_again(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    memory.land({"a.txt": "nothing\n"})
    gone = memory.told()
    memory.land({"a.txt": TEN})
    back = memory.told()
    took = memory.land({"a.txt": "nothing again\n"})

    assert ({"a"}, {}) == (set(gone), back)
    assert {"a": changed(took)} == memory.told()


def test_part_of_a_line_is_no_line(memory: Memory):
    memory.land({"a.txt": "timeout = 3\nretries = 5\n"})
    memory.add("a", "main:a.txt:1-1")
    took = memory.land({"a.txt": "timeout = 30\nretries = 5\n"})

    assert {"a": changed(took)} == memory.told()


def test_lines_that_are_apart_by_now_stand_no_more(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    took = memory.land({"a.txt": TEN.replace("line 4", "between\nline 4")})

    assert {"a": changed(took)} == memory.told()


def test_a_file_that_moved_as_it_was_still_has_the_lines(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    memory.told()
    memory.land({"a.txt": None, "folder/z.txt": TEN})

    assert {} == memory.told()


def test_a_file_that_moved_and_changed_has_them_no_more(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    took = memory.land({"a.txt": None, "z.txt": f"{TEN}more\n"})

    assert {"a": changed(took)} == memory.told()


def test_a_file_that_moved_is_followed_no_further(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    memory.land({"a.txt": None, "z.txt": TEN})
    memory.told()
    memory.land({"z.txt": f"{TEN}more\n"})

    assert [Marks.CHANGED] == [each.mark for each in memory.told()["a"]]


def test_a_file_that_comes_back_elsewhere_has_the_lines_again(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    took = memory.land({"a.txt": None})
    gone = memory.told()
    memory.land({"y.txt": TEN})

    assert {"a": changed(took)} == gone
    assert {} == memory.told()


@pytest.mark.parametrize("other", ["a.txt@", "a.txt/inner"])
def test_what_is_no_file_any_more_has_no_lines(memory: Memory, other: str):
    memory.add("a", "main:a.txt:3-4")
    memory.land({"a.txt": None})
    took = memory.repo.oid(MAIN)
    memory.land({other: "b.txt"})

    assert {"a": changed(took)} == memory.told()


def test_the_commit_that_took_lines_is_the_landing_and_not_the_work(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    base = memory.repo.oid(MAIN)
    files = {"a.txt": TEN.replace("line 3", "line three")}
    tip = memory.repo.commit_at("refs/heads/work", files, parents=(base,))
    took = memory.land(files, "Land it", parents=(base, tip))

    assert {"a": changed(took)} == memory.told()


def test_paths_are_taken_literally(memory: Memory):
    odd = ":odd: wört *.txt"
    memory.land({odd: "red\n", "other.txt": "red\n"})
    memory.add("a", f"main:{odd}:1-1")
    memory.land({"other.txt": "blue\n"})
    took = memory.land({odd: "green\n"})
    memory.land({"other.txt": "green\n"})

    assert {"a": changed(took)} == memory.told()


def test_each_commit_that_took_something_is_marked_once(memory: Memory):
    memory.add("a", "main:a.txt:3-4", "main:a.txt:3-3", "main:b.txt:1-1")
    one = memory.land({"a.txt": "gone\n"})
    two = memory.land({"b.txt": "gone\n"})

    assert {"a": tuple(sorted((*changed(one), *changed(two)), key=at))} == memory.told()


def at(mark: Mark) -> str:
    return mark.at


def test_a_target_that_went_back_is_looked_at_anew(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    before = memory.repo.oid(MAIN)
    took = memory.land({"a.txt": "gone\n"})
    marked = memory.told()

    assert {"a": changed(took)} == marked
    assert {} == memory.told(before)
    assert {"a": changed(took)} == memory.told(took)


def test_another_history_of_the_target_is_told_by_itself(memory: Memory):
    memory.add("a", "main:a.txt:3-4")
    before = memory.repo.oid(MAIN)
    memory.land({"a.txt": "gone\n"})
    memory.told()
    took = memory.land({"a.txt": "away\n"}, parents=(before,))

    assert {"a": changed(took)} == memory.told()


# --- what does not resolve here


def test_a_source_that_is_not_in_this_clone_is_unverified(memory: Memory):
    gone = "12" * 20
    memory.add("lines", Source(From.LINES, gone, "a.txt", 3, 3, "line 3"))
    memory.add("receipt", Source(From.RECEIPT, gone, quote="passed"))
    memory.add("landing", Source(From.LANDING, gone, "s-0123456789ab", quote="it"))
    memory.add("decision", Source(From.DECISION, gone, "ask", 1, quote="yes"))

    assert {
        "lines": (Mark(Marks.UNVERIFIED, "commit 121212121212 is not here"),),
        "receipt": (Mark(Marks.UNVERIFIED, "receipt 121212121212 is not here"),),
        "landing": (Mark(Marks.UNVERIFIED, "landing 121212121212 is not here"),),
        "decision": (Mark(Marks.UNVERIFIED, "record 121212121212 is not here"),),
    } == memory.told()


def test_a_quote_that_does_not_stand_where_it_says_is_unverified(memory: Memory):
    good = memory.add("a", "main:a.txt:3-4").sources[0]
    memory.items.clear()
    memory.add("quote", replace(good, quote="line 3\nline four"))
    memory.add("path", replace(good, name="no.txt"))
    memory.add("span", replace(good, first=9, last=10))
    oid = good.oid[:12]

    told = (Mark(Marks.UNVERIFIED, f"commit {oid} does not say that"),)
    assert {"quote": told, "path": told, "span": told} == memory.told()


def test_what_was_fetched_meanwhile_is_verified(memory: Memory):
    blob = memory.repo.git("hash-object", "--stdin", stdin=b"receipt\n")
    memory.add("a", Source(From.RECEIPT, blob, quote="passed"))
    before = memory.told()
    memory.repo.git("hash-object", "-w", "--stdin", stdin=b"receipt\n")

    assert [Marks.UNVERIFIED] == [each.mark for each in before["a"]]
    assert {} == memory.told()


# --- what was rolled back


def reverts(commit: str, how: str = ".") -> str:
    return f'Revert "It"\n\nThis reverts commit {commit}{how}\n'


def test_an_item_of_work_that_was_rolled_back_is_suspect(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    name = memory.landing(landed, landed, task="tune")
    memory.work("tune", submission=name)
    memory.add("a", "main:a.txt:1-1", work="tune")
    memory.add("b", "main:a.txt:1-1", work="other")
    before = memory.told()
    undone = memory.land({"c.txt": None}, reverts(landed))

    assert {} == before
    assert {"a": (Mark(Marks.SUSPECT, undone),)} == memory.told()


def test_an_item_that_cites_a_landing_that_was_rolled_back_is_suspect(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    memory.landing(landed, landed)
    name = memory.landing(landed, landed)
    memory.add("a", f"landing:{name}")
    undone = memory.land({"c.txt": None}, reverts(landed))

    assert {"a": (Mark(Marks.SUSPECT, undone),)} == memory.told()


def test_what_was_distilled_from_a_landing_is_suspect_with_it(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    name = memory.landing(landed, landed)
    memory.add("a", "main:a.txt:1-1", work=f"distil-{name}")
    undone = memory.land({"c.txt": None}, reverts(landed))

    assert {"a": (Mark(Marks.SUSPECT, undone),)} == memory.told()


@pytest.mark.parametrize("of", ["landing", "tip", "merge"])
def test_a_landing_is_rolled_back_with_its_merge_or_its_tip(memory: Memory, of: str):
    base = memory.repo.oid(MAIN)
    tip = memory.repo.commit_at("refs/heads/w", {"c.txt": "1\n"}, parents=(base,))
    landed = memory.land({"c.txt": "1\n"}, "Land it", parents=(base, tip))
    name = memory.landing(tip, landed)
    memory.add("a", f"landing:{name}")
    message = {
        "landing": reverts(landed),
        "tip": reverts(tip),
        "merge": reverts(landed, f", reversing\nchanges made to {base}."),
    }
    undone = memory.land({"c.txt": None}, message[of])

    assert {"a": (Mark(Marks.SUSPECT, undone),)} == memory.told()


def test_a_rollback_that_was_rolled_back_leaves_nothing_suspect(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    name = memory.landing(landed, landed)
    memory.add("a", f"landing:{name}")
    first = memory.land({"c.txt": None}, reverts(landed))
    second = memory.land({"c.txt": "1\n"}, reverts(first))
    again = memory.told()
    third = memory.land({"c.txt": None}, reverts(second))

    assert {} == again
    assert {"a": (Mark(Marks.SUSPECT, first),)} == memory.told()
    assert third != first


def test_a_rollback_is_undone_by_undoing_its_landing(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    name = memory.landing(landed, landed)
    memory.add("a", f"landing:{name}")
    files = {"c.txt": None}
    tip = memory.repo.commit_at(
        "refs/heads/r", files, reverts(landed), parents=(landed,)
    )
    merged = memory.land(files, "Land the revert", parents=(landed, tip))
    suspect = memory.told()
    memory.land({"c.txt": "1\n"}, reverts(merged))

    assert {"a": (Mark(Marks.SUSPECT, tip),)} == suspect
    assert {} == memory.told()


def test_a_revert_that_is_not_on_the_target_rolls_nothing_back(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    name = memory.landing(landed, landed)
    memory.add("a", f"landing:{name}")
    memory.repo.commit_at(
        "refs/heads/side", {"c.txt": None}, reverts(landed), parents=(landed,)
    )
    memory.land({"d.txt": "1\n"}, f"Say that `This reverts commit {landed}.` is a line")

    assert {} == memory.told()


def test_records_in_the_archive_are_found(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    name = memory.landing(landed, landed, task="tune")
    memory.work("tune", Received("old", "1" * 40, Way.BRIEF), submission=name)
    refs = memory.repo.refs("refs/gitagent/")
    with memory.found.objects() as objects:
        archive.enact(memory.found, objects, Archive("2026-11", tuple(refs.items())))
    memory.add("old", "main:a.txt:1-1", status=Status.WITHDRAWN)
    memory.add("a", "main:a.txt:1-1", work="tune")
    undone = memory.land({"c.txt": None}, reverts(landed))

    told = (Mark(Marks.SUSPECT, undone), Mark(Marks.DERIVED, "old"))
    assert {"a": told} == memory.told()


# --- what came of something else


def given(slug: str, way: Way = Way.BRIEF) -> Received:
    return Received(slug, "1" * 40, way)


@pytest.mark.parametrize("status", [Status.WITHDRAWN, Status.SUPERSEDED])
def test_what_came_of_a_withdrawn_item_is_marked(memory: Memory, status: Status):
    memory.work("tune", given("old"))
    memory.add("old", "main:a.txt:1-1")
    memory.add("a", "main:a.txt:2-2", work="tune")
    memory.add("b", "main:a.txt:2-2")
    before = memory.told()
    memory.withdraw("old", status)

    assert {} == before
    assert {"a": (Mark(Marks.DERIVED, "old"),)} == memory.told()


def test_what_came_of_that_is_marked_too(memory: Memory):
    memory.work("first", given("old"))
    memory.work("second", given("a", Way.SEARCH))
    memory.add("old", "main:a.txt:1-1")
    memory.add("a", "main:a.txt:2-2", work="first")
    memory.add("b", "main:a.txt:3-3", work="second")
    memory.withdraw("old")
    derived = (Mark(Marks.DERIVED, "old"),)

    assert {"a": derived, "b": derived} == memory.told()


def test_what_was_distilled_of_work_depends_on_what_that_was_given(memory: Memory):
    landed = memory.land({"c.txt": "1\n"})
    name = memory.landing(landed, landed, task="tune")
    memory.work("tune", given("old"), submission=name)
    memory.work(f"distil-{name}", given("other", Way.ALL))
    memory.add("old", "main:a.txt:1-1")
    memory.add("other", "main:a.txt:1-1")
    memory.add("a", "main:a.txt:2-2", work=f"distil-{name}")
    memory.withdraw("old")
    memory.withdraw("other")

    assert {"a": (Mark(Marks.DERIVED, "old"),)} == memory.told()


def test_what_stands_in_its_place_does_not_depend_on_it(memory: Memory):
    memory.work("tune", given("old"), given("a"))
    memory.add("old", "main:a.txt:1-1")
    memory.add("a", "main:a.txt:2-2", work="tune", supersedes=("old",))
    memory.withdraw("old", Status.SUPERSEDED)

    assert {} == memory.told()


def test_items_that_do_not_count_have_no_marks(memory: Memory):
    memory.add("a", "main:a.txt:3-4", status=Status.DISPUTED)
    memory.add("b", "main:a.txt:3-4")
    took = memory.land({"a.txt": "gone\n"})
    memory.told()
    memory.withdraw("b")

    assert {"a": changed(took)} == memory.told()


# --- for any thread, and for thousands


def test_any_thread_is_told_the_same(memory: Memory):
    for n in range(1, 5):
        memory.add(f"a-{n}", f"main:a.txt:{n}-{n + 1}")
    commits = [
        memory.land({"a.txt": TEN.replace(f"line {n}\n", "other\n")})
        for n in range(1, 5)
    ]

    def told(commit: str) -> dict[str, tuple[Mark, ...]]:
        with memory.found.objects() as objects:
            return marks(memory.found, objects, commit, memory.items)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(told, commits * 2))

    assert found == [memory.told(commit) for commit in commits * 2]


def test_after_a_landing_only_what_it_touched_is_looked_at_again(memory: Memory):
    oid = memory.land({f"f/{n}.txt": f"{n}\n" for n in range(300)})
    for n in range(300):
        memory.add(f"i-{n}", Source(From.LINES, oid, f"f/{n}.txt", 1, 1, f"{n}"))
    memory.told()
    took = memory.land({"f/7.txt": "seven\n"})
    with memory.found.objects() as objects:
        count = Counting(objects)
        told = memory.marker.at(count.objects, took, memory.items)  # type: ignore[arg-type]

    assert {"i-7": changed(took)} == told
    assert count.calls["path"] <= 2
    assert count.calls.get("blob", 0) <= 4


class Counting:
    """An object store that counts what is asked of it."""

    def __init__(self, objects: Objects) -> None:
        self._asked = objects
        self.calls: dict[str, int] = {}

    @property
    def objects(self) -> "Counting":
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._asked, name)

        def counted(*args: Any, **named: Any) -> Any:
            self.calls[name] = self.calls.get(name, 0) + 1
            return method(*args, **named)

        return counted
