"""Who looks at a chat: nobody waits for a slow one, and each sees all in order."""

import stat
from contextlib import suppress

import pytest

from gitagent.core.chat import (
    LINE,
    UNREAD,
    Delta,
    Doing,
    Greeting,
    Hello,
    Say,
    Sent,
    State,
    Told,
)
from gitagent.core.conversation import Entry, Kind
from gitagent.worker.loop.serving import Clients, Has
from tests.support.waiting import wait_for
from tests.worker.loop.talk import Person

BIG = "x" * 20_000  # so that no buffer of the kernel hides who does not read


class Record:
    """Serves entries, and greets as a chat does."""

    def __init__(self, path) -> None:
        self.entries = []
        self.said = []
        self.clients = Clients(path, self.take, self.greet, lambda: None)

    def add(self, text=BIG):
        entry = Entry(Kind.SAY, number=len(self.entries) + 1, text=text)
        self.entries.append(entry)
        self.clients.tell(Told(entry))

    def take(self, client, request):
        if isinstance(request, Hello):
            client.greet(self.frames, Has(request.side, request.since))
        else:
            self.said.append(request)
            client.tell([Sent(request.request, 1)])

    def greet(self, client):
        client.greet(self.frames)

    def frames(self, has: Has):
        first = max(has.number, len(self.entries) - 20) + 1
        greeting = Greeting("talk", len(self.entries), first=first)
        return [greeting, *(Told(each) for each in self.entries[first - 1 :])]


@pytest.fixture
def record(tmp_path_factory):
    made = Record(tmp_path_factory.mktemp("s") / "s")
    made.path = made.clients._server._path
    made.clients.start()
    yield made
    made.clients.stop()


def numbers(person):
    return [each.entry.number for each in person.frames if isinstance(each, Told)]


def test_a_client_that_does_not_read_gets_a_greeting_in_place_of_what_it_missed(
    record,
):
    with Person(record.path, Hello()) as slow, Person(record.path, Hello()) as quick:
        slow.until(Greeting)
        quick.until(Greeting)
        for number in range(1, 401):
            record.add()
            quick.until(Told, lambda told, number=number: told.entry.number == number)
        slow.until(Told, lambda told: told.entry.number == 400)

    greetings = [each for each in slow.frames if isinstance(each, Greeting)]
    assert list(range(1, 401)) == numbers(quick)
    assert 2 == len(greetings)
    assert 381 == greetings[1].first
    assert sorted(set(numbers(slow))) == numbers(slow)
    assert list(range(381, 401)) == numbers(slow)[-20:]
    assert len(slow.frames) < 3 * UNREAD


def test_what_answers_a_client_is_kept_where_the_rest_is_dropped(record):
    with Person(record.path, Hello()) as slow:
        slow.until(Greeting)
        for _ in range(UNREAD // 2):
            record.add()
        slow.say("a", "r1")
        wait_for(lambda: record.said, what="it was taken")
        for _ in range(4 * UNREAD):
            record.add()
        slow.until(Sent)

        assert "r1" == slow.frames[-1].request


def test_who_asks_and_never_listens_is_cut_off(record):
    with Person(record.path, Hello()) as deaf:
        deaf.until(Greeting)
        for _ in range(UNREAD):
            record.add()
        with suppress(OSError):
            for number in range(100 * UNREAD):
                deaf.send(Say("a" * 1000, f"r{number}"))
    wait_for(lambda: record.clients.count == 0, what="it is gone")


def test_deltas_that_nobody_has_read_become_one(record):
    with Person(record.path, Hello()) as person:
        person.until(Greeting)
        record.add()
        for _ in range(50):
            record.add()
        for _ in range(500):
            record.clients.tell(Delta("ab"))
        record.clients.tell(Doing(State.IDLE))
        person.until(Doing)

    text = "".join(each.text for each in person.frames if isinstance(each, Delta))
    assert "ab" * 500 == text
    assert len(person.frames) < UNREAD


def test_a_line_without_an_end_is_no_way_to_fill_the_memory(record):
    with Person(record.path, Hello()) as person:
        person.until(Greeting)
        with suppress(OSError):
            person._socket.sendall(b"x" * 4 * LINE)
        wait_for(lambda: record.clients.count == 0, what="it is gone")


def test_the_socket_is_for_its_user_alone(record):
    assert 0o600 == stat.S_IMODE(record.path.stat().st_mode)


def test_who_did_not_say_hello_is_told_nothing_but_its_answers(record):
    with Person(record.path, None) as person:
        record.add()
        person.say("a", "r1")

        assert "r1" == person.until(Sent).request
        assert [] == numbers(person)
