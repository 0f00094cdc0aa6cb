"""The index: a cache that follows a commit, and is believed in nothing."""

import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from gitagent.core.episode import Ended, Episode
from gitagent.errors import GitError
from gitagent.git.objects import BLOB, TREE, Entry
from gitagent.git.repository import discover
from gitagent.memory import gather, indexfile, sync
from gitagent.memory.index import Index
from gitagent.memory.indexfile import VERSION
from tests.support.repos import Repo
from tests.support.search import Library, item, note, note_path

LOCKS = item("locks", "Locks are taken in order of path.")
PASTA = "# Cooking\n\nBoil the pasta.\n"


@pytest.fixture
def library(repo: Repo) -> Library:
    made = Library.make(repo, LOCKS)
    made.write({"docs/pasta.md": PASTA, note_path("s-1"): note("s-1", "Retry pushes")})
    return made


def path(library: Library) -> Path:
    """Return where the index is kept."""
    return library.index._file.path


def rows(library: Library) -> set[tuple[str, str]]:
    """Return kind and name of what the file holds."""
    with sqlite3.connect(path(library)) as db:
        return set(db.execute("SELECT kind, name FROM passage"))


def anew(library: Library) -> Index:
    """Return the index as another process opens it."""
    return Index(library.repository)


def episode(ended: Ended = Ended.FAILED, **more: object) -> Episode:
    given = {"why": "The linker was missing.", "oid": "e" * 40} | more
    return Episode(
        "build", 2, "Build it", "claude", "2026-03-01T00:00:00Z", ended, **given
    )


# --- following


def test_it_holds_what_the_commit_holds_and_lies_in_the_cache(
    library: Library, home: Path
):
    assert library.follow()

    expected = {
        ("item", "locks"),
        ("landing", "s-1"),
        ("document", "docs/pasta.md"),
        ("document", "README.md"),
    }
    assert expected == rows(library)
    assert path(library).is_relative_to(home / ".cache" / "gitagent")
    assert 0o700 == path(library).parent.stat().st_mode & 0o777


def test_a_landing_more_is_read_and_nothing_else(library: Library, monkeypatch):
    library.follow()
    library.write({note_path("s-2"): note("s-2", "Sort the queue")})
    read = []
    monkeypatch.setattr(
        gather,
        "of_file",
        lambda objects, change, real=gather.of_file: (
            read.append(change.name),
            real(objects, change),
        )[1],
    )

    assert ["s-2"] == library.names("sorting queues")
    assert ["s-2"] == read


def test_what_is_deleted_is_gone_from_the_next_query_on(library: Library):
    before = library.names("boil pasta")

    library.write({"docs/pasta.md": None})

    assert ["docs/pasta.md"] == before
    assert [] == library.names("boil pasta")
    assert ("document", "docs/pasta.md") not in rows(library)


def test_nothing_is_told_that_is_not_there_whatever_the_index_holds(library: Library):
    library.follow()
    with sqlite3.connect(path(library)) as db:
        db.execute("UPDATE passage SET blob = ? WHERE kind != 'item'", ("f" * 40,))
        db.execute("UPDATE passage SET blob = ? WHERE kind = 'item'", ("e" * 40,))

    assert [] == library.index.search("boil pasta retry pushes locks")


def test_what_changes_is_found_by_its_new_words_alone(library: Library):
    library.follow()
    library.write({"docs/pasta.md": "# Baking\n\nKnead the dough.\n"})
    library.items = [item("locks", "Mutexes are gone.")]

    assert ["docs/pasta.md"] == library.names("knead dough")
    assert ["locks"] == library.names("mutex")
    assert [] == library.names("boil in the order of a path")


def test_a_moved_document_is_found_where_it_is(library: Library):
    library.follow()
    library.write({"docs/pasta.md": None, "kitchen/pasta.md": PASTA})

    assert ["kitchen/pasta.md"] == library.names("boil")


def test_a_file_becomes_a_folder_and_a_folder_a_file(repo: Repo):
    library = Library.make(repo)
    library.write({"a.md": "# Apples\n", "b.md/c.md": "# Cherries\n"})
    before = [library.names(query) for query in ("apples", "cherries")]

    library.write({"a.md": None, "b.md/c.md": None})
    library.write({"a.md/d.md": "# Dates\n", "b.md": "# Berries\n"})
    after = [library.names(q) for q in ("apples", "cherries", "dates", "berries")]

    assert [["a.md"], ["b.md/c.md"]] == before
    assert [[], [], ["a.md/d.md"], ["b.md"]] == after


def test_records_of_other_kinds_and_large_files_are_no_documents(repo: Repo):
    library = Library.make(repo)
    library.write(
        {
            ".agent/tasks/a.md": "# Zebra\n",
            ".agent/memory/b.md": "Zebra.\n",
            "huge.md": "Zebra.\n" * 40_000,
            "link.md@": "README.md",
            "zebra.txt": "Zebra.\n",
            "new\nline.md": "# Zebra\n",
            "bytes.md": b"# Quagga \xff\xfe\0\n",
        }
    )

    assert [] == library.names("zebra")
    assert ["bytes.md"] == library.names("quagga")


def test_no_more_documents_are_kept_than_there_is_room_for(repo: Repo, monkeypatch):
    monkeypatch.setitem(sync._MOST, "document", 2)
    library = Library.make(repo)
    library.write({f"{n}.md": "# Zebra\n" for n in range(3)} | {"README.md": None})
    first = library.names("zebra")

    library.write({"0.md": None, "4.md": "# Zebra\n"})
    then = library.names("zebra")

    assert 2 == len(first)
    assert ["1.md", "4.md"] == sorted(then)


def test_few_trees_that_unfold_to_a_billion_files_take_no_longer(
    repo: Repo, monkeypatch
):
    monkeypatch.setattr(gather, "_LOOKED", 1000)
    with discover(repo.path).objects() as objects:
        blob = objects.write_blob(b"# Zebra\n")
        tree = objects.write_tree([Entry("a.md", BLOB, blob)])
        for _ in range(9):
            some = [Entry(f"{n}", TREE, tree) for n in range(10)]
            tree = objects.write_tree(some)
        found = list(gather.changes(objects, None, tree))

    assert {blob} == {each.blob for each in found}
    assert "/".join("000000000") + "/a.md" == found[0].path
    assert len(found) < 1000


def test_episodes_are_found_and_forgotten(library: Library):
    library.episodes = [episode()]
    (hit,) = library.search("linker is missing", kinds=["episode"])

    library.episodes = [episode(Ended.LANDED, why="")]
    changed = library.names("linker is missing", kinds=["episode"])
    library.episodes = []
    gone = library.names("build", kinds=["episode"])

    assert ("build#2", "e" * 40) == (hit.name, hit.blob)
    assert hit.text.startswith("failed: Build it; by claude.")
    assert ([], []) == (changed, gone)


def test_it_stops_when_its_time_is_over_and_goes_on_then(library: Library, monkeypatch):
    monkeypatch.setattr(sync, "_PIECE", 1)
    library.write({f"{n}.md": "# Zebra\n" for n in range(4)})
    left = iter([1.0] * 3)
    monkeypatch.setattr(
        sync, "_apply", lambda *given, real=sync._apply: next(left, 0) and real(*given)
    )
    stopped = library.follow(seconds=5)
    monkeypatch.undo()

    assert not stopped
    assert library.follow()
    assert ["docs/pasta.md"] == library.names("boil pasta")


def test_large_files_go_in_a_few_at_a_time(library: Library, monkeypatch):
    went: list[int] = []

    def apply(db, gone, new, now, real=sync._apply):
        went.append(sum(len(each.body) for some in new for each in some))
        return real(db, gone, new, now)

    monkeypatch.setattr(sync, "_apply", apply)
    library.write({f"{n}.md": f"# Zebra {n}\n" + "so " * 80_000 for n in range(6)})

    assert library.follow()
    assert len(went) > 1
    assert max(went) < 1_000_000


def test_an_unknown_commit_is_not_followed(library: Library):
    with library.repository.objects() as objects:
        followed = library.index.follow(objects, "f" * 40, library.shelf)

    assert not followed
    assert [] == library.index.search("locks")


# --- the file


def test_another_process_finds_what_was_indexed(library: Library, monkeypatch):
    library.follow()
    monkeypatch.setattr(gather, "of_file", lambda *_: pytest.fail("read again"))
    other = anew(library)

    assert library.follow(other)
    assert ["docs/pasta.md"] == [hit.name for hit in other.search("boil pasta")]


def test_two_that_follow_different_commits_both_find_what_theirs_has(library: Library):
    library.follow()
    other = anew(library)
    library.write({"docs/pasta.md": "# Baking\n\nKnead the dough.\n"})
    library.follow(other)

    for _ in range(2):
        assert ["docs/pasta.md"] == [h.name for h in library.index.search("boil")]
        assert ["docs/pasta.md"] == [h.name for h in other.search("knead")]
        assert [] == other.search("boil")


def test_threads_follow_and_search_at_once(library: Library):
    library.follow()
    wrong: list[object] = []

    def work(index: Index) -> None:
        for _ in range(10):
            names = [hit.name for hit in index.search("boil pasta")]
            if names != ["docs/pasta.md"] or not library.follow(index):
                wrong.append(names)

    indexes = [library.index, library.index, anew(library)]
    assert library.follow(indexes[2])
    threads = [threading.Thread(target=work, args=(each,)) for each in indexes]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert [] == wrong


def test_deleted_it_is_made_anew(library: Library):
    library.follow()
    for each in path(library).parent.iterdir():
        each.unlink()
    other = anew(library)
    library.follow(other)

    assert ["docs/pasta.md"] == [hit.name for hit in other.search("boil pasta")]
    assert path(library).exists()


@pytest.mark.parametrize("damage", ["text", "half", "other tables", "other version"])
def test_damaged_it_is_made_anew_silently(library: Library, damage: str, capfd):
    library.follow()
    library.index.close()
    file = path(library)
    if damage == "text":
        file.write_text("This is no database.\n" * 100)
    elif damage == "half":
        data = bytearray(file.read_bytes())
        data[1024:] = b"\x5a" * (len(data) - 1024)
        file.write_bytes(data)
    else:
        with sqlite3.connect(file) as db:
            db.execute("PRAGMA user_version = 99" if "version" in damage else "BEGIN")
            db.execute("DROP TABLE state")
            db.execute("CREATE TABLE state (other)")
    other = anew(library)

    assert library.follow(other)
    assert ["docs/pasta.md"] == [hit.name for hit in other.search("boil pasta")]
    with sqlite3.connect(file) as db:
        assert [(VERSION,)] == db.execute("PRAGMA user_version").fetchall()
    assert ("", "") == capfd.readouterr()


def test_damaged_under_way_it_is_made_anew_by_the_next_query(library: Library):
    library.follow()
    library.index.search("boil")
    library.index.close()
    path(library).write_bytes(b"\0" * 8192)

    assert ["docs/pasta.md"] == [h.name for h in library.index.search("boil pasta")]


def test_where_nothing_can_be_written_it_is_kept_in_memory(library: Library):
    path(library).parent.parent.mkdir(parents=True)
    path(library).parent.write_text("in the way")

    assert library.follow()
    assert ["docs/pasta.md"] == library.names("boil pasta")
    assert library.index._file.in_memory


def test_where_sqlite_lacks_what_it_takes_the_reason_is_told(
    library: Library, monkeypatch
):
    monkeypatch.setattr(indexfile, "_TABLES", "CREATE VIRTUAL TABLE word USING no5 (a)")

    assert not library.follow()
    assert [] == library.index.search("boil pasta")
    expected = "Nothing can be searched here: no such module: no5."
    assert expected == library.index.note


def test_with_a_full_disk_it_is_kept_in_memory(library: Library):
    library.follow()
    library.index.close()
    real = library.index._file._made

    def full() -> sqlite3.Connection:
        made = real()
        if not library.index._file.in_memory:
            pages = made.execute("PRAGMA page_count").fetchone()[0]
            made.execute(f"PRAGMA max_page_count = {pages}")
        return made

    library.index._file._made = full  # type: ignore[method-assign]
    library.write({f"{n}.md": f"# Zebra {n}\n\n{'word ' * 900}" for n in range(20)})

    assert 8 == len(library.names("zebra"))
    assert library.index._file.in_memory


def test_while_another_process_writes_what_is_there_is_searched(library: Library):
    library.follow()
    other = anew(library)
    library.write({"docs/pasta.md": "# Baking\n\nKnead the dough.\n"})
    with library.index._file.writing(1e12) as held:
        followed = library.follow(other, seconds=0.05)

        assert held
        assert not followed
        assert ["locks"] == [h.name for h in other.search("order locks", seconds=0.2)]


def test_without_its_repository_nothing_is_found(library: Library, monkeypatch):
    library.follow()

    def gone(_: object) -> None:
        raise GitError(("git",), 1, "gone")

    monkeypatch.setattr(type(library.repository), "objects", gone)

    assert [] == library.index.search("locks")


def test_numpy_is_not_loaded_for_words(library: Library):
    loaded = "numpy" in sys.modules
    library.names("boil")

    assert loaded == ("numpy" in sys.modules)
