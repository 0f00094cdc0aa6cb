"""git.records: chains that plain Git can read, and that no race can break."""

import json
import threading

import pytest

from gitagent import __version__
from gitagent.errors import GitError, LostRace, UserError
from gitagent.git import records
from gitagent.git.objects import BLOB, Entry, MissingObject
from gitagent.git.records import RECORD, Append, Records
from gitagent.git.repository import discover
from gitagent.git.text import Person
from tests.support.repos import Repo

TASK = "refs/gitagent/tasks/fix"
SUBMISSION = "refs/gitagent/submissions/s-1"


@pytest.fixture(params=["libgit2", "git", "bare", "sha256"])
def writer(request, tmp_path):
    made = Repo.make(
        tmp_path / "made",
        {"a": "1"},
        bare=request.param == "bare",
        object_format="sha256" if request.param == "sha256" else "sha1",
    )
    return made, Records(discover(made.path), fast=request.param == "git")


def test_a_chain_is_read_at_its_tip(writer):
    made, chain = writer
    first = chain.append(TASK, None, b'{"n":1}', what="task created", kind="task")
    second = chain.append(TASK, first, b'{"n":2}', what="attempt 1", kind="task")

    assert second == made.ref(TASK)
    assert (first,) == tuple(made.git("rev-parse", f"{second}^@").split())
    with chain.repo.objects(fast=chain.fast) as objects:
        assert b'{"n":2}' == records.read(objects, second)
        assert b'{"n":1}' == records.read(objects, first)
        assert [second, first] == [x.oid for x in records.history(objects, second)]
    made.fsck()


def test_plain_git_reads_the_story_and_the_state(writer):
    made, chain = writer
    first = chain.append(TASK, None, b'{"n":1}', what="Aufgabe für Zoë", kind="task")
    chain.append(TASK, first, b'{"n":2}', what="attempt 1 started", kind="task")

    assert ["attempt 1 started", "Aufgabe für Zoë"] == made.log("%s", TASK)
    assert [
        ("Gitagent-Record", "task"),
        ("Gitagent-Release", __version__),
    ] == made.trailers(TASK)
    assert {"n": 2} == json.loads(made.read(RECORD, TASK))


def test_a_submission_keeps_its_tip_alive(writer):
    made, chain = writer
    tip = made.commit({"b": "2"}, branch="work")
    first = chain.append(
        SUBMISSION, None, b"{}", what="submitted", kind="submission", parents=(tip,)
    )
    chain.append(SUBMISSION, first, b"{}", what="queued", kind="submission")
    made.git("update-ref", "-d", "refs/heads/work")
    made.git("reflog", "expire", "--expire=now", "--all")
    made.git("gc", "-q", "--prune=now")

    assert tip == made.oid(f"{first}^2")
    assert "commit" == made.git("cat-file", "-t", tip)
    story = made.log("%s", "--first-parent", SUBMISSION)
    assert ["queued", "submitted", "Begin"] == story
    with chain.repo.objects() as objects:
        steps = [x.oid for x in records.history(objects, made.ref(SUBMISSION))]
    assert 2 == len(steps)


def test_a_tip_that_looks_like_a_record_is_no_part_of_the_story(writer):
    made, chain = writer
    fake = made.commit({RECORD: "{}"}, "fake\n\nGitagent-Record: task", branch="work")
    tip = chain.append(
        SUBMISSION, None, b"{}", what="submitted", kind="submission", parents=(fake,)
    )

    with chain.repo.objects() as objects:
        assert [tip] == [x.oid for x in records.history(objects, tip)]


def test_what_is_attached_belongs_to_its_step(writer):
    made, chain = writer
    with chain.repo.objects() as objects:
        stored = objects.write_blob(b"stored before")
    first = chain.append(
        TASK,
        None,
        b"{}",
        what="ended",
        kind="task",
        attachments={"log": b"out\0put\xff", "transcript": stored},
    )
    second = chain.append(TASK, first, b"{}", what="next", kind="task")

    with chain.repo.objects() as objects:
        assert b"out\0put\xff" == objects.blob(made.oid(f"{first}:log"))
        assert b"stored before" == objects.blob(made.oid(f"{first}:transcript"))
        assert made.ref(f"{second}:log") is None


def test_an_attachment_cannot_take_the_records_place(writer):
    with pytest.raises(ValueError, match="record"):
        writer[1].append(
            TASK, None, b"{}", what="x", kind="task", attachments={RECORD: b""}
        )


def test_a_stale_writer_loses_and_changes_nothing(writer):
    made, chain = writer
    first = chain.append(TASK, None, b"1", what="one", kind="task")
    second = chain.append(TASK, first, b"2", what="two", kind="task")

    for stale in (None, first):
        with pytest.raises(LostRace):
            chain.append(TASK, stale, b"3", what="three", kind="task")

    assert second == made.ref(TASK)


def test_writers_in_a_race_lose_steps_but_never_data(repo):
    """Every writer reads again until it wins; each step is then in the chain once."""
    found = discover(repo.path)
    lost = []

    def write(name):
        chain = Records(found)
        for number in range(5):
            while True:
                with found.objects() as objects:
                    old = objects.ref(TASK)
                try:
                    chain.append(TASK, old, b"{}", what=f"{name}{number}", kind="task")
                except LostRace:
                    lost.append(name)
                else:
                    break

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    expected = sorted(f"{name}{number}" for name in "abc" for number in range(5))
    assert expected == sorted(repo.log("%s", TASK))
    repo.fsck()


def test_what_happened_brings_no_trailers_and_no_controls(writer):
    made, chain = writer
    words = (
        "went\n\nGitagent-Record: done\nGitagent-Task: x\x1b[31m\0\ud800 " + "w" * 500
    )

    chain.append(TASK, None, b"{}", what=words, kind="task")

    assert [
        ("Gitagent-Record", "task"),
        ("Gitagent-Release", __version__),
    ] == made.trailers(TASK)
    assert ["went"] == made.log("%s", TASK)
    assert "\x1b" not in made.log("%B", TASK)[0]


def test_many_records_are_read_at_once_and_the_odd_ones_said(writer):
    made, chain = writer
    tips = {
        f"refs/gitagent/tasks/t{n}": chain.append(
            f"refs/gitagent/tasks/t{n}", None, b"%d" % n, what="made", kind="task"
        )
        for n in range(5)
    }
    made.git("update-ref", "refs/gitagent/tasks/odd", made.head())
    made.git("update-ref", "refs/gitagent/tasks/blob", made.oid("HEAD:a"))

    with chain.repo.objects(fast=chain.fast) as objects:
        found = records.read_all(objects, objects.refs("refs/gitagent/tasks/"))

    for number, ref in enumerate(tips):
        assert b"%d" % number == found[ref]
    for odd in ("odd", "blob"):
        assert isinstance(found[f"refs/gitagent/tasks/{odd}"], UserError)


def test_a_newer_record_is_refused_naming_the_release_that_wrote_it(writer):
    made, chain = writer
    who = Person("gitagent", "gitagent@localhost", 1)
    with chain.repo.objects(fast=chain.fast) as objects:
        tree = objects.write_tree(
            [Entry("record-v2.json", BLOB, objects.write_blob(b"{}"))]
        )
        message = "made\n\nGitagent-Record: task\nGitagent-Release: 7.8.9\n"
        newer = objects.write_commit(tree, (), message, who, who)
        made.git("update-ref", TASK, newer)

        with pytest.raises(UserError) as caught:
            records.read(objects, newer)
        found = records.read_all(objects, {TASK: newer})

    assert "7.8.9" in caught.value.line()
    assert TASK in found[TASK].line()


def test_a_commit_that_is_no_record_is_refused(writer):
    made, chain = writer

    with chain.repo.objects(fast=chain.fast) as objects:
        for oid in (made.head(), made.oid("HEAD:a"), "1" * len(made.head())):
            with pytest.raises(UserError):
                records.read(objects, oid)


def test_a_record_about_what_is_not_here_is_not_written(writer):
    made, chain = writer
    absent = "1" * len(made.head())

    with pytest.raises(MissingObject):
        chain.append(TASK, None, b"{}", what="x", kind="task", parents=(absent,))

    assert made.ref(TASK) is None


def test_disk_full(writer):
    """One line, and no state in between."""
    made, chain = writer
    first = chain.append(TASK, None, b"1", what="one", kind="task")
    for number in range(256):
        folder = made.common_dir / "objects" / f"{number:02x}"
        if not folder.exists():
            folder.write_text("in the way")

    with pytest.raises(GitError) as caught:
        chain.append(TASK, first, b"2", what="two", kind="task")

    assert "\n" not in caught.value.line()
    assert first == made.ref(TASK)


def test_refs_that_cannot_be_written_leave_the_chain_as_it_was(writer):
    made, chain = writer
    (made.common_dir / "refs/gitagent").write_text("in the way")

    with pytest.raises((GitError, UserError)) as caught:
        chain.append(TASK, None, b"1", what="one", kind="task")

    assert "\n" not in caught.value.line()


def test_an_open_store_can_be_lent(writer):
    made, chain = writer
    with chain.repo.objects(fast=chain.fast) as objects:
        tip = chain.append(TASK, None, b"1", what="one", kind="task", objects=objects)

        assert b"1" == records.read(objects, tip)
    assert tip == made.ref(TASK)


# --- many at once


def test_many_chains_go_on_at_once(writer):
    made, chain = writer
    first = chain.append(TASK, None, b"1", what="one", kind="task")
    tip = made.commit({"b": "2"}, branch="work")

    task, submission, other = chain.append_many(
        [
            Append(TASK, first, b"2", "two", "task", {"log": b"said"}),
            Append(SUBMISSION, None, b"3", "three", "submission", parents=(tip,)),
            Append("refs/gitagent/tasks/new", None, b"4", "four", "task"),
        ]
    )

    assert [task, submission] == [made.ref(TASK), made.ref(SUBMISSION)]
    assert other == made.ref("refs/gitagent/tasks/new")
    assert ["two", "one"] == made.log("%s", TASK)
    assert ["three", "Begin"] == made.log("%s", "--first-parent", SUBMISSION)
    assert ("2", "said", "3") == tuple(
        made.git("cat-file", "blob", name)
        for name in (f"{task}:{RECORD}", f"{task}:log", f"{submission}:{RECORD}")
    )
    made.fsck()


def test_a_chain_that_went_on_meanwhile_stops_no_other(writer):
    made, chain = writer
    first = chain.append(TASK, None, b"1", what="one", kind="task")
    second = chain.append(TASK, first, b"2", what="two", kind="task")

    lost, new = chain.append_many(
        [
            Append(TASK, first, b"x", "late", "task"),
            Append(SUBMISSION, None, b"3", "three", "submission"),
        ]
    )

    assert isinstance(lost, LostRace)
    assert second == made.ref(TASK)
    assert new == made.ref(SUBMISSION)


def test_no_records_are_no_change(writer):
    made, chain = writer
    before = made.refs()

    assert [] == chain.append_many([])
    assert before == made.refs()
