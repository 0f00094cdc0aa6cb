"""gitagent task: add, list, show, stop, retry."""

import pytest

from gitagent.core.task import Attempt, TaskState
from gitagent.core.usage import Usage
from gitagent.daemon import tasks
from gitagent.git.repository import discover
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import record


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")


def test_adding_commits_the_file_on_the_target(repo):
    answer = call(repo, "task", "add", "fix-it", "--title", "Fix it")

    assert 0 == answer.code
    assert '+++\ntitle = "Fix it"\n+++\n' == repo.read(".agent/tasks/fix-it.md")
    assert ("Gitagent-Record", "task-add") in repo.trailers()
    assert [] == repo.status()


def test_other_edits_in_the_checkout_stay(repo):
    repo.write("README.md", "edited\n")
    repo.write("new", "new\n")
    before = repo.status()
    call(repo, "task", "add", "fix-it", "--title", "Fix it")

    assert before == repo.status()
    assert (repo.path / ".agent/tasks/fix-it.md").is_file()


def test_the_text_comes_from_a_file_or_standard_input(repo, tmp_path):
    text = "# Fix it\n\n```sh\ntrue\n```\n"
    file = tmp_path / "text.md"
    file.write_text(text)
    call(repo, "task", "add", "one", "--file", str(file))
    call(repo, "task", "add", "two", "--file", "-", stdin=text)

    assert text == repo.read(".agent/tasks/one.md") == repo.read(".agent/tasks/two.md")


def test_options_become_front_matter(repo):
    call(
        repo,
        *("task", "add", "two", "--file", "-", "--after", "one", "--after", "zero"),
        *("--priority", "-3", "--agent", "claude", "--title", 'Say "hi"'),
        stdin="Do it.\n",
    )

    assert (
        '+++\ntitle = "Say \\"hi\\""\nagent = "claude"\npriority = -3\n'
        'after = ["one", "zero"]\n+++\n\nDo it.\n'
    ) == repo.read(".agent/tasks/two.md")


REFUSED = {
    "an id that cannot be one": (["Bad Name", "--title", "x"], "", 1),
    "an id that is a path": (["../x", "--title", "x"], "", 1),
    "nothing to ask for": (["x"], "", 2),
    "an empty text": (["x", "--file", "-"], " \n", 2),
    "front matter twice": (
        ["x", "--title", "t", "--file", "-"],
        '+++\nagent = "shell"\n+++\n',
        2,
    ),
    "front matter that does not parse": (["x", "--file", "-"], "+++\na = \n+++\n", 1),
    "a key that is not known": (["x", "--file", "-"], "+++\nagnet = 'a'\n+++\nx\n", 1),
    "a task that waits for nobody's id": (
        ["x", "--title", "t", "--after", "Not An Id"],
        "",
        1,
    ),
    "an agent that is not there": (["x", "--title", "t", "--agent", "clod"], "", 1),
    "an agent that the text names": (["x", "--file", "-"], "---\nagent: y\n---\nx", 1),
    "no such file": (["x", "--file", "/nowhere/x.md"], "", 2),
    "no UTF-8": (["x", "--file", "-"], b"\xff\xfe\x00", 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_not_be_a_task_is_refused_before_it_is_committed(repo, case):
    args, stdin, code = REFUSED[case]
    before = repo.head()
    answer = call(repo, "task", "add", *args, stdin=stdin)

    assert (code, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert before == repo.head()


def test_an_unknown_agent_is_refused_with_those_that_are_known(repo):
    near = call(repo, "task", "add", "x", "--title", "t", "--agent", "claud")
    far = call(repo, "task", "add", "x", "--title", "t", "--agent", "gemini")

    assert "did you mean claude?" in near.err
    assert "aider, claude, codex, distiller, model, opencode, shell" in far.err
    assert ".agent/agents/gemini.md" in far.err


def test_an_agent_whose_definition_cannot_be_used_is_refused_with_the_mend(repo):
    repo.commit({".agent/agents/mine.md": "+++\npath = []\n+++\n"})
    answer = call(repo, "task", "add", "x", "--title", "t", "--agent", "mine")

    assert 1 == answer.code
    assert ".agent/agents/mine.md:2:" in answer.err
    assert "did you mean paths?" in answer.err


@pytest.mark.parametrize("name", ["shell", "claude", "mine"])
def test_an_agent_that_is_there_is_taken(repo, name):
    repo.commit({".claude/agents/mine.md": "---\nname: mine\n---\nHelp.\n"})
    answer = call(repo, "task", "add", "x", "--title", "t", "--agent", name)

    assert 0 == answer.code


def test_an_id_that_is_taken_is_refused(repo):
    call(repo, "task", "add", "fix-it", "--title", "Fix it")
    before = repo.head()
    answer = call(repo, "task", "add", "fix-it", "--title", "Again")

    assert 1 == answer.code
    assert before == repo.head()


def test_it_says_that_no_daemon_runs(repo):
    answer = call(repo, "task", "add", "fix-it", "--title", "Fix it")

    assert "no daemon runs" in answer.err


def test_the_list_has_open_tasks_first(repo):
    repo.add_task("b", "true", front="priority = 5")
    repo.add_task("a", "true")
    ledger.task(repo, "old", TaskState.FAILED, reason="Attempt 1 failed.")
    answer = call(repo, "task", "list")
    states = [line.split()[:2] for line in answer.lines]

    assert [["waiting", "b"], ["waiting", "a"], ["failed", "old"]] == states
    tasks = call(repo, "task", "list", "--json").json["tasks"]

    assert ["b", "a", "old"] == [line["id"] for line in tasks]


def test_showing_tells_state_story_and_text(repo):
    repo.add_task("a", "echo hello", title="Say hello")
    ledger.task(repo, "a", TaskState.FAILED, reason="Attempt 1 failed (exit 1).")
    answer = call(repo, "task", "show", "a")

    assert 0 == answer.code
    for part in ("failed", "Attempt 1 failed (exit 1).", "attempt 1 starts", "hello"):
        assert part in answer.out


def test_an_unknown_task_is_exit_1(repo):
    for command in ("show", "stop", "retry"):
        answer = call(repo, "task", command, "nope")

        assert (1, "") == (answer.code, answer.out)
        assert "no task" in answer.err


def test_a_task_that_no_daemon_has_seen_waits_for_one(repo):
    repo.add_task("a", "true")
    answer = call(repo, "task", "stop", "a")

    assert (1, "") == (answer.code, answer.out)
    assert "gitagent up" in answer.err


def test_of_a_refused_file_the_reason_is_told_once(repo):
    added = call(repo, "task", "add", "a", "--file", "-", stdin="+++\nprio = 3\n+++\n")
    repo.commit({".agent/tasks/a.md": "+++\nprio = 3\n+++\n"})
    shown = call(repo, "task", "show", "a")

    assert [1, 1] == [added.code, shown.code]
    assert added.err == shown.err
    assert 1 == shown.err.count(".agent/tasks/a.md")
    assert "priority" in shown.err


def test_a_task_that_failed_names_the_retry(repo):
    repo.add_task("a", "false")
    ledger.task(repo, "a", TaskState.FAILED, reason="Attempt 1 failed (exit 1).")

    assert "  gitagent task retry a" in call(repo, "status", "a").lines


def test_an_empty_list_says_how_to_ask(repo):
    answer = call(repo, "task", "list")

    assert (0, "") == (answer.code, answer.out)
    assert "gitagent task add" in answer.err


def test_stopping_and_retrying_are_written_for_the_daemon(repo):
    repo.add_task("a", "true")
    ledger.task(repo, "a", TaskState.RUNNING)
    stopped = call(repo, "task", "stop", "a")

    assert 0 == stopped.code
    assert "stop" == record(repo, "refs/gitagent/tasks/a")["request"]


def test_a_waiting_task_is_stopped_at_once(repo):
    repo.add_task("a", "true")
    ledger.task(repo, "a", TaskState.WAITING)
    call(repo, "task", "stop", "a")
    again = call(repo, "task", "stop", "a")
    retried = call(repo, "task", "retry", "a")

    assert 1 == again.code
    assert 0 == retried.code
    assert "retry" == record(repo, "refs/gitagent/tasks/a")["request"]


def test_a_task_whose_file_was_deleted_is_not_retried(repo):
    running = ledger.task(repo, "a", TaskState.RUNNING)
    stopped = ledger.replaced(running, state=TaskState.STOPPED, blob="")
    tasks.write(discover(repo.path), running, stopped, "stopped")
    retried = call(repo, "task", "retry", "a")
    told = [call(repo, "status", "a").out, call(repo, "inbox").out]

    assert (1, "") == (retried.code, retried.out)
    assert "gitagent: the file of task a was deleted; commit it again\n" == retried.err
    assert not any("gitagent task retry" in each for each in told)


def test_logs_of_a_task_that_never_began_say_why(repo):
    repo.add_task("a", "true")
    ledger.task(repo, "a", TaskState.REFUSED, reason="There is no agent b.")
    answer = call(repo, "logs", "a")

    assert 1 == answer.code
    assert (
        "gitagent: no attempt at a has been made; it is refused: There is no agent b\n"
        == answer.err
    )


@pytest.mark.parametrize(
    ("usage", "row"),
    [
        (Usage(requests=1, input=7, usd=0.5), "1 request  7 tokens in, 0 out  $0.5000"),
        (
            Usage(requests=2, input=7, unpriced=2),
            "2 requests  7 tokens in, 0 out  no known price",
        ),
        (
            Usage(requests=3, output=7, usd=0.5, unpriced=1),
            "3 requests  0 tokens in, 7 out  $0.5000, and 1 without a known price",
        ),
    ],
)
def test_what_an_attempt_cost_is_told_as_far_as_it_is_known(repo, usage, row):
    repo.add_task("a", "true")
    made = Attempt(1, "0" * 40, "", "2026-01-01T00:00:00Z", model="p:m", usage=usage)
    ledger.task(repo, "a", TaskState.FAILED, attempt=1, attempts=(made,))

    assert f"  1  p:m  {row}" in call(repo, "status", "a").lines
