"""Exchanges with models written to a real repository, and read from it again."""

import json
import threading
from dataclasses import replace

import pytest

from gitagent.core.exchange import State
from gitagent.core.layout import EXCHANGES
from gitagent.core.usage import NOTHING
from gitagent.errors import UserError
from gitagent.git.repository import discover
from gitagent.worker.exchanges import answer, body, exchanges, newest
from gitagent.worker.journal import Journal
from tests.support.exchanges import RESERVED, USED, done, exchange, request
from tests.support.repos import Repo

REF = f"{EXCHANGES}fix"
COUNTED = "1,000 tokens in, 50 out, $0.2500"


@pytest.fixture
def journal(repo: Repo) -> Journal:
    return Journal(discover(repo.path), "fix", program="claude")


def told(repo, attempt=None):
    with discover(repo.path).objects() as objects:
        tip = objects.ref(REF)
        return exchanges(objects, tip, attempt) if tip else []


def subjects(repo):
    return repo.git("log", "--first-parent", "--format=%s", REF).splitlines()[::-1]


def test_what_was_sent_and_answered_is_read_back_to_the_byte(repo, journal):
    sent_bytes, answer_bytes = request("Hej på dig", "\\u00e9"), b'{"content": []}\n'
    ended = journal.ended(done(journal.sent(exchange(), sent_bytes)), answer_bytes)
    (found,) = told(repo)

    assert ended == found
    with discover(repo.path).objects() as objects:
        assert sent_bytes == body(objects, found)
        assert answer_bytes == answer(objects, found)
    assert sum(block.tokens for block in found.blocks) == 1000
    assert [
        "attempt 1, request 1 to anthropic:sonnet is sent",
        f"attempt 1, request 1 to anthropic:sonnet is answered: {COUNTED}",
    ] == subjects(repo)


def test_a_repository_of_another_object_format_is_no_matter(tmp_path):
    repo = Repo.make(tmp_path / "other", {"a": "b"}, object_format="sha256")
    other = Journal(discover(repo.path), "fix")
    ended = other.ended(done(other.sent(exchange(), request("one"))), b"x")

    with discover(repo.path).objects() as objects:
        assert request("one") == body(objects, ended)
        assert b"x" == answer(objects, ended)


def test_plain_git_puts_a_request_together_again(repo, journal):
    sent = request("one", "two")
    journal.sent(exchange(), sent)
    names = repo.git("ls-tree", "--name-only", REF).splitlines()
    pieces = [repo.raw("show", f"{REF}:{name}") for name in names if "body-" in name]

    assert sent == b"".join(pieces)


def test_a_request_that_has_no_end_is_sent(repo, journal):
    journal.sent(exchange(), request("one"))
    (found,) = told(repo)

    assert (State.SENT, RESERVED, RESERVED) == (
        found.state,
        found.spent,
        found.reserved,
    )


def test_failures_and_those_that_left_are_told_in_words(repo, journal):
    one, two = (journal.sent(exchange(n), request("x")) for n in (1, 2))
    reason = "The provider is\nbusy."
    failed = {"state": State.FAILED, "usage": NOTHING, "reason": reason}
    left = f"was left before its answer ended: {COUNTED}"
    journal.ended(done(one, **failed), b"")
    journal.ended(done(two, state=State.LEFT), b"data: ")

    assert [
        "attempt 1, request 1 to anthropic:sonnet failed: The provider is busy.",
        f"attempt 1, request 2 to anthropic:sonnet {left}",
    ] == subjects(repo)[2:]
    with discover(repo.path).objects() as objects:
        assert [b"", b"data: "] == [answer(objects, each) for each in told(repo)]


def test_the_task_has_spent_what_all_its_attempts_have(repo, journal):
    journal.ended(done(journal.sent(exchange(), request("a"))), b"x")
    later = Journal(discover(repo.path), "fix")
    sent = later.sent(exchange(attempt=2, day="2026-12-01"), request("a"))
    ended = later.ended(done(sent, day="2026-12-01"), b"x")

    assert (USED + RESERVED, RESERVED) == (sent.spent, sent.spent_day)
    assert (USED + USED, USED) == (ended.spent, ended.spent_day)
    assert "2026-12-01" == ended.day
    assert [(1, 1), (2, 1)] == [(e.attempt, e.number) for e in told(repo)]
    assert [(2, 1)] == [(e.attempt, e.number) for e in told(repo, 2)]


def test_what_was_under_way_at_a_crash_counts_as_spent(repo, journal):
    first = journal.sent(exchange(1), request("a"))
    journal.sent(exchange(2), request("b"))
    journal.sent(exchange(3), request("c"))
    journal.ended(done(first), b"x")
    with discover(repo.path).objects() as objects:
        (tip,) = newest(objects, objects.refs())
    later = Journal(discover(repo.path), "fix")
    sent = later.sent(exchange(attempt=2), request("a"))
    ended = later.ended(done(sent), b"x")

    assert USED + RESERVED + RESERVED == tip.spent == tip.spent_day
    assert tip.spent + RESERVED == sent.spent
    assert tip.spent + USED == ended.spent == ended.spent_day


def test_the_newest_of_each_task_is_there_and_what_is_unreadable_is_left_out(repo):
    opened = discover(repo.path)
    for task in ("one", "two"):
        Journal(opened, task).sent(replace(exchange(), task=task), request("a"))
    repo.git("update-ref", f"{EXCHANGES}odd", "HEAD")
    with opened.objects() as objects:
        found = newest(objects, objects.refs())

    assert [("one", RESERVED), ("two", RESERVED)] == [
        (each.task, each.reserved) for each in found
    ]


def test_threads_lose_nothing(repo, journal):
    def talk(number):
        sent = journal.sent(exchange(number), request("a", str(number)))
        journal.ended(done(sent), str(number).encode())

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(1, 9)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = told(repo)

    assert list(range(1, 9)) == [each.number for each in found]
    assert {State.DONE} == {each.state for each in found}
    with discover(repo.path).objects() as objects:
        (tip,) = newest(objects, objects.refs())
    assert 8 * USED.output == tip.spent.output


def test_a_chain_that_was_deleted_is_begun_anew(repo, journal):
    first = journal.ended(done(journal.sent(exchange(1), request("a"))), b"x")
    repo.git("update-ref", "-d", REF)
    sent = journal.sent(exchange(2), request("a", "b"))
    repo.git("update-ref", "-d", REF)
    ended = journal.ended(done(sent), b"y")

    assert first.spent + USED == ended.spent
    assert [2] == [each.number for each in told(repo)]
    with discover(repo.path).objects() as objects:
        assert request("a", "b") == body(objects, ended)


def test_what_the_model_said_is_known_again_by_its_request(journal):
    said = {"content": [{"type": "text", "text": "I look."}]}
    whole = json.dumps(said).encode()
    journal.ended(done(journal.sent(exchange(1), request("a"))), whole)
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", **said}]
    sent = journal.sent(exchange(2), json.dumps({"messages": messages}).encode())

    assert ["the program claude", "the model, request 1"] == [
        block.producer for block in sent.blocks if block.kind
    ]


def forged(repo, tip, change, drop=()):
    """Put a record in place of the newest one, with its JSON changed."""
    data = json.loads(repo.raw("show", f"{tip}:record-v1.json"))
    change(data)
    blob = repo.git("hash-object", "-w", "--stdin", stdin=json.dumps(data).encode())
    rows = [
        row
        for row in repo.git("ls-tree", tip).splitlines()
        if row.split("\t")[1] not in {"record-v1.json", *drop}
    ]
    rows.append(f"100644 blob {blob}\trecord-v1.json")
    tree = repo.git("mktree", stdin="\n".join(rows).encode() + b"\n")
    made = repo.git("commit-tree", tree, "-p", f"{tip}~1", "-m", "forged")
    repo.git("update-ref", REF, made)


def whole(objects, found):
    return body(objects, found), answer(objects, found)


def shorter(data):
    data["blocks"][1]["size"] -= 1


def fewer(data):
    del data["blocks"][-1]


def swapped(data):
    data["blocks"][1]["oid"] = data["blocks"][0]["oid"]
    data["blocks"][1]["size"] = data["blocks"][0]["size"]


def elsewhere(data):
    data["blocks"][1]["oid"] = "1" * 40


def other_answer(data):
    data["answer"] = data["blocks"][0]["oid"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (shorter, "its block 2 is not what it says"),
        (fewer, "it does not name all of its blocks"),
        (swapped, "its block 2 is not what it says"),
        (elsewhere, "the blob 111111111111 is not here"),
        (other_answer, "its answer is not what it says"),
    ],
)
def test_a_record_that_was_tampered_with_is_refused(repo, journal, change, why):
    ended = journal.ended(done(journal.sent(exchange(), request("one"))), b"x")
    forged(repo, ended.oid, change)
    (found,) = told(repo)

    with discover(repo.path).objects() as objects, pytest.raises(UserError) as error:
        whole(objects, found)
    assert (
        f"the record of request 1 of attempt 1 at fix cannot be used: {why}; see:"
        f" git log --first-parent {REF}"
    ) == error.value.line()


def test_records_of_one_attempt_do_not_fill_the_disk(repo, journal, monkeypatch):
    monkeypatch.setattr("gitagent.worker.journal.MOST", 60_000)
    sent = journal.sent(exchange(), request("x" * 70_000))
    with pytest.raises(UserError, match="records of this attempt have more than"):
        journal.sent(exchange(number=2), request("y"))
    journal.ended(done(sent), b"what was paid for is written down all the same")

    assert 2 == len(subjects(repo))
