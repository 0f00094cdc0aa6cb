"""gitagent chat without a terminal: answers for scripts and pipes, and the list."""

import json
import threading
from contextlib import ExitStack

import pytest

from gitagent.core.chat import Say, When
from gitagent.core.conversation import Entry, Kind, Origin
from gitagent.git.repository import discover
from gitagent.host import place
from gitagent.host.socket import Listener
from gitagent.worker.loop.record import Conversation
from tests.support.chat_server import ChatServer, daemon
from tests.support.cli import call
from tests.support.waiting import wait_for


@pytest.fixture
def server(repo, tmp_path):
    """Give a chat that the repository's daemon leads to."""
    with ExitStack() as stack:
        made = ChatServer(tmp_path)
        stack.callback(made.close)
        stack.enter_context(daemon(repo.common_dir, lambda _new: made.path))
        yield made


def said(server):
    return [each for each in server.said if isinstance(each, Say)]


def test_the_answer_is_all_that_is_printed(repo, server):
    answer = call(repo, "chat", "--send", "Grüße, 世界")

    assert (0, "You said: Grüße, 世界\n", "") == (answer.code, answer.out, answer.err)
    assert [When.FOLLOWUP] == [each.when for each in said(server)]


@pytest.mark.usefixtures("server")
def test_control_characters_of_an_answer_do_not_reach_the_terminal(repo):
    answer = call(repo, "chat", "--send", "\x1b[2J\u202ehi")

    assert "You said: \\x1b[2J\\u202ehi\n" == answer.out


@pytest.mark.usefixtures("server")
def test_the_frames_are_printed_as_lines_of_json(repo):
    answer = call(repo, "chat", "--json", "--send", "tools", "--request-id", "r7")
    frames = [json.loads(line) for line in answer.lines]
    kinds = [next(iter(frame)) for frame in frames]

    assert 0 == answer.code
    assert "hello" == kinds[0]
    assert {"request": "r7", "number": 1} in [frame.get("sent") for frame in frames]
    assert "answered" == kinds[-1]
    assert 6 == kinds.count("entry")


def test_the_same_request_id_is_recorded_once_and_answered_again(repo, server):
    first = call(repo, "chat", "--send", "hello", "--request-id", "r1")
    again = call(repo, "chat", "--send", "hello", "--request-id", "r1")

    assert (0, first.out) == (again.code, again.out)
    assert [1] == [each.number for each in server.entries if each.request == "r1"]


@pytest.mark.usefixtures("server")
def test_without_waiting_the_number_of_the_entry_is_told(repo):
    answer = call(repo, "chat", "talk", "--no-wait", "--send", "hold on")

    assert (0, "sent to talk as entry 1\n") == (answer.code, answer.out)


def test_words_are_refused_while_a_turn_runs_if_they_are_to_be(repo, server):
    call(repo, "chat", "--no-wait", "--send", "hold on")
    answer = call(repo, "chat", "--busy", "reject", "--send", "me too")

    assert (1, "", "gitagent: a turn is running\n") == (
        answer.code,
        answer.out,
        answer.err,
    )
    assert 1 == len(server.entries)


@pytest.mark.usefixtures("server")
def test_a_turn_without_an_answer_is_no_answer(repo):
    answer = call(repo, "chat", "--send", "fail now")

    assert (1, "", "gitagent: it failed\n") == (answer.code, answer.out, answer.err)


def test_each_line_of_a_pipe_is_said_after_the_answer_to_the_one_before(repo, server):
    answer = call(repo, "chat", stdin="one\n\nfail\ntwo\n")

    assert (1, ["You said: one", "You said: two"]) == (answer.code, answer.lines)
    assert ["one", "fail", "two"] == [each.text for each in said(server)]


@pytest.mark.usefixtures("server")
def test_standard_input_can_be_one_text(repo):
    answer = call(repo, "chat", "--send", "-", stdin="one\ntwo\n")

    assert "You said: one\ntwo\n" == answer.out


def test_a_lost_connection_is_made_again_and_the_words_are_recorded_once(repo, server):
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(call(repo, "chat", "--send", "hold on"))
    )
    asking.start()
    wait_for(lambda: said(server), what="the words came")
    server.drop()
    wait_for(lambda: len(said(server)) == 2, what="they came again")
    (server.folder / "go").touch()
    asking.join()

    assert (0, "held open\nand half a line\n") == (answers[0].code, answers[0].out)
    assert "lost" in answers[0].err
    assert 1 == len({each.request for each in said(server)})
    assert [1] == [e.number for e in server.entries if e.kind is Kind.INPUT]


def test_a_daemon_that_is_ending_is_waited_for(repo, tmp_path):
    answers, led = [], []
    server = ChatServer(tmp_path)

    def lead(_new):
        led.append(1)
        return "the daemon is ending; try again" if len(led) == 2 else server.path

    with daemon(repo.common_dir, lead):
        asking = threading.Thread(
            target=lambda: answers.append(call(repo, "chat", "--send", "hold on"))
        )
        asking.start()
        wait_for(lambda: said(server), what="the words came")
        (server.folder / "go").touch()
        server.drop()
        asking.join()
    server.close()

    assert (0, "held open\nand half a line\n") == (answers[0].code, answers[0].out)
    assert "the daemon is ending" in answers[0].err


def test_without_a_daemon_the_mend_is_told(repo):
    answer = call(repo, "chat", "--send", "hello")

    assert (75, "") == (answer.code, answer.out)
    assert "gitagent: no daemon runs; start one with: gitagent up --detach\n" == (
        answer.err
    )


def test_why_the_daemon_leads_no_chat_is_told(repo):
    with daemon(repo.common_dir, lambda _new: "there is no provider"):
        answer = call(repo, "chat", "--send", "hello")

    assert (1, "gitagent: there is no provider\n") == (answer.code, answer.err)


def test_an_older_daemon_is_to_be_started_anew(repo):
    listener = Listener(place.socket_path(repo.common_dir), lambda _: {"ok": True})
    listener.start()
    answer = call(repo, "chat", "--send", "hello")
    listener.stop()

    assert 1 == answer.code
    assert "gitagent down" in answer.err


def test_a_chat_that_does_not_answer_is_worth_another_try(repo, tmp_path):
    with daemon(repo.common_dir, lambda _new: tmp_path / "gone"):
        answer = call(repo, "chat", "--send", "hello")

    assert 75 == answer.code
    assert 1 == len(answer.err.splitlines())


def test_a_new_chat_is_asked_for_as_such(repo):
    asked = []

    def lead(new):
        asked.append(new)
        return "not now"

    with daemon(repo.common_dir, lead):
        call(repo, "chat", "--send", "hello")
        call(repo, "chat", "--new", "--send", "hello")

    assert [False, True] == asked


@pytest.mark.parametrize(
    "args",
    [
        ["--json", "--list", "--send", "a"],
        ["--list", "--new"],
        ["--request-id", "r"],
        ["--no-wait"],
        ["--busy", "reject"],
        ["--busy", "later", "--send", "a"],
        ["Not/An/Id", "--send", "a"],
        ["..", "--send", "a"],
        ["--send", " "],
        ["--send", "a" * 80_001],
        ["--send", "a", "--request-id", "r" * 201],
    ],
)
def test_wrong_usage_says_so_in_one_line(repo, server, args):
    answer = call(repo, "chat", *args)

    assert (2, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert [] == said(server)


def test_the_chats_are_listed_with_the_newest_first(repo):
    here = discover(repo.path)
    person = {"kind": Kind.INPUT, "origin": Origin.PERSON}
    one = Conversation.open(here, "_one")
    one.append(Entry(Kind.BEGIN))
    one.append(Entry(**person, text="What\x1b[2J\nlanded?"))
    side = Conversation.open(here, "_one.side1", at=one.tip)
    side.append(Entry(**person, text="aside"))
    Conversation.open(here, "fix-it").append(Entry(**person, text="a task"))
    listed = call(repo, "chat", "--list")
    as_json = call(repo, "chat", "--list", "--json").json

    assert 0 == listed.code
    assert 1 == len(listed.lines)
    assert ["one", "2", "entries"] == listed.out.split()[:3]
    assert "What\\x1b[2J landed?" in listed.out
    assert [("one", 2)] == [(e["id"], e["entries"]) for e in as_json["chats"]]


def test_without_a_chat_the_list_says_how_to_begin_one(repo):
    answer = call(repo, "chat", "--list")

    assert (0, "") == (answer.code, answer.out)
    assert "gitagent chat" in answer.err
