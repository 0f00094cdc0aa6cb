"""gitagent inbox: a card for each outcome until it is acknowledged."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gitagent.core.action import Archive
from gitagent.core.question import Asker, Card, Question
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskState
from gitagent.daemon import archive, tasks
from gitagent.daemon import inbox as box
from gitagent.git.repository import discover
from tests.support import ledger
from tests.support.cli import Answer, call
from tests.support.daemon import gitagent
from tests.support.repos import Repo

INBOX = "refs/gitagent/inbox"
LONG_AGO = "2026-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({"Makefile": "test:\n\ttest ! -e bad\n"})
    call(repo, "init", "--no-check")


def rejected(repo: Repo, name: str, **fields: object) -> Submission:
    tip = repo.commit({"x": name}, branch=name)
    made = ledger.submission(repo, tip, branch=f"refs/heads/{name}")
    fields = {"reason": "Check tests failed.", "output": "line 1\nboom\n", **fields}
    return ledger.moved(repo, made, SubmissionState.REJECTED, **fields)


def ids(repo: Repo, *args: str) -> list[str]:
    return [
        each["id"] for each in call(repo, "inbox", "--json", *args).json["outcomes"]
    ]


def acked(repo: Repo, *names: str) -> Answer:
    answer = call(repo, "inbox", "ack", *names)

    assert 0 == answer.code, answer.err
    return answer


def test_a_rejection_is_shown_with_its_output_and_what_to_do(repo):
    made = rejected(repo, "work")
    shown = call(repo, "inbox").out
    (card,) = call(repo, "inbox", "--json").json["outcomes"]

    assert made.id in shown
    assert "Check tests failed." in shown
    assert "| boom" in shown
    assert "gitagent submit work" in shown
    assert ("rejected", "submission", False) == (
        card["state"],
        card["kind"],
        card["acknowledged"],
    )
    assert card["output"].endswith("boom")
    assert f"gitagent logs {made.id}" in card["next"]


def test_a_card_is_there_until_it_is_acknowledged(repo):
    one, other = rejected(repo, "one"), rejected(repo, "other")
    before = ids(repo)
    answer = acked(repo, one.id)

    assert {one.id, other.id} == set(before)
    assert one.id == answer.out.strip()
    assert [other.id] == ids(repo)
    assert {one.id, other.id} == set(ids(repo, "--all"))


def test_acknowledging_twice_is_no_change(repo):
    made = rejected(repo, "work")
    acked(repo, made.id)
    first = repo.ref(INBOX)
    again = acked(repo, made.id)

    assert first == repo.ref(INBOX)
    assert "" == again.out


def test_all_are_acknowledged_at_once(repo):
    rejected(repo, "one")
    repo.add_task("a", "true")
    ledger.task(repo, "a", TaskState.FAILED, reason="Attempt 1 failed.")
    before = len(ids(repo))
    acked(repo, "--all")

    assert 2 == before
    assert [] == ids(repo)
    assert "nothing waits" in call(repo, "inbox").err


@pytest.mark.parametrize("name", ["s-000000000000", "nothing", "No Id!"])
def test_an_unknown_id_is_no_and_nothing_is_acknowledged(repo, name):
    made = rejected(repo, "work")
    answer = call(repo, "inbox", "ack", made.id, name)

    assert (1, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert name in answer.err
    assert [made.id] == ids(repo)


def test_what_is_still_open_cannot_be_acknowledged(repo):
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))

    assert 1 == call(repo, "inbox", "ack", made.id).code
    assert [] == ids(repo)


@pytest.mark.parametrize("args", [[], ["--all", "s-000000000000"]])
def test_it_has_to_be_said_what_is_acknowledged(repo, args):
    assert 2 == call(repo, "inbox", "ack", *args).code


@pytest.mark.parametrize(
    ("state", "follows"),
    [
        (TaskState.FAILED, "task retry a"),
        (TaskState.STOPPED, "task retry a"),
        (TaskState.REFUSED, "gitagent task retry a"),
        (TaskState.DONE, ""),
    ],
)
def test_each_end_of_a_task_has_a_card(repo, state, follows):
    repo.add_task("a", "true")
    fields = {"title": "Do a", "reason": "So it is."}
    if state is TaskState.STOPPED:
        old = ledger.task(repo, "a", TaskState.WAITING, **fields)
        new = ledger.replaced(old, state=state)
        tasks.write(discover(repo.path), old, new, "stopped: So it is.")
    else:
        ledger.task(repo, "a", state, **fields)
    (card,) = call(repo, "inbox", "--json").json["outcomes"]

    assert ("a", str(state), "Do a", "So it is.") == (
        card["id"],
        card["state"],
        card["title"],
        card["reason"],
    )
    assert follows in card["next"]


def test_a_failed_task_shows_the_output_that_rejected_it_and_is_one_card(repo):
    repo.add_task("a", "true")
    made = rejected(repo, "work", task="a", output="the assertion\n")
    ledger.task(repo, "a", TaskState.FAILED, reason="Rejected.", submission=made.id)
    (card,) = call(repo, "inbox", "--json").json["outcomes"]

    assert ("a", "the assertion") == (card["id"], card["output"])
    assert made.id == card["submission"]


def test_naming_the_submission_of_a_task_acknowledges_the_task(repo):
    repo.add_task("a", "true")
    made = rejected(repo, "work", task="a")
    ledger.task(repo, "a", TaskState.FAILED, submission=made.id)
    acked(repo, made.id)

    assert [] == ids(repo)


def test_a_task_that_fails_again_is_shown_again(repo):
    repo.add_task("a", "true")
    old = ledger.task(repo, "a", TaskState.FAILED, since="2026-01-01T00:00:00Z")
    found = discover(repo.path)
    repo.git("update-ref", "-d", "refs/gitagent/tasks/a")
    ledger.task(repo, "a", TaskState.FAILED)
    box.acknowledge(found, ["a"])
    repo.git("update-ref", "-d", "refs/gitagent/tasks/a")
    again = "2126-01-01T00:00:00Z"
    ledger.task(repo, "a", TaskState.FAILED, since=again)

    assert old.since < again
    assert ["a"] == ids(repo)


def test_an_old_repository_does_not_drown_anybody(repo):
    repo.add_task("a", "true")
    ledger.task(repo, "a", TaskState.FAILED, since=LONG_AGO)

    assert [] == ids(repo)
    assert ["a"] == ids(repo, "--all")
    assert "acknowledged already" in acked(repo, "a").err


def test_what_a_daemon_began_holds_what_settles_later_however_long_it_lies(repo):
    with discover(repo.path).objects(fast=True) as objects:
        box.begin(discover(repo.path), objects)
    made = rejected(repo, "work")

    assert [made.id] == ids(repo)
    assert repo.ref(INBOX) is not None


def test_status_counts_what_is_not_acknowledged(repo):
    one = rejected(repo, "one")
    rejected(repo, "other")
    before = call(repo, "status").out
    acked(repo, one.id)
    after = call(repo, "status").out
    said = call(repo, "status", "--json").json["inbox"]
    acked(repo, "--all")

    assert "2 outcomes not acknowledged: gitagent inbox" in before
    assert "1 outcome not acknowledged: gitagent inbox" in after
    assert {"unacknowledged": 1} == said
    assert "acknowledged" not in call(repo, "status").out


def test_status_counts_more_than_it_shows(repo, monkeypatch):
    monkeypatch.setattr("gitagent.daemon.overview.SETTLED_SHOWN", 1)
    for name in "abc":
        rejected(repo, name)

    assert 3 == call(repo, "status", "--json").json["inbox"]["unacknowledged"]


def test_who_waits_for_the_outcome_has_seen_it(repo):
    repo.commit({"a": "a"}, branch="good")
    repo.commit({"bad": "a"}, branch="bad")
    landed = gitagent(repo, "land", "good")
    no = gitagent(repo, "land", "bad")
    again = gitagent(repo, "submit", "--wait", "bad")

    assert [0, 1, 1] == [landed.returncode, no.returncode, again.returncode]
    assert [] == ids(repo)
    assert 2 == len(ids(repo, "--all"))


def test_what_was_submitted_without_waiting_is_in_the_inbox(repo):
    repo.commit({"a": "a"}, branch="good")
    repo.commit({"b": "b"}, branch="other")
    gitagent(repo, "submit", "good")
    gitagent(repo, "land", "other")
    (card,) = call(repo, "inbox", "--json").json["outcomes"]

    assert "landed" == card["state"]
    assert repo.oid(card["next"].split()[-1]) == card["commit"]


def test_an_archived_outcome_can_be_named(repo):
    made = rejected(repo, "work")
    ref = f"refs/gitagent/submissions/{made.id}"
    found = discover(repo.path)
    with found.objects() as objects:
        archive.enact(found, objects, Archive("2026-01", ((ref, repo.oid(ref)),)))

    assert [] == ids(repo)
    assert "acknowledged already" in acked(repo, made.id).err


def test_many_acknowledge_at_once_and_nothing_is_lost(repo):
    made = [rejected(repo, name).id for name in "abcdef"]
    found = discover(repo.path)
    with ThreadPoolExecutor(6) as pool:
        done = [*pool.map(lambda name: box.acknowledge(found, [name]), made)]

    assert [[name] for name in made] == done
    assert [] == ids(repo)


def test_a_record_of_a_newer_release_is_named(repo):
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"{}")
    tree = repo.git("mktree", stdin=f"100644 blob {blob}\trecord-v9.json\n".encode())
    repo.git("update-ref", INBOX, repo.git("commit-tree", "-m", "x", tree))
    answer = call(repo, "inbox")

    assert (1, "") == (answer.code, answer.out)
    assert "install that release or a newer one" in answer.err
    assert 0 == call(repo, "status").code


# --- questions and commits past the lander


@pytest.mark.parametrize(
    ("asker", "kind"), [(Asker.AGENT, "question"), (Asker.BUDGET, "budget")]
)
def test_what_a_task_asks_is_shown_until_it_is_answered(repo, asker, kind):
    repo.add_task("a", "true")
    card = Card(asker, (Question("How much?", ("ten", "two")),), LONG_AGO)
    ledger.task(repo, "a", TaskState.QUESTION, card=card, attempt=1, title="Do a")
    shown = call(repo, "inbox").out
    (found,) = call(repo, "inbox", "--json").json["outcomes"]
    counted = call(repo, "status", "--json").json["inbox"]
    call(repo, "answer", "a", "1=10")

    assert "question  a  Do a" in shown
    assert "  1. How much?\n     a) ten\n     b) two\n" in shown
    assert "  Next: gitagent answer a 1=…" in shown
    assert (kind, "question") == (found["kind"], found["state"])
    assert {"unacknowledged": 1} == counted
    assert [] == ids(repo, "--all")


def test_an_acknowledged_question_waits_all_the_same(repo):
    repo.add_task("a", "true")
    card = Card(Asker.AGENT, (Question("How much?"),), LONG_AGO)
    ledger.task(repo, "a", TaskState.QUESTION, card=card, attempt=1)
    acked(repo, "a")

    assert [] == ids(repo)
    assert ["a"] == ids(repo, "--all")
    assert 1 == len(call(repo, "status", "--json").json["questions"])


def test_a_commit_past_the_lander_is_an_alarm_until_it_is_acknowledged(repo):
    sneaked = repo.commit({"x": "x"}, "Sneaked in")
    shown = call(repo, "inbox").out
    (found,) = call(repo, "inbox", "--json").json["outcomes"]
    unknown = call(repo, "inbox", "ack", sneaked[:6])
    answer = acked(repo, sneaked[:12])
    again = acked(repo, "--all")

    assert f"direct  {sneaked[:12]}  Sneaked in" in shown
    assert f"Next: git show {sneaked[:12]}" in shown
    assert "Test Person" in found["reason"]
    assert ("guard", "direct", sneaked) == (
        found["kind"],
        found["state"],
        found["commit"],
    )
    assert 1 == unknown.code
    assert sneaked == answer.out.strip()
    assert "" == again.out
    assert [] == ids(repo)
    assert [sneaked] == ids(repo, "--all")


def test_an_alarm_counts_whatever_date_its_commit_has(repo):
    with discover(repo.path).objects(fast=True) as objects:
        box.begin(discover(repo.path), objects)
    old = repo.commit_at("refs/heads/main", {"x": "x"}, "Dated long ago")

    assert [old] == ids(repo)


def test_what_came_past_the_lander_before_the_inbox_began_is_history(repo):
    repo.commit_at("refs/heads/main", {"x": "x"}, "Dated long ago")
    before = ids(repo)
    with discover(repo.path).objects(fast=True) as objects:
        box.begin(discover(repo.path), objects)

    assert [] == before == ids(repo)


def test_without_a_guard_nobody_is_alarmed(repo):
    text = repo.read(".agent/config.toml")
    off = text.replace('guard = "warn"', 'guard = "off"')
    repo.commit({".agent/config.toml": off})

    assert off != text
    assert [] == ids(repo)
    assert 1 == len(call(repo, "status", "--json").json["target"]["direct"])
    assert 0 == call(repo, "status", "--json").json["inbox"]["unacknowledged"]
