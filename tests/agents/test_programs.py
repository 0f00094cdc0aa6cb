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
WITH_TOOLS = [each for each in PROGRAMS if each != "aider"]

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
def test_a_bug_is_mended_checked_and_landed(place):
    place.start()
    place.task("fix", "Mend calc.py: add subtracts.", mend(place), paths=["calc.py"])

    found = place.landed("fix")

    attempt = found["attempts"][-1]
    usage = attempt["usage"]

    assert 1 == len(found["attempts"])
    assert attempt["answer"]
    assert attempt["model"]
    assert attempt["program"]
    assert usage["input"] > 0
    assert usage["output"] > 0
    assert usage["requests"] == len(exchanges(place, "fix"))
    kinds = [json.loads(each)["kind"] for each in transcript(place, attempt)]

    assert "say" in kinds


@pytest.mark.parametrize("place", PROGRAMS, indirect=True)
def test_a_question_is_asked_answered_and_gone_on_from(place):
    asked = [Ask(("Which operator?", ["minus", "plus"])), Say("I have asked.")]
    if place.program == "aider":
        asked = [Say("QUESTION: Which operator?\n- minus\n- plus\n")]
    daemon = place.start()
    place.task("ask", "Mend calc.py.", [*asked, *mend(place)], paths=["calc.py"])

    daemon.wait_task("ask", "question", timeout=120)
    card = status(place.repo)["questions"]

    assert "Which operator?" == card[0]["questions"][0]["text"]

    before = len(place.provider.requests)
    place.answer("ask", "1=b")
    found = place.landed("ask")

    told = b"".join(each.body for each in place.provider.requests[before:])

    assert b"plus" in told
    assert ["question", "ok"] == [each["outcome"] for each in found["attempts"]]
    assert found["attempts"][1]["resumed"]


@pytest.mark.parametrize("place", PROGRAMS, indirect=True)
def test_one_that_is_killed_in_the_middle_goes_on(place):
    gate = Gate()
    first = [Shell("echo started >notes.txt; git add notes.txt")]
    if place.program == "aider":
        first = []
    daemon = place.start()
    place.task("kill", "Mend calc.py.", [*first, gate, *mend(place)], paths=["**"])
    gate.wait(120)

    daemon.kill()
    place.start()
    found = place.landed("kill")

    outcomes = [each["outcome"] for each in found["attempts"]]

    assert ["interrupted", "ok"] == outcomes
    if first:
        assert "started" == place.repo.git("show", "main:notes.txt")
        assert found["attempts"][1]["resumed"]


@pytest.mark.parametrize("place", ["claude", "codex"], indirect=True)
def test_a_provider_that_fails_at_first_is_asked_again(place):
    place.start()
    place.task("fix", "Mend calc.py.", [Fault("overloaded"), *mend(place)])

    found = place.landed("fix")

    tries = [
        each["tries"]
        for each in exchanges(place, "fix")
        if each["api"] != "count_tokens"
    ]

    assert 1 == len(found["attempts"])
    assert 2 in tries


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
def test_its_story_is_told_by_the_commands(place):
    place.start()
    place.task("fix", "Mend calc.py.", mend(place))
    place.landed("fix")

    shown = gitagent(place.repo, "status", "fix")
    log = gitagent(place.repo, "logs", "fix")

    assert "claude-sonnet-4-5" in shown.stdout
    assert "It adds now." in log.stdout
