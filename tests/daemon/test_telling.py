"""People are told of each outcome, question and alarm: once, and in nobody's way."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitagent.core.question import Asker, Card, Question
from gitagent.core.task import TaskState
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import Daemon, gitagent, record
from tests.support.repos import Repo
from tests.support.stepping import Stepped, config, keep
from tests.support.waiting import wait_for_file
from tests.support.webhook import Webhook

Start = Callable[..., Daemon]

INBOX = "refs/gitagent/inbox"


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with Webhook() as made:
        yield made


def kept(path: Path, webhook: str = "", **tables: dict[str, object]) -> Repo:
    """Make a repository whose outcomes are posted; ``bad`` fails its check."""
    if webhook:
        tables["notify"] = {"webhook": webhook}
    return keep(path / "kept", {"a.txt": "one\n"}, config("test ! -e bad", **tables))


@pytest.fixture
def repo(tmp_path: Path, hook: Webhook) -> Repo:
    return kept(tmp_path, hook.address)


@pytest.fixture
def stepped(repo: Repo) -> Iterator[Stepped]:
    made = Stepped(repo)
    made.rest()
    yield made
    made.close()
    made.loop.teller.close()


def told(hook: Webhook) -> list[tuple[str, str]]:
    return [(each["id"], each["state"]) for each in hook.received]


def ask(repo: Repo, name: str, asker: Asker = Asker.AGENT) -> None:
    """Let a task ask as a daemon would have recorded it."""
    question = Question("Which colour?", ("red", "blue"))
    card = Card(asker, (question,), "2026-01-01T00:00:00Z")
    repo.commit_at("refs/heads/main", {f".agent/tasks/{name}.md": f"# Do {name}\n"})
    repo.git("reset", "-q", "--hard")
    reason = f"Its agent asks: gitagent answer {name} 1=…"
    fields = {"card": card, "attempt": 1, "title": f"Do {name}", "reason": reason}
    ledger.task(repo, name, TaskState.QUESTION, **fields)


def test_outcomes_questions_and_alarms_are_each_told_once(
    stepped: Stepped, hook: Webhook
):
    good = stepped.push("good", {"b.txt": "two\n"})
    bad = stepped.push("bad", {"bad": ""})
    stepped.repo.add_task("worn", "exit 3")
    stepped.rest()
    ask(stepped.repo, "q")
    ask(stepped.repo, "spent", Asker.BUDGET)
    stepped.rest()
    sneaked = stepped.direct({"c.txt": "three\n"}, "Sneaked in")
    stepped.rest().restart().rest()
    call(stepped.repo, "inbox", "ack", "--all")
    last = stepped.push("last", {"d.txt": "four\n"})
    stepped.rest()
    landed, rejected, end = (stepped.of(x).id for x in (good, bad, last))
    hook.wait(landed, rejected, "worn", "q", "spent", sneaked, end)

    assert sorted(
        [
            (landed, "landed"),
            (rejected, "rejected"),
            ("worn", "failed"),
            ("q", "question"),
            ("spent", "question"),
            (sneaked, "direct"),
            (end, "landed"),
        ]
    ) == sorted(told(hook))


def test_what_is_told_has_the_whole_text(stepped: Stepped, hook: Webhook):
    tip = stepped.push("good", {"b.txt": "two\n"})
    stepped.rest()
    ask(stepped.repo, "q")
    sneaked = stepped.direct({"c.txt": "three\n"}, "Sneaked in")
    stepped.rest()
    landing = stepped.of(tip)
    by_id = {each["id"]: each for each in hook.wait(landing.id, "q", sneaked)}
    question, alarm, landed = by_id["q"], by_id[sneaked], by_id[landing.id]

    assert ("submission", landing.commit, "land/good") == (
        landed["kind"],
        landed["commit"],
        landed["title"],
    )
    assert f"landed: {landing.id} (land/good): Landed as" in landed["text"]
    assert str(stepped.repo.path) == landed["repository"]
    assert "question" == question["kind"]
    assert "gitagent answer q 1=…" == question["answer"]
    assert {"a": "red", "b": "blue"} == question["questions"][0]["options"]
    assert "It asks: 1. Which colour? (a: red, b: blue)" in question["text"]
    assert ("guard", sneaked, "Sneaked in") == (
        alarm["kind"],
        alarm["commit"],
        alarm["title"],
    )
    assert "past the lander; its author is Test Person" in alarm["text"]


def test_what_was_there_before_telling_began_is_not_told(tmp_path: Path, hook: Webhook):
    repo = kept(tmp_path)
    quiet = Stepped(repo)
    quiet.push("early", {"b.txt": "two\n"})
    quiet.direct({"c.txt": "three\n"})
    quiet.rest()
    before = record(repo, INBOX)
    settings = config("test ! -e bad", notify={"webhook": hook.address})
    quiet.direct({".agent/config.toml": settings})
    quiet.rest()
    last = quiet.push("last", {"d.txt": "four\n"})
    quiet.rest()
    end = quiet.of(last).id
    hook.wait(end)
    quiet.close()

    assert [(end, "landed")] == told(hook)
    assert before is None


@pytest.mark.parametrize(
    ("failpoint", "told_first"), [("outcome-recorded", 0), ("outcome-told", 1)]
)
def test_a_daemon_that_dies_in_between_tells_at_most_once(
    repo: Repo, hook: Webhook, daemon: Start, failpoint: str, told_first: int
):
    first = daemon(repo, failpoint=failpoint)
    repo.commit({"b.txt": "two\n"}, branch="land/one")
    code = first.wait_exit()
    (one,) = repo.refs("refs/gitagent/submissions/")
    second = daemon(repo)
    repo.commit({"c.txt": "three\n"}, branch="land/two")
    (two,) = second.until(
        lambda: repo.refs("refs/gitagent/submissions/").keys() - {one},
        timeout=60,
        what="the second is submitted",
    )
    ids = [ref.rpartition("/")[2] for ref in (one, two)]
    second.wait_submission(ids[1], "landed")
    hook.wait(ids[1])
    second.stop()
    inbox = call(repo, "inbox", "--json").json["outcomes"]

    assert -9 == code
    assert ids[told_first:] == hook.ids
    assert set(ids) == {each["id"] for each in inbox}


def test_killed_again_and_again_it_tells_nothing_twice(
    repo: Repo, hook: Webhook, daemon: Start
):
    for number in range(4):
        running = daemon(repo)
        repo.commit({f"{number}.txt": "x\n"}, branch=f"land/n{number}")
        before = len(hook.received)
        if number % 2:
            running.until(
                lambda before=before: len(hook.received) > before,
                timeout=60,
                what="something is told",
            )
        running.kill()
    last = daemon(repo)
    repo.commit({"last.txt": "x\n"}, branch="land/last")

    def settled() -> bool:
        found = [record(repo, ref) for ref in repo.refs("refs/gitagent/submissions/")]
        return 5 == len([each for each in found if each["state"] == "landed"])

    last.until(settled, timeout=60, what="all have landed")
    last.stop()
    submissions = {
        r.rpartition("/")[2] for r in repo.refs("refs/gitagent/submissions/")
    }

    assert len(hook.ids) == len(set(hook.ids))
    assert set(hook.ids) <= submissions


def test_a_webhook_that_hangs_delays_nothing(tmp_path: Path, daemon: Start):
    with Webhook(hold=True) as hook:
        repo = kept(tmp_path, hook.address)
        running = daemon(repo)
        repo.commit({"b.txt": "two\n"}, branch="land/one")
        running.until(lambda: hook.received, timeout=60, what="it is told")
        repo.commit({"c.txt": "three\n"}, branch="land/two")
        running.until(
            lambda: "c.txt" in repo.paths("refs/heads/main"),
            timeout=60,
            what="the second lands while the first is being told",
        )

        assert 1 == len(hook.received)


@pytest.mark.parametrize("how", ["down", "angry"])
def test_a_webhook_that_takes_nothing_is_logged_without_its_address(
    tmp_path: Path, daemon: Start, how: str
):
    with Webhook(code=500) as hook:
        address = hook.address if how == "angry" else "http://127.0.0.1:9/hook"
        repo = kept(tmp_path, address)
        running = daemon(repo)
        repo.commit({"b.txt": "two\n"}, branch="land/one")
        line = running.wait_line("the webhook did not take")

    assert "/hook" not in line
    assert "b.txt" in repo.paths("refs/heads/main")


def test_a_landing_without_a_daemon_is_told(repo: Repo, hook: Webhook):
    repo.commit({"b.txt": "two\n"}, branch="good")
    done = gitagent(repo, "land", "good")

    assert 0 == done.returncode, done.stderr
    assert ["landed"] == [state for _, state in told(hook)]


def test_a_desktop_gets_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shown, folder = tmp_path / "shown", tmp_path / "bin"
    folder.mkdir()
    program = folder / "notify-send"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{shown}.new\nmv {shown}.new {shown}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    stepped = Stepped(kept(tmp_path, notify={"desktop": True}))
    stepped.rest()
    ask(stepped.repo, "q")
    stepped.rest()
    said = wait_for_file(shown).splitlines()
    stepped.close()

    assert ["--app-name=gitagent", "gitagent: q question"] == said[:2]
    assert "gitagent answer q 1=…" in said[2]


def test_nobody_to_tell_costs_no_record(tmp_path: Path):
    stepped = Stepped(kept(tmp_path))
    stepped.push("good", {"b.txt": "two\n"})
    stepped.rest()
    stepped.close()

    assert stepped.repo.ref(INBOX) is None


def test_the_daemons_own_log_says_an_alarm_once(tmp_path: Path, daemon: Start):
    repo = kept(tmp_path)
    running = daemon(repo)
    sneaked = repo.commit({"c.txt": "three\n"}, "Sneaked in")
    line = running.wait_line("past the lander")
    running.stop()
    again = daemon(repo)
    repo.commit({"b.txt": "two\n"}, branch="land/one")
    again.wait_line("Landed as|landed as")

    assert f"guard {sneaked[:12]} came to the target past the lander" in line
    assert "past the lander" not in again.log


def test_the_daemons_own_log_says_what_is_asked_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    stepped = Stepped(kept(tmp_path)).rest()
    stepped.repo.add_task("q", "true")
    old = ledger.task(stepped.repo, "q", TaskState.RUNNING)
    card = Card(Asker.AGENT, (Question("Which?", ("red",)),), old.since)
    asks = ledger.replaced(old, state=TaskState.QUESTION, card=card, attempt=1)
    hands = stepped.loop.enactor.tasks
    hands.write(old, asks, "question: it asks", stepped.loop.snapshot)
    stepped.close()

    assert 1 == capfd.readouterr().err.count("q it asks: 1. Which? (a: red)")


def test_an_inbox_that_cannot_be_read_stops_nothing(
    stepped: Stepped, hook: Webhook, capfd: pytest.CaptureFixture[str]
):
    repo = stepped.repo
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"{}")
    tree = repo.git("mktree", stdin=f"100644 blob {blob}\trecord-v9.json\n".encode())
    repo.git("update-ref", INBOX, repo.git("commit-tree", "-m", "x", tree))
    stepped.push("good", {"b.txt": "two\n"})
    stepped.rest()

    assert 1 == capfd.readouterr().err.count("nobody is told")
    assert "b.txt" in repo.paths("refs/heads/main")
    assert [] == hook.received
