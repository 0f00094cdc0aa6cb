"""The real command-line agents, from a committed task to a landing.

Each talks through the gateway to a scripted provider, confined as always. For every one
of them the fixture looks for the provider's key in all that is left behind.
"""

import json

import pytest

from tests.agents.conftest import Place
from tests.support.daemon import gitagent, status
from tests.support.provider import Ask, Fault, Gate, Say, Shell

PROGRAMS = ["claude", "codex", "opencode", "aider", "acp"]

MENDED = """\
calc.py
```
<<<<<<< SEARCH
    return a - b
=======
    return a + b
>>>>>>> REPLACE
```
"""

pytestmark = pytest.mark.slow


def mend(place: Place) -> list:
    """Return the steps that mend the bug, and say so."""
    if place.program == "aider":
        return [Say(f"It subtracted.\n\n{MENDED}")]
    return [Shell("sed -i 's/a - b/a + b/' calc.py"), Say("It adds now.")]


@pytest.mark.parametrize("place", PROGRAMS, indirect=True)
def test_a_bug_is_mended_with_a_question_and_a_crash_in_between(place):
    """One story for each program, since each start of some takes many seconds."""
    gate = Gate()
    asked = [Ask(("Which operator?", ["minus", "plus"])), Say("I have asked.")]
    # Some save what was said a moment late: the second step makes the first one sure.
    begun = [Shell("echo started >notes.txt; git add notes.txt"), Shell("ls"), gate]
    if place.program == "aider":
        asked = [Say("QUESTION: Which operator?\n- minus\n- plus\n")]
        begun = [gate]
    if place.program == "codex":
        asked = [Fault("overloaded"), *asked]
    # The agent of ACP is opencode, whose own story has the crash.
    crash = place.program != "acp"
    steps = (
        [*asked, *begun, *mend(place)] if crash else [*asked, *begun[:1], *mend(place)]
    )
    daemon = place.start()
    place.task("fix", "Mend calc.py: add subtracts.", steps)
    daemon.wait_task("fix", "question", timeout=120)
    (card,) = status(place.repo)["questions"]

    assert "Which operator?" == card["questions"][0]["text"]

    before = len(place.provider.requests)
    place.answer("fix", "1=b")
    if crash:
        gate.wait(120)

        assert b"plus" in b"".join(e.body for e in place.provider.requests[before:])

        daemon.kill()
        before = len(place.provider.requests)
        place.start()
    found = place.landed("fix")
    attempts = found["attempts"]
    last = attempts[-1]
    first, *_ = place.provider.requests
    newest = b"".join(e.body for e in place.provider.requests[before:])

    ended = ["question", *(["interrupted"] if crash else []), "ok"]
    assert ended == [each["outcome"] for each in attempts]
    assert [False, *([True] * (len(ended) - 1))] == [
        each["resumed"] for each in attempts
    ]
    assert 1 == len({each["session"] for each in attempts})
    assert b"Which operator?" in newest
    if place.program != "aider":
        assert b"echo started" in newest
        assert b"Write short commit messages." in first.body
        assert "started" == place.repo.git("show", "main:notes.txt")

    told = exchanges(place, "fix")
    made = [each for each in told if each["attempt"] == len(attempts)]

    assert (2 in {each["tries"] for each in told}) is (place.program == "codex")
    assert last["usage"]["requests"] == len(made)
    is_told(place, last)
    if place.program == "aider":
        return  # its newest request is for the words of a commit
    told = gitagent(place.repo, "context", "fix", "--explain").stdout

    # What the conversation began with two attempts ago is still told from the rest.
    assert "task file .agent/tasks/fix.md" in told


@pytest.mark.parametrize("place", ["claude"], indirect=True)
def test_a_refused_key_is_told_with_its_mend_and_never_the_key(place):
    daemon = place.start()
    place.task("fix", "Mend calc.py.", [Fault("auth", times=20)])

    found = daemon.wait_task("fix", "refused", "failed", timeout=120)

    assert "claude" in found["reason"]
    assert "SCRIPTED_KEY" in found["reason"]


@pytest.mark.parametrize("place", ["claude"], indirect=True)
def test_an_empty_answer_is_none(place):
    daemon = place.start()
    place.task("fix", "Mend calc.py.", [Say("")])

    found = daemon.wait_task("fix", "failed", timeout=120)

    assert found["reason"]


@pytest.mark.parametrize("place", ["claude"], indirect=True)
def test_a_budget_that_is_spent_asks_and_goes_on_when_there_is_more(place):
    daemon = place.start()
    place.provider.script("dear", [Shell("true"), *mend(place)])
    text = '+++\nagent = "claude"\nbudget = { usd = 0.01 }\n+++\n# Mend calc.py.\n'
    place.repo.commit({".agent/tasks/dear.md": text}, "Ask")

    found = daemon.wait_task("dear", "question", timeout=120)

    assert "budget" == found["card"]["asker"]
    assert "usd" in found["card"]["questions"][0]["text"]

    place.answer("dear", "1=20")
    place.landed("dear")


@pytest.mark.parametrize("place", ["claude"], indirect=True)
def test_a_program_that_is_not_there_is_refused_with_the_command(place, monkeypatch):
    monkeypatch.setattr("tests.support.agents.program", lambda _: "/usr/bin/true")
    daemon = place.start()
    place.task("fix", "Mend calc.py.", mend(place))

    found = daemon.wait_task("fix", "refused")

    assert "npm install" in found["reason"]


def is_told(place: Place, last: dict) -> None:
    """Look whether an attempt's end is on record, and shown."""
    assert last["answer"]
    assert last["program"]
    assert last["model"] in {"claude:claude-sonnet-4-5", "gpt:gpt-5.1-codex"}
    assert last["usage"]["input"] > 0
    assert last["usage"]["output"] > 0
    assert "say" in [json.loads(each)["kind"] for each in transcript(place, last)]
    assert last["model"] in gitagent(place.repo, "status", "fix").stdout
    assert last["answer"].split()[0] in gitagent(place.repo, "logs", "fix").stdout


def exchanges(place: Place, task: str) -> list:
    """Return the ends of the exchanges of a task."""
    ref = f"refs/gitagent/exchanges/{task}"
    commits = place.repo.git("rev-list", "--first-parent", ref).split()
    found = [
        json.loads(place.repo.raw("cat-file", "blob", f"{each}:record-v1.json"))
        for each in commits
        if 0 == place.repo.ask("cat-file", "-e", f"{each}:record-v1.json")
    ]
    return [each for each in found if each["state"] != "sent"]


def transcript(place: Place, attempt: dict) -> list[str]:
    """Return the lines of the transcript of an attempt."""
    return place.blob(attempt["transcript"]).splitlines()


@pytest.mark.parametrize("place", ["claude"], indirect=True)
def test_a_command_that_has_to_pass_sends_the_agent_back_to_work(place):
    place.start()
    script = [Say("All tests pass."), *mend(place)]
    accept = ["grep -q 'a + b' calc.py"]
    place.task("fix", "Mend calc.py.", script, accept=accept, retries=1)

    found = place.landed("fix")
    log = gitagent(place.repo, "logs", "fix").stdout

    assert 1 == len(found["attempts"])
    assert "accept commands passed 1, failed 1" in log
    assert "It adds now." == found["attempts"][0]["answer"]
