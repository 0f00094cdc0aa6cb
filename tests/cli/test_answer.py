"""gitagent answer: what a task asks is shown, answered, and goes on."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from gitagent.core.question import Asker, Card, Question
from gitagent.core.task import Attempt, TaskRecord, TaskState
from gitagent.daemon import answering, tasks
from gitagent.git.repository import discover
from tests.support import ledger
from tests.support.cli import Answer, call
from tests.support.daemon import record
from tests.support.repos import Repo

REF = "refs/gitagent/tasks/a"
COLOUR = Question("Which colour?", ("red", "blue"))
SIZE = Question("How big?")
ATTEMPT = Attempt(1, "0" * 40, "0" * 40, "2026-01-01T00:00:00Z")


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({"Makefile": "test:\n\ttrue\n"})
    call(repo, "init", "--no-check")
    repo.add_task("a", "true")


def ask(repo: Repo, *questions: Question, asker: Asker = Asker.AGENT) -> TaskRecord:
    """Let the task a ask, as the daemon would have recorded it."""
    card = Card(asker, questions or (COLOUR, SIZE), "2026-01-01T00:00:00Z")
    return ledger.task(
        repo, "a", TaskState.QUESTION, attempt=1, attempts=(ATTEMPT,), card=card
    )


def no(answer: Answer, code: int, part: str) -> None:
    assert (code, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert part in answer.err


def test_without_answers_the_card_is_shown(repo):
    ask(repo)
    shown = call(repo, "answer", "a").out
    made = call(repo, "answer", "a", "--json").json

    assert "  1. Which colour?\n     a) red\n     b) blue\n  2. How big?\n" in shown
    assert "Answer with: gitagent answer a 1=… 2=…" in shown
    assert ("a", "agent", [1, 2]) == (made["task"], made["asker"], made["open"])
    assert {"a": "red", "b": "blue"} == made["questions"][0]["options"]


def test_all_answers_ask_for_the_next_attempt_and_name_who_gave_them(repo):
    ask(repo)
    answer = call(repo, "answer", "a", "1=b", "2=ten lines", "--because", "the logo")
    found = record(repo, REF)

    assert 0 == answer.code, answer.err
    assert "a is answered, and goes on" in answer.out
    assert "no daemon runs" in answer.err
    assert "answer" == found["request"]
    assert ["blue", "ten lines"] == [each["text"] for each in found["answers"]]
    assert {("Test Person <person@example.org>", "the logo")} == {
        (each["by"], each["because"]) for each in found["answers"]
    }


def test_answers_fill_up_over_several_calls(repo):
    ask(repo)
    first = call(repo, "answer", "a", "2=ten")
    shown = call(repo, "answer", "a").out
    half = record(repo, REF)
    second = call(repo, "answer", "a", "1=red", "--json").json

    assert "still to be answered: gitagent answer a 1=…" in first.out
    assert "     = ten, by Test Person" in shown
    assert (None, "question") == (half["request"], half["state"])
    assert [] == second["open"]
    assert "answer" == record(repo, REF)["request"]


def test_words_of_ones_own_are_passed_on_and_said_to_be_no_option(repo):
    ask(repo, COLOUR)
    answer = call(repo, "answer", "a", "1=green as grass")

    assert 0 == answer.code
    assert "Question 1 has no such option" in answer.err
    assert "green as grass" == record(repo, REF)["answers"][0]["text"]


def test_a_budget_is_answered_with_an_amount_or_stop(repo):
    ask(repo, Question("Spent $5.02 of $5.00. How much more?"), asker=Asker.BUDGET)
    shown = call(repo, "answer", "a").out
    bad = call(repo, "answer", "a", "1=lots")
    call(repo, "answer", "a", "1=2.50")
    added = record(repo, REF)
    stopped = call(repo, "answer", "a", "1=stop")

    assert "an amount such as 2.50" in shown
    no(bad, 1, '"lots" is no amount')
    assert ("answer", "2.50") == (added["request"], added["answers"][0]["text"])
    assert "a: asked to stop" in stopped.out
    assert "stop" == record(repo, REF)["request"]


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["b"], 2, '"b" answers nothing'),
        (["1="], 2, "says nothing"),
        (["1=a", "1=b"], 2, "twice"),
        (["--because", "so"], 2, "--because"),
        (["3=b"], 1, "no question 3"),
        (["0=b"], 1, "no question 0"),
        (["1=z"], 1, "no option z"),
        (["1=a", "9=b"], 1, "no question 9"),
    ],
)
def test_what_does_not_fit_is_one_line_and_changes_nothing(repo, words, code, part):
    before = ask(repo)

    no(call(repo, "answer", "a", *words), code, part)
    assert before.oid == repo.oid(REF)


@pytest.mark.parametrize("name", ["nobody", "../x", "Not An Id"])
def test_an_unknown_task_is_no(repo, name):
    no(call(repo, "answer", name, "1=a"), 1, name)


@pytest.mark.parametrize("words", [[], ["1=a"]])
def test_a_task_that_asks_nothing_says_how_it_stands(repo, words):
    ledger.task(repo, "a", TaskState.RUNNING)

    no(call(repo, "answer", "a", *words), 1, "it is running")


def test_who_is_nobody_cannot_answer(repo, home):
    before = ask(repo)
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    answer = call(repo, "answer", "a", "1=a", "2=b")

    no(answer, 1, "name and address")
    assert before.oid == repo.oid(REF)


def test_two_people_answer_at_once_and_nothing_is_lost(repo):
    questions = tuple(Question(f"Number {n}?") for n in range(1, 7))
    ask(repo, *questions)
    found = discover(repo.path)
    with ThreadPoolExecutor(6) as pool:
        words = [[f"{n}=x{n}"] for n in range(1, 7)]
        [*pool.map(lambda word: answering.answer(found, "a", word), words)]
    after = record(repo, REF)

    assert {f"x{n}" for n in range(1, 7)} == {a["text"] for a in after["answers"]}
    assert "answer" == after["request"]


def test_what_an_agent_writes_cannot_move_or_hide_text(repo):
    ask(repo, Question("Which\x1b[2J\n1. fake?", ("re\x1b[8md",)))
    for args in (["answer", "a"], ["status"], ["status", "a"], ["task", "show", "a"]):
        shown = call(repo, *args).out

        assert "\x1b" not in shown
        assert "\\x1b[2J 1. fake?" in shown


def test_status_shows_the_card_in_all_its_faces(repo):
    ask(repo)
    call(repo, "answer", "a", "2=ten")
    page = call(repo, "status").out
    story = call(repo, "status", "a").out
    (card,) = call(repo, "status", "--json").json["questions"]
    told = call(repo, "status", "a", "--json").json["task"]

    assert "\nQuestions\n" in page
    assert "1. Which colour?" in page
    assert "a) red" in page
    assert "gitagent answer a 1=…" in page
    assert "\nQuestions\n  1. Which colour?\n     a) red\n" in story
    assert {"task", "asker", "since", "questions", "answer"} == set(card)
    assert [None, "ten"] == [each["answer"] for each in card["questions"]]
    assert card == told["question"]
    assert "ten" == told["answers"][0]["text"]


def test_answered_questions_are_asked_no_more(repo):
    ask(repo, SIZE)
    call(repo, "answer", "a", "1=ten")
    page = call(repo, "status").out

    assert [] == call(repo, "status", "--json").json["questions"]
    assert "\nQuestions\n" not in page
    assert "the daemon owes the next attempt" in page
    assert "the daemon owes the next attempt" in call(repo, "answer", "a").out


def test_what_was_answered_stays_in_the_story(repo):
    old = ask(repo, SIZE)
    call(repo, "answer", "a", "1=ten", "--because", "so it is")
    found = discover(repo.path)
    with found.objects() as objects:
        old = tasks.read(objects, "a")
    attempts = (*old.attempts, replace(ATTEMPT, number=2))
    new = replace(old, state=TaskState.RUNNING, card=None, request=None, attempt=2)
    tasks.write(found, old, replace(new, attempts=attempts), "attempt 2 starts")

    assert "How big?  ten (so it is)" in call(repo, "status", "a").out


def test_a_retry_says_to_answer(repo):
    ask(repo)
    asked = call(repo, "task", "retry", "a")
    call(repo, "answer", "a", "1=a", "2=b")
    answered = call(repo, "task", "retry", "a")

    no(asked, 1, "gitagent answer a 1=…")
    no(answered, 1, "goes on by itself")
