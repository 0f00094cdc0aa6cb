"""gitagent may: what the gate says beforehand, by the target's commit."""

import pytest

from gitagent.core.question import Answer
from gitagent.core.task import TaskState
from tests.support import ledger
from tests.support.cli import call

LEAD = '+++\nbackend = "model"\nmay = ["write", "start_task"]\n+++\n'
ASKER = '+++\nbackend = "model"\ndecide = ["write"]\npaths = ["src/**"]\n+++\n'
TASK = (
    '+++\ntitle = "Mend it"\nagent = "asker"\nforbidden = ["src/keys/**"]\n+++\n\nDo.\n'
)


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit(
        {
            ".agent/config.toml": 'target = "main"\n',
            ".agent/agents/lead.md": LEAD,
            ".agent/agents/asker.md": ASKER,
            ".agent/agents/odd.md": '+++\ndecide = ["fly"]\n+++\n',
            ".agent/tasks/fix.md": TASK,
        }
    )


@pytest.mark.parametrize(
    ("given", "code", "part"),
    [
        (("lead", "read"), 0, "allow"),
        (("lead", "write", "src/a.py"), 0, "allow"),
        (("lead", "write", "src/a.py", "--profile", "plan"), 1, "deny: "),
        (("lead", "shell", "ls"), 1, "lacks the grant shell"),
        (("shell", "shell", "make test"), 0, "not_evaluated: "),
        (("lead", "network", "https://x.example/"), 1, "no network"),
        (("lead", "start_task", "more"), 0, "allow"),
        (("lead", "start_task", "more", "--untrusted"), 1, "question: May the agent"),
        (("asker", "write", "docs/a"), 1, "its agent's `paths`"),
        (("asker", "write", "src/keys/a"), 1, "question: "),
        (("asker", "write", "src/keys/a", "--task", "fix"), 1, "`forbidden`"),
    ],
)
def test_it_says_what_the_gate_says_and_ends_with_it(repo, given, code, part):
    done = call(repo, "may", *given)

    assert code == done.code
    assert part in done.out
    assert "" == done.err


@pytest.mark.parametrize(
    ("given", "code", "part"),
    [
        (("lead", "write"), 2, "WHAT"),
        (("lead", "fly", "x"), 2, "read"),
        (("lead", "read", "x", "--profile", "fast"), 2, "plan"),
        (("lead",), 2, "EFFECT"),
        (("laed", "read"), 1, "did you mean lead"),
        (("odd", "read"), 1, "decide"),
        (("lead", "read", "x", "--task", "fixx"), 1, "did you mean fix"),
        (("lead", "read", "x", "--task", "other"), 1, "gitagent task list"),
    ],
)
def test_what_cannot_be_asked_is_one_line_with_the_mend(repo, given, code, part):
    done = call(repo, "may", *given)

    assert (code, "", 1) == (done.code, done.out, len(done.err.splitlines()))
    assert part in done.err


def test_programs_read_the_verdict_the_question_and_the_grants(repo):
    said = call(repo, "may", "lead", "start_task", "more", "--untrusted", "--json").json

    assert [
        *("version", "agent", "effect", "what", "verdict", "allowed", "sentence"),
        *("question", "may"),
    ] == list(said)
    assert ("needs_decision", False) == (said["verdict"], said["allowed"])
    assert ["yes", "no"] == said["question"]["options"]
    assert ["start_task", "write"] == said["may"]


def test_what_a_person_has_answered_in_the_task_counts(repo):
    asked = ("may", "asker", "write", "src/a.py", "--task", "fix", "--json")
    text = call(repo, *asked).json["question"]["text"]
    ledger.task(repo, "fix", TaskState.QUESTION, answers=(Answer(text, "yes"),))

    assert "allow" == call(repo, *asked).json["verdict"]

    other = [each.replace("a.py", "b.py") for each in asked]

    assert "needs_decision" == call(repo, *other).json["verdict"]
