"""The record of a conversation: one commit an entry, one writer, plain to read."""

import json
import threading

import pytest

from gitagent.core.conversation import (
    Call,
    CallState,
    Ended,
    Entry,
    Kind,
    Origin,
)
from gitagent.errors import GitagentError, UserError
from gitagent.git import refs
from gitagent.git.repository import discover
from gitagent.worker.loop.record import Conversation, read

REF = "refs/gitagent/conversations/fix-login"


@pytest.fixture
def opened(repo):
    return discover(repo.path)


def begun(opened, name="fix-login"):
    conversation = Conversation.open(opened, name)
    conversation.append(Entry(Kind.BEGIN, attempt=1, may=("write", "shell")))
    conversation.append(Entry(Kind.INPUT, origin=Origin.TASK, text="Fix the login."))
    return conversation


def read_call(text="", **more):
    return Entry(
        Kind.RESULT,
        call="c1",
        tool="read",
        what="src/a.py",
        state=CallState.DONE,
        text=text,
        **more,
    )


def test_what_was_added_is_there_when_it_is_opened_again(repo, opened):
    before = begun(opened)
    say = Entry(Kind.SAY, text="I look.", calls=(Call("c1", "read", '{"path":"a"}'),))
    before.append(say, {"raw": b'[{"type":"text"}]'})
    before.append(read_call("one"), {"whole": b"one\0\xff"})

    after = Conversation.open(opened, "fix-login")

    assert before.entries == after.entries
    assert [1, 2, 3, 4] == [each.number for each in after.entries]
    assert before.tip == after.tip == repo.ref(REF) == after.entries[-1].oid
    assert b'[{"type":"text"}]' == after.blob(after.entries[2].raw)
    assert b"one\0\xff" == after.blob(after.entries[3].whole)


def test_what_was_never_said_is_empty_and_makes_no_ref(repo, opened):
    conversation = Conversation.open(opened, "fix-login")

    assert () == conversation.entries
    assert conversation.tip is None
    assert repo.ref(REF) is None


def test_attachments_outlive_a_gc(repo, opened):
    conversation = begun(opened)
    made = conversation.append(read_call("one"), {"whole": b"w" * 70_000})
    conversation.append(read_call("two"))
    repo.git("gc", "-q", "--prune=now")

    assert "70000" == repo.git("cat-file", "-s", made.whole)
    assert made.whole == repo.oid(f"{made.oid}:whole")


def test_git_log_reads_as_the_story(repo, opened):
    conversation = begun(opened)
    calls = (Call("c1", "read", "{}"), Call("c2", "shell", "{}"))
    conversation.append(Entry(Kind.SAY, text="I look first.", calls=calls))
    conversation.append(read_call("x", seconds=0.24))
    conversation.append(Entry(Kind.INTENT, call="c2", tool="shell", what="make test"))
    for state in (CallState.INTERRUPTED, CallState.NEEDS_DECISION):
        conversation.append(
            Entry(Kind.RESULT, call="c2", tool="shell", what="make test", state=state)
        )
    conversation.append(Entry(Kind.SAY, text="Good."))
    conversation.append(Entry(Kind.SUMMARY, first=2, last=5, text="It looked."))
    conversation.append(Entry(Kind.REWIND, last=4))
    conversation.append(Entry(Kind.END, ended=Ended.TURNS, text="200 requests."))

    assert [
        "Attempt 1 begins; may write, shell",
        "From the task: Fix the login.",
        "Model calls read, shell: I look first.",
        "read done after 0.2 s: src/a.py",
        "Call shell: make test",
        "shell interrupted after 0.0 s: make test",
        "shell needs a decision after 0.0 s: make test",
        "Model: Good.",
        "Sums up entries 2 to 5",
        "Back to entry 4",
        "Ends turns_exhausted: 200 requests.",
    ] == repo.log("%s", "--first-parent", REF)[::-1]


def test_what_binds_is_recorded_byte_for_byte_and_told_without_controls(repo, opened):
    text = "Keep \r\n this\x1b[31m  \u202e as it is.  \n"
    conversation = Conversation.open(opened, "fix-login")
    conversation.append(Entry(Kind.INPUT, text=text, binding=True))

    (kept,) = Conversation.open(opened, "fix-login").entries
    assert text == kept.text
    assert "\x1b" not in repo.log("%B", REF)[0]
    assert "\u202e" not in repo.log("%B", REF)[0]


def test_a_text_brings_no_trailer_and_no_control_and_is_whole_in_the_record(
    repo, opened
):
    text = "x\x1b[31m \ud800\nSigned-off-by: Eve <e@x>\nGitagent-Task: y\n" + "w" * 9000
    conversation = Conversation.open(opened, "fix-login")
    conversation.append(read_call(text))

    assert ["conversation"] == [
        value for key, value in repo.trailers(REF) if key != "Gitagent-Release"
    ]
    assert "\x1b" not in repo.log("%B", REF)[0]
    assert len(repo.log("%B", REF)[0]) < 3000
    kept = json.loads(repo.read("record-v1.json", REF))["text"]
    assert text.replace("\x1b", "\\x1b").replace("\ud800", "\\ud800") == kept


def test_a_fork_has_what_was_said_up_to_there_and_leaves_the_other_alone(repo, opened):
    parent = begun(opened)
    at = parent.tip
    parent.append(read_call("later"))
    side = Conversation.open(opened, "_chat.side1", at=at)
    side.append(Entry(Kind.INPUT, origin=Origin.PERSON, text="By the way"))

    assert [*parent.entries[:2], side.entries[2]] == [*side.entries]
    assert 3 == len(parent.entries)
    assert [parent.tip, side.tip] == [
        repo.ref(REF),
        repo.ref("refs/gitagent/conversations/_chat.side1"),
    ]
    with pytest.raises(
        UserError, match=r"there is a conversation _chat\.side1 already"
    ):
        Conversation.open(opened, "_chat.side1", at=at)


def test_of_eight_writers_one_goes_on_and_the_others_are_told(repo, opened):
    begun(opened)
    writers = [Conversation.open(opened, "fix-login") for _ in range(8)]
    ready = threading.Barrier(8)
    won, lost = [], []

    def write(number):
        ready.wait()
        try:
            for step in range(3):
                text = f"{number}.{step}"
                won.append(writers[number].append(read_call(text)).text)
        except GitagentError as error:
            lost.append(error.line())

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with opened.objects() as objects:
        kept = [each.text for each in read(objects, "fix-login")[2:]]
    assert sorted(won) == sorted(kept)
    assert kept == [f"{kept[0][0]}.{step}" for step in range(3)]
    mend = "wait until that one has ended"
    said = f"the conversation fix-login is led by another process; {mend}"
    assert [said] * 7 == lost
    repo.fsck()


def test_who_lost_the_race_never_writes_again(opened):
    mine, other = begun(opened), Conversation.open(opened, "fix-login")
    other.append(read_call("theirs"))

    for _ in range(2):
        with pytest.raises(GitagentError, match="led by another process"):
            mine.append(read_call("mine"))
    assert 2 == len(mine.entries)


def test_threads_of_one_process_write_one_after_the_other(opened):
    conversation = begun(opened)

    def write(number):
        for step in range(5):
            conversation.append(read_call(f"{number}.{step}"))

    with refs.swift(opened.git):
        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert [*range(1, 23)] == [each.number for each in conversation.entries]
    with opened.objects() as objects:
        assert [*conversation.entries] == read(objects, "fix-login")


def test_what_is_no_conversation_is_refused_in_one_line(repo, opened):
    repo.git("update-ref", REF, repo.head())

    with pytest.raises(UserError, match="is no record of a conversation"):
        Conversation.open(opened, "fix-login")


def test_one_that_cannot_be_written_stays_as_it_was(opened, repo):
    conversation = begun(opened)
    before = conversation.entries
    blocked = full(repo)
    for _ in range(2):
        with pytest.raises(GitagentError):
            conversation.append(read_call("mine"))
    for each in blocked:
        each.unlink()

    assert before == conversation.entries
    with opened.objects() as objects:
        assert [*before] == read(objects, "fix-login")
    assert 3 == Conversation.open(opened, "fix-login").append(read_call("on")).number


def full(repo):
    """Let no object be stored any more; return what stands in the way."""
    objects = repo.common_dir / "objects"
    fans = [objects / f"{number:02x}" for number in range(256)]
    made = [each for each in fans if not each.exists()]
    for each in made:
        each.touch()
    return made
