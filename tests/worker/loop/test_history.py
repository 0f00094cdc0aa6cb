"""What was said is found again, in whatever conversation, and however long ago."""

import pytest

from gitagent.core.action import Archive
from gitagent.core.conversation import Call, Entry, Kind, Origin
from gitagent.daemon import archive
from gitagent.git.repository import discover
from gitagent.worker.loop import history
from gitagent.worker.loop.history import Search
from gitagent.worker.loop.record import Conversation
from tests.core.talk import said, told

REF = "refs/gitagent/conversations/"


@pytest.fixture
def opened(repo):
    return discover(repo.path)


def talk(opened, name, *entries):
    conversation = Conversation.open(opened, name)
    for entry in entries:
        conversation.append(entry)
    return conversation


def places(found):
    return [(each.conversation, each.number) for each in found.found]


def test_every_word_has_to_be_there_in_any_case_of_letters(opened):
    talk(
        opened,
        "fix",
        told("The LOGIN is slow.", Origin.PERSON),
        said("The login is fine, the cookie is SLOW; straße."),
        said("The login is fine."),
    )

    assert [("fix", 2), ("fix", 1)] == places(history.find(opened, "login slow"))
    assert [("fix", 2)] == places(history.find(opened, "STRASSE"))


def test_what_a_call_was_given_is_found(opened):
    call = Call("c", "shell", '{"command": "make bench"}')
    talk(opened, "fix", said("", call))

    (found,) = history.find(opened, "bench").found

    assert ("say", 'shell {"command": "make bench"}') == (found.kind, found.snippet)


def test_what_a_summary_covers_and_what_was_put_aside_is_found_and_told(opened):
    talk(
        opened,
        "fix",
        said("An old needle."),
        said("Hay."),
        Entry(Kind.SUMMARY, text="Hay.", first=1, last=1),
        said("A wrong needle."),
        Entry(Kind.REWIND, last=3),
        said("A new needle."),
    )

    found = history.find(opened, "needle")

    assert [(6, False), (4, True), (1, False)] == [
        (each.number, each.aside) for each in found.found
    ]


def test_a_side_chat_shares_what_it_began_with(opened):
    parent = talk(opened, "_chat", said("A needle."))
    Conversation.open(opened, "_chat.side1", at=parent.tip).append(said("needle two"))

    assert 2 == len(history.find(opened, "needle").found)


def test_an_archived_conversation_is_found(opened, repo):
    tip = talk(opened, "old", said("A needle.")).tip
    with opened.objects() as objects:
        archive.enact(opened, objects, Archive("2026-01", ((f"{REF}old", tip),)))
    talk(opened, "new", said("Another needle."))

    assert not repo.git("for-each-ref", f"{REF}old")
    assert [("new", 1), ("old", 1)] == places(history.find(opened, "needle"))


def test_a_snippet_is_one_line_around_what_was_found(opened):
    talk(opened, "fix", said("a " * 500 + "\nthe\x1b needle\n" + "b " * 500))

    (found,) = history.find(opened, "needle").found

    assert found.snippet.startswith("…a a")
    assert found.snippet.endswith("b b…")
    assert "the\\x1b needle b" in found.snippet
    assert len(found.snippet) < 180


def test_a_search_that_stops_early_says_so(opened):
    talk(opened, "fix", said("needle"), said("needle"), said("needle"))

    assert history.find(opened, "needle").whole
    found = history.find(opened, "needle", limit=2)
    assert (2, False) == (len(found.found), found.whole)
    assert Search((), whole=False) == history.find(opened, "needle", seconds=-1.0)


def test_what_is_no_record_is_passed_over(opened, repo):
    talk(opened, "fix", said("needle"))
    repo.git("update-ref", f"{REF}broken", "HEAD")
    repo.git("update-ref", "refs/gitagent/archive/2026-01", "HEAD")

    assert [("fix", 1)] == places(history.find(opened, "needle"))


def test_no_words_find_nothing(opened):
    talk(opened, "fix", said("needle"))

    assert Search((), whole=True) == history.find(opened, " \n")
