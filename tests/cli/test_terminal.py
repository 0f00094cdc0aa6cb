"""A chat on a terminal: what is shown of what comes, and what is done about a line."""

import itertools
import shutil
from contextlib import ExitStack

import pytest

from gitagent.cli.terminal import shown, words
from gitagent.cli.terminal.link import Back, Gone, Lost
from gitagent.cli.terminal.prompt import wrapped
from gitagent.cli.terminal.stream import Stream
from gitagent.cli.terminal.talk import Talk
from gitagent.cli.terminal.words import Command, Text, Wrong
from gitagent.core import chats, forking
from gitagent.core.chat import (
    Answered,
    Decide,
    Delta,
    Doing,
    Greeting,
    Hello,
    Plan,
    Refused,
    Rewind,
    Say,
    Sent,
    Side,
    SideEnd,
    State,
    Stop,
    Told,
    Trouble,
    Undone,
    When,
)
from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin
from gitagent.errors import Busy
from tests.support.chat_server import ROOT, ChatProcess, daemon
from tests.support.daemon import COMMAND
from tests.support.terminal import Terminal


@pytest.fixture
def talk():
    """Give the view of a new, idle chat; requests are r1, r2, …"""
    count = itertools.count(1)
    made = Talk(lambda: f"r{next(count)}")
    made.on(Greeting("main", 0))
    return made


def texts(made):
    return [line.text for line in made.lines]


def shown_of(talk, *frames):
    return [text for frame in frames for text in texts(talk.on(frame))]


def person(number, text, request=""):
    entry = Entry(Kind.INPUT, number, origin=Origin.PERSON, text=text, request=request)
    return Told(entry)


def model(number, text, *calls):
    return Told(Entry(Kind.SAY, number, origin=Origin.MODEL, text=text, calls=calls))


def result(**fields):
    return Entry(Kind.RESULT, 7, tool="grep", what="src", **fields)


# What is typed


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("hello\n there ", Text("hello\n there")),
        (" /not a command", Text("/not a command")),
        ("/steer go left", Text("go left", steer=True)),
        ("/rewind 12", Command("/rewind", number=12)),
        ("/plan", Command("/plan")),
        ("/plan off", Command("/plan", off=True)),
        ("/quit ", Command("/quit")),
        ("  \n", None),
    ],
)
def test_a_line_is_words_or_a_command(line, meant):
    assert meant == words.parse(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/rewnd 3", "did you mean /rewind?"),
        ("/usr/bin/env", "see /help"),
        ("/rewind", "the number of an entry"),
        ("/yes \u0661", "the number of an entry"),
        ("/no -1", "the number of an entry"),
        ("/plan maybe", "/plan takes off or nothing"),
        ("/side now", "/side takes nothing"),
        ("/steer", "say what"),
        ("/\x1b[2J", "there is no /\\x1b[2J"),
    ],
)
def test_what_is_no_command_is_said_with_the_mend(line, why):
    meant = words.parse(line)

    assert isinstance(meant, Wrong)
    assert why in meant.sentence


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("/plan", Plan(on=True)),
        ("/plan off", Plan(on=False)),
        ("/side", Side()),
        ("/yes 4", Decide(4, yes=True)),
        ("/no 4", Decide(4, yes=False)),
        ("/rewind 4", Rewind(4)),
        ("hello", Say("hello", "r1")),
        ("/steer hello", Say("hello", "r1", When.STEER)),
    ],
)
def test_a_command_is_sent_as_its_message(talk, line, request_):
    assert [request_] == talk.typed(line).requests


@pytest.mark.parametrize("line", ["/end", "/drop", "/stop"])
def test_a_command_that_has_no_sense_now_says_so(talk, line):
    made = talk.typed(line)

    assert ([], 1) == (made.requests, len(made.lines))


def test_every_command_is_in_the_help(talk):
    listed = texts(talk.typed("/help"))

    assert list(words.COMMANDS) == [line.split("  ")[1].strip() for line in listed]


def test_words_that_are_too_long_are_not_kept(talk):
    made = talk.typed("a" * 80_001)

    assert ([], {}) == (made.requests, talk.unsent)
    assert "at most" in texts(made)[0]


# What counts as sent


def test_words_count_as_sent_once_their_entry_is_known(talk):
    talk.typed("hello\nthere")
    before = [line.text for line in talk.waiting()]
    after = shown_of(talk, person(1, "hello\nthere", "r1"), Sent("r1", 1))

    assert ["[…] hello there"] == before
    assert ["[1] hello", "    there"] == after
    assert [] == list(talk.waiting())


def test_words_are_shown_once_whichever_news_of_them_comes_first(talk):
    talk.typed("hello")

    assert ["[1] hello"] == shown_of(talk, Sent("r1", 1), person(1, "hello", "r1"))


def test_words_for_after_the_turn_are_said_to_be_queued(talk):
    talk.on(Doing(State.ASKING))
    talk.typed("next")

    assert ["[…] next (queued: after this turn)"] == [
        line.text for line in talk.waiting()
    ]


def test_words_that_wait_in_the_record_say_so_unless_they_steer(talk):
    talk.on(Doing(State.ASKING))
    talk.typed("next")
    talk.typed("/steer left")

    assert ["[4] next (queued: after this turn)", "[5] left"] == shown_of(
        talk, Sent("r1", 4), Sent("r2", 5)
    )


def test_words_that_were_recorded_in_a_side_chat_have_no_number(talk):
    talk.typed("hello")

    assert ["[said elsewhere] hello"] == shown_of(talk, Sent("r1", 0))


def test_words_that_are_refused_are_shown_with_the_reason(talk):
    talk.typed("hello")

    assert ["not sent: a turn is running (hello)"] == shown_of(
        talk, Refused("r1", "a turn is running")
    )
    assert {} == talk.unsent


def test_after_a_lost_connection_what_was_not_recorded_is_sent_again(talk):
    talk.typed("one")
    talk.typed("two")
    talk.on(Lost())
    status = talk.status()
    talk.on(Back())
    first = talk.on(Greeting("main", 0)).requests
    once_more = talk.on(Greeting("main", 0, profile="plan")).requests

    assert "connection lost" in status
    assert [Say("one", "r1"), Say("two", "r2")] == first
    assert [] == once_more


def test_words_for_a_side_chat_are_not_sent_to_the_conversation(talk):
    talk.on(Greeting("main", 3, side=1, first=4))
    talk.typed("aside")
    talk.on(Lost())
    talk.on(Back())
    made = talk.on(Greeting("main", 3, first=4))

    assert [] == made.requests
    assert "not sent, its side chat is over: aside" in texts(made)
    assert {} == talk.unsent


def test_half_a_character_is_replaced_before_it_is_sent(talk):
    assert [Say("a?", "r1")] == talk.typed("a\udce4").requests


# What is shown of what comes


def test_a_turn_is_shown_as_it_comes_and_never_twice(talk):
    came = shown_of(talk, Doing(State.ASKING), Delta("one\r"), Delta("\ntw"))
    tail = talk.stream.tail
    rest = shown_of(talk, Delta("o\nthree"), model(1, "one\ntwo\nthree"))

    assert (["one"], "tw") == (came, tail)
    assert ["two", "three"] == rest
    assert "" == talk.stream.tail


def test_control_characters_of_a_model_do_not_reach_the_terminal(talk):
    assert ["\\x1b[2Ja\\u202e", "b"] == shown_of(
        talk, Delta("\x1b[2Ja\u202e\nb"), model(1, "\\x1b[2Ja\\u202e\nb")
    )


def test_a_turn_that_is_asked_for_again_is_shown_as_begun_anew(talk):
    assert ["one", "[begun anew]", "two"] == shown_of(
        talk, Delta("one"), model(1, "two")
    )


@pytest.mark.parametrize(
    ("so_far", "expected"),
    [("one\ntwo\nth", ["two"]), ("other\nth", ["tw", "[begun anew]", "other"])],
)
def test_who_joins_again_in_a_turn_sees_what_is_missing(talk, so_far, expected):
    talk.on(Delta("one\ntw"))
    came = shown_of(talk, Greeting("main", 0), Delta(so_far))

    assert expected == came
    assert "th" == talk.stream.tail


def test_a_turn_that_is_cut_off_says_that_it_is_not_in_the_record(talk):
    assert ["half", "[cut off; not in the record]"] == shown_of(
        talk, Delta("half"), Doing(State.IDLE)
    )


def test_a_line_without_end_is_shown_in_pieces():
    stream = Stream()
    lines = [line.text for line in stream.more("word " * 2000)]

    assert "word " * 2000 == "".join(lines) + stream.tail
    assert [] == [line for line in lines if len(line) > 4000]


def test_an_entry_is_shown_once_however_often_it_is_told(talk):
    assert ["[1] hi"] == shown_of(talk, person(1, "hi"), Greeting("main", 1))
    assert [] == shown_of(talk, person(1, "hi"))
    assert Hello(1, 0) == talk.hello()


def test_what_is_left_out_is_said(talk):
    made = shown_of(talk, Greeting("main", 100, first=41), person(41, "hi"))

    assert ["[40 entries are left out]", "[41] hi"] == made


def test_a_side_chat_goes_on_from_what_was_shown_and_so_does_the_chat(talk):
    shown_of(talk, person(1, "hi"), model(2, "yes"))
    begun = shown_of(
        talk, Greeting("main", 2, profile="side", side=1, first=3), person(3, "aside")
    )
    hello = talk.hello()
    status = talk.status()
    ended = talk.typed("/end").requests
    back = shown_of(talk, Greeting("main", 2, first=3), person(3, "on"))

    assert ["[side chat 1: it can only read; /end or /drop ends it]"] == begun[:1]
    assert ["[3] aside"] == begun[1:]
    assert Hello(3, 1) == hello
    assert "idle · side chat 1 · chat main" == status
    assert [SideEnd(inject=True)] == ended
    assert ["[the side chat 1 is over]", "[3] on"] == back


def test_the_plan_profile_is_told_and_stands_in_the_status(talk):
    told = shown_of(talk, Greeting("main", 0, profile="plan"))

    assert ["[plan on: nothing with an effect]"] == told
    assert "idle · plan · chat main" == talk.status()
    assert ["[plan off]"] == shown_of(talk, Greeting("main", 0))


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (
            result(state=CallState.DONE, text="a", size=2048),
            "  = grep src: 2.0 KiB",
        ),
        (result(state=CallState.DONE, text="ä"), "  = grep src: 2 bytes"),
        (
            result(state=CallState.DENIED, text="no grant\nfor it"),
            "  ! grep src denied: no grant for it",
        ),
        (result(state=CallState.INTERRUPTED), "  ! grep src interrupted"),
        (
            Entry(
                Kind.RESULT, 7, tool="propose", state=CallState.DONE, text="answer it"
            ),
            "  ? propose: answer it (/yes 7 or /no 7)",
        ),
        (
            Entry(Kind.INPUT, 3, text="a summary\x07"),
            "[3: gitagent: a summary\\x07]",
        ),
        (
            Entry(Kind.SUMMARY, 9, first=1, last=6),
            "[entries 1 to 6 are summed up for the model]",
        ),
        (Entry(Kind.REWIND, 9, last=4), "[back to entry 4]"),
        (
            Entry(Kind.END, 9, ended="budget_exhausted", text="no more"),
            "[budget_exhausted: no more]",
        ),
    ],
)
def test_an_entry_that_is_no_talk_is_one_line(entry, line):
    assert [line] == [each.text for each in shown.entry_lines(entry)]


@pytest.mark.parametrize("state", CallState)
def test_every_end_of_a_call_is_shown(state):
    (line,) = shown.entry_lines(result(state=state, text="why"))

    assert "grep src" in line.text


@pytest.mark.parametrize(
    "entry",
    [
        Entry(Kind.INTENT, 2),
        Entry(Kind.BEGIN, 1),
        Entry(Kind.END, 3, ended="done"),
        Entry(Kind.INPUT, 4, text=chats.STOPPED),
        Entry(Kind.INPUT, 5, text=forking.OPENING, binding=True),
    ],
)
def test_what_people_need_not_see_is_not_shown(entry):
    assert [] == list(shown.entry_lines(entry))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ('{"pattern": "foo", "path": "src"}', 'grep "foo" src'),
        ('{"path": "a b", "limit": 3}', 'grep "a b" limit=3'),
        ("{}", "grep"),
        ("", "grep"),
        ("[1", "grep [1"),
        ('{"pattern": "\x1b"}', 'grep {"pattern": "\\x1b"}'),
    ],
)
def test_a_call_is_one_short_line(given, text):
    assert text == shown.call_text(Call("c", "grep", given))


def test_a_turn_without_an_answer_is_told_once(talk):
    ended = Entry(Kind.END, 3, ended="stopped", text="by a person")

    assert ["half", "[cut off; not in the record]", "[stopped]"] == (
        shown_of(talk, Delta("half"), Told(ended), Answered("r", 0, "", "by a person"))
    )


def test_trouble_is_told(talk):
    assert ["[no such entry]"] == shown_of(talk, Trouble("no such entry"))


def test_words_that_wait_in_the_record_are_told_to_be_queued_and_then_placed(talk):
    waits = Entry(Kind.INPUT, 4, origin=Origin.PERSON, text="next", waits=True)
    frames = [Told(waits), Told(Entry(Kind.INPUT, 6, places=4))]

    assert [
        "[4] next (queued)",
        "[6: now 4 is told to the model]",
    ] == shown_of(talk, *frames)
    assert ["6", "you", "next"] == " ".join(texts(talk.typed("/entries"))).split()


# Going back, stopping, leaving


def test_going_back_says_first_what_cannot_be_undone(talk):
    asked = talk.typed("/rewind 4").requests
    told = shown_of(talk, Undone(4, ("task fix was started",)))
    sure = talk.typed("y").requests

    assert [Rewind(4)] == asked
    assert "  - task fix was started" in told
    assert [Rewind(4, sure=True)] == sure
    assert talk.going_back is None


@pytest.mark.parametrize("answer", ["n", "", "/rewind 4", "yep"])
def test_going_back_needs_a_yes(talk, answer):
    talk.on(Undone(4))

    assert [] == talk.typed(answer).requests
    assert talk.going_back is None


def test_the_entries_to_go_back_to_are_listed_without_those_put_aside(talk):
    frames = [person(1, "hi"), model(2, "yes"), person(3, "do it")]
    for frame in [*frames, Told(Entry(Kind.REWIND, 4, last=2))]:
        talk.on(frame)

    assert [["1", "you", "hi"], ["2", "model", "yes"]] == [
        line.split() for line in texts(talk.typed("/entries"))
    ]


def test_an_interrupt_ends_the_turn_and_nothing_else(talk):
    idle = talk.interrupted()
    talk.on(Doing(State.WORKING))
    working = talk.interrupted()
    talk.on(Lost())

    assert idle is None
    assert working is not None
    assert [Stop()] == working.requests
    assert talk.interrupted() is None


def test_who_leaves_is_told_what_goes_on_and_what_may_be_lost(talk):
    talk.on(Doing(State.ASKING))
    talk.typed("more")

    assert [
        "[not known to be recorded: more]",
        "[the turn goes on; gitagent chat main shows it]",
    ] == [line.text for line in talk.left()]


def test_a_connection_that_does_not_come_back_ends_the_chat(talk):
    made = talk.on(Gone(Busy("no daemon runs", "start one")))

    assert made.leave
    assert ["[no daemon runs; start one]"] == texts(made)


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("abcdef", 4, ["abcd", "ef"]),
        ("世界世", 4, ["世界", "世"]),
        ("a世界", 4, ["a世", "界"]),
        ("", 4, []),
        ("abcdefghij", 2, ["gh", "ij"]),
    ],
)
def test_a_long_line_is_drawn_on_the_last_rows_that_it_takes(text, width, rows):
    assert rows == wrapped(text, width, 2)


# On a real terminal


@pytest.fixture
def on_screen(repo, tmp_path, monkeypatch):
    """Give a terminal with a chat, and the process that leads that."""
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with ExitStack() as stack:
        leader = ChatProcess(tmp_path)
        stack.callback(leader.kill)
        stack.enter_context(daemon(repo.common_dir, leader.lead))
        terminal = Terminal(*COMMAND, "chat", cwd=repo.path)
        stack.enter_context(terminal)
        terminal.shows("idle · chat talk")
        yield terminal, leader


@pytest.mark.slow
def test_a_person_talks_stops_asks_aside_and_goes_back(on_screen):
    terminal, _ = on_screen
    terminal.paste("Grüße\n世界")
    terminal.press("", "Enter")
    terminal.shows("[1] Grüße\n    世界\n", "You said: Grüße\n世界\n", "\nidle")
    terminal.enter("hold on")
    terminal.shows("held open\nand half a li", "asking · chat talk")
    terminal.enter("next")
    terminal.shows("[…] next (queued: after this turn)")
    terminal.press("", "C-c")
    terminal.shows("[stopped]", "[5] next\nYou said: next", "\nidle")
    terminal.enter("/side")
    terminal.shows("idle · side chat 1 · chat talk")
    terminal.enter("aside")
    terminal.shows("[7] aside\nYou said: aside")
    terminal.enter("/end")
    terminal.shows("[the side chat 1 is over]", "[7: gitagent: aside: 2 entries]")
    terminal.enter("/rewind 2")
    terminal.shows("  - task fix-it was started", "go back to 2? y/n")
    terminal.enter("y")
    terminal.shows("[back to entry 2]")
    terminal.press("half", "C-c", "C-c")
    terminal.shows("[^C once more leaves, and so does ^D]")
    terminal.press("", "C-c")
    screen = terminal.shows("ended with 0")

    assert 1 == screen.count("held open")
    assert 1 == screen.count("You said: next")


@pytest.mark.slow
def test_a_chat_goes_on_after_its_process_was_killed(on_screen):
    terminal, leader = on_screen
    terminal.enter("hold on")
    terminal.shows("[1] hold on", "and half a li", "asking · chat")
    terminal.enter("next")
    terminal.shows("[…] next")
    leader.kill()
    terminal.shows("[the connection is lost; trying again]", "[connected again]")
    (leader.folder / "go").touch()
    terminal.shows("and half a line\n[3] next\nYou said: next")
    terminal.press("", "C-d")
    screen = terminal.shows("ended with 0")
    record = (leader.folder / "record").read_text()

    assert 2 == leader.started
    assert 1 == screen.count("held open")
    assert 1 == record.count('"text": "next"')
