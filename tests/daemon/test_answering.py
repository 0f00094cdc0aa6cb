"""A task that asks goes on when it is answered, by a command or a committed file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gitagent.core.question import Asker, Card, Question
from gitagent.core.task import Attempt, TaskState
from gitagent.daemon.loop import Loop
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import Daemon
from tests.support.repos import Repo

Rest = Callable[[], None]

FILE = ".agent/tasks/answers/a.md"
COLOUR = Question("Which colour?", ("red", "blue"))
SIZE = Question("How big?")


@pytest.fixture
def asking(kept: Repo) -> Repo:
    """Let the task a ask after an attempt whose work is on its branch."""
    kept.add_task("a", "echo more >> work.txt")
    base = kept.head()
    tip = kept.commit_at("refs/heads/agent/a", {"work.txt": "first\n"}, parents=(base,))
    blob = kept.oid("HEAD:.agent/tasks/a.md")
    attempt = Attempt(1, blob, base, "2026-01-01T00:00:00Z", tip=tip)
    card = Card(Asker.AGENT, (COLOUR, SIZE), "2026-01-01T00:00:00Z")
    work = {"tip": tip, "branch": "refs/heads/agent/a"}
    asks = {"card": card, "attempt": 1, "attempts": (attempt,), **work}
    ledger.task(kept, "a", TaskState.QUESTION, **asks)
    return kept


def task(loop: Loop):
    assert loop.snapshot is not None
    return loop.snapshot.records["a"]


def test_it_waits_through_turns_and_restarts(asking: Repo, loop: Loop, rest: Rest):
    rest()
    before = asking.oid("refs/gitagent/tasks/a")
    loop.turn()

    assert TaskState.QUESTION is task(loop).state
    assert before == asking.oid("refs/gitagent/tasks/a")


def test_answers_of_a_command_resume_it_from_its_work(
    asking: Repo, loop: Loop, rest: Rest
):
    rest()
    call(asking, "answer", "a", "1=b", "2=ten")
    rest()

    assert (TaskState.LANDED, 2, 0) == (
        task(loop).state,
        task(loop).attempt,
        task(loop).failures,
    )
    assert "first\nmore\n" == asking.read("work.txt")


def test_a_committed_file_resumes_it_and_its_author_answered(
    asking: Repo, loop: Loop, rest: Rest
):
    rest()
    text = '+++\n1 = "b"\n2 = "ten"\n+++\n\nAs the page has it.\n'
    who = "Ann Other <ann@example.org>"
    asking.commit_at("refs/heads/main", {FILE: text}, "Answer", author=who)
    asking.git("reset", "-q", "--hard")
    asking.add_task("later", "true")
    rest()

    assert TaskState.LANDED is task(loop).state
    assert [("blue", who, "As the page has it.")] == [
        (each.text, each.by, each.because) for each in task(loop).answers[:1]
    ]
    assert () == loop.snapshot.target.direct
    assert () == loop.snapshot.refused
    assert text == asking.read(FILE)


def test_a_file_that_cannot_be_read_is_refused_and_stops_nothing_else(
    asking: Repo, loop: Loop, rest: Rest
):
    asking.commit({FILE: "+++\n1 = [\n+++\n"})
    asking.add_task("other", "echo x > x.txt")
    rest()
    refused = call(asking, "status", "--json").json["refused"]

    assert [FILE] == [each.path for each in loop.snapshot.refused]
    assert loop.snapshot.refused[0].reason == refused[0]["reason"]
    assert TaskState.QUESTION is task(loop).state
    assert "x\n" == asking.read("x.txt")


@pytest.mark.parametrize("made", ["folder", "link"])
def test_only_a_regular_file_answers(asking: Repo, loop: Loop, rest: Rest, made: str):
    path = {"folder": f"{FILE}/a.md", "link": f"{FILE}@"}[made]
    asking.commit_at("refs/heads/main", {path: "elsewhere"})
    asking.git("reset", "-q", "--hard")
    rest()

    assert [FILE] == [each.path for each in loop.snapshot.refused]
    assert TaskState.QUESTION is task(loop).state


def test_a_file_that_does_not_fit_is_named_once_in_the_reason(
    asking: Repo, loop: Loop, rest: Rest
):
    asking.commit({FILE: '+++\n7 = "b"\n+++\n'})
    rest()
    told = task(loop)
    loop.turn()

    assert f"{FILE} is not taken: task a asks no question 7" in told.reason
    assert told.oid == task(loop).oid


def test_a_file_for_nobody_is_passed_over(kept: Repo, loop: Loop, rest: Rest):
    kept.commit({".agent/tasks/answers/nobody.md": "+++\n"})
    rest()

    assert () == loop.snapshot.refused
    assert {} == dict(loop.snapshot.tasks)
    assert [] == call(kept, "status", "--json").json["refused"]


def test_a_worker_that_answers_its_own_question_is_rejected(
    kept: Repo, loop: Loop, rest: Rest
):
    agent = '+++\nbackend = "shell"\nmay = ["write", "shell", "start_task"]\n+++\n'
    kept.commit({".agent/agents/shell.md": agent})
    kept.add_task("a", f"mkdir -p {Path(FILE).parent} && echo '+++' > {FILE}")
    rest()

    assert TaskState.FAILED is task(loop).state
    assert "Only people answer questions" in task(loop).reason


def test_a_daemon_takes_the_answers_given_while_none_ran(
    asking: Repo, daemon: Callable[..., Daemon]
):
    said = call(asking, "answer", "a", "1=b", "2=ten")
    daemon(asking).wait_task("a", "landed")

    assert "no daemon runs" in said.err
    assert "first\nmore\n" == asking.read("work.txt", "refs/heads/main")
