"""The real command-line agents, from a committed task to a landing.

Each talks through the gateway to a scripted provider, confined as always. For every one
of them the fixture looks for the provider's key in all that is left behind.
"""

import json
import os
from pathlib import Path

import pytest

from gitagent.host.place import cache_root
from tests.agents.conftest import DEFINITIONS, KEY, Place
from tests.support import agents
from tests.support.daemon import gitagent, status
from tests.support.provider import Ask, Fault, Gate, Say, Shell
from tests.support.waiting import wait_for

PROGRAMS = ["claude", "codex", "opencode", "aider", "acp"]
REPLAYED = {"claude", "codex"}

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
def test_a_bug_is_mended_with_a_question_and_a_crash_in_between(place, monkeypatch):
    """One story for each program, since each start of some takes many seconds."""
    gate = Gate()
    # Some save what was said a moment late: the second step makes the first one sure.
    begun = [Shell("echo started >notes.txt; git add notes.txt"), Shell("ls"), gate]
    asked = [Ask(("Which operator?", ["minus", "plus"])), Say("I have asked.")]
    if place.program == "aider":
        begun = [gate]
        asked = [Say("QUESTION: Which operator?\n- minus\n- plus\n")]
    if place.program == "codex":
        begun = [Fault("overloaded"), *begun]
    # The agent of ACP is opencode, whose own story has the crash.
    crash = place.program != "acp"
    if not crash:
        begun = begun[:1]
    daemon = place.start()
    steps = [*begun, *asked, *mend(place)]
    place.task("fix", "Mend calc.py: add subtracts.", steps)
    if crash:
        gate.wait(120)
        if place.program == "claude":
            # It saves its conversation a moment after it has asked.
            wait_for(lambda: saved(place, "tool_result"), what="nothing is saved")
        before = len(place.provider.requests)
        daemon.kill()
        gate.release.set()
        daemon = place.start()
    daemon.wait_task("fix", "question", timeout=120)
    (card,) = status(place.repo)["questions"]

    assert "Which operator?" == card["questions"][0]["text"]

    if crash and place.program != "aider":
        assert b"echo started" in asked_since(place, before)

    before = len(place.provider.requests)
    place.answer("fix", "1=b")
    found = place.landed("fix")
    is_told(place, found, asked_since(place, before), crash=crash)
    if place.program in REPLAYED:
        # The last one with all that it went on from; and the one that was killed.
        comes_to_the_same_tree(place, monkeypatch, "fix")
    if place.program == "claude":
        comes_to_the_same_tree(place, monkeypatch, "fix", "--attempt", "1")


def is_told(place: Place, found: dict, newest: bytes, *, crash: bool) -> None:
    """Look whether the attempts of the story are on record, and shown."""
    attempts = found["attempts"]
    last = attempts[-1]
    first, *_ = place.provider.requests
    ended = [*(["interrupted"] if crash else []), "question", "ok"]

    assert ended == [each["outcome"] for each in attempts]
    assert [False, *([True] * (len(ended) - 1))] == [
        each["resumed"] for each in attempts
    ]
    assert 1 == len({each["session"] for each in attempts})
    assert b"Which operator?" in newest
    assert b"plus" in newest
    if place.program != "aider":
        assert b"echo started" in newest
        assert b"Write short commit messages." in first.body
        assert "started" == place.repo.git("show", "main:notes.txt")

    told = exchanges(place, "fix")
    made = [each for each in told if each["attempt"] == len(attempts)]

    assert (2 in {each["tries"] for each in told}) is (place.program == "codex")
    assert last["usage"]["requests"] == len(made)
    its_end_is_told(place, last)
    if place.program == "aider":
        return  # its newest request is for the words of a commit
    told = gitagent(place.repo, "context", "fix", "--explain").stdout

    # What the conversation began with two attempts ago is still told from the rest.
    assert "task file .agent/tasks/fix.md" in told
    assert "the program" in told


@pytest.mark.parametrize("place", ["claude"], indirect=True)
def test_what_a_task_can_come_to_is_told_by_one_daemon(place, monkeypatch):
    """Several tasks at once, since what costs is the start of daemon and programs."""
    without(monkeypatch, "codex")
    other = f"+++\n{DEFINITIONS['codex']}+++\n\nYou mend sums.\n"
    place.repo.commit({".agent/agents/other.md": other}, "Keep another one")
    place.start()
    proof = Shell("sed -i 's/a - b/a + b/' calc.py; echo adds >proof.txt")
    told = [Say("All tests pass."), proof, Say("It adds now.")]
    accept = ["grep -q adds proof.txt"]
    place.task("proven", "Mend calc.py.", told, accept=accept, retries=1)
    text = '+++\nagent = "claude"\nbudget = { usd = 0.01 }\n+++\n# Mend calc.py.\n'
    steps = [Shell("true"), Shell("echo 1 >dear.txt"), Say("Ok.")]
    place.provider.script("dear", steps)
    place.repo.commit({".agent/tasks/dear.md": text}, "Ask")
    place.task("silent", "Mend calc.py.", [Say("")])
    place.task("absent", "Mend calc.py.", mend(place), agent="other")

    a_command_that_has_to_pass_sends_the_agent_back_to_work(place)
    a_budget_that_is_spent_asks_and_goes_on_when_there_is_more(place)
    an_empty_answer_is_none(place)
    a_program_that_is_not_there_is_refused_with_the_command(place)
    # Last: whoever is told so could well have no other request go out for a while.
    a_refused_key_is_told_with_its_mend_and_never_the_key(place)
    comes_to_the_same_tree(place, monkeypatch, "proven")


def without(monkeypatch, program: str) -> None:
    """Take every folder from PATH that has a program."""
    folders = os.environ["PATH"].split(":")
    kept = [each for each in folders if not Path(each, program).exists()]
    monkeypatch.setenv("PATH", ":".join(kept))


def a_command_that_has_to_pass_sends_the_agent_back_to_work(place):
    found = place.landed("proven")
    log = gitagent(place.repo, "logs", "proven").stdout

    assert 1 == len(found["attempts"])
    assert "accept commands passed 1, failed 1" in log
    assert "It adds now." == found["attempts"][0]["answer"]


def a_budget_that_is_spent_asks_and_goes_on_when_there_is_more(place):
    found = place.daemon.wait_task("dear", "question", timeout=120)

    assert "budget" == found["card"]["asker"]
    assert "usd" in found["card"]["questions"][0]["text"]

    place.answer("dear", "1=20")
    place.landed("dear")


def an_empty_answer_is_none(place):
    found = place.daemon.wait_task("silent", "failed", timeout=120)

    assert found["reason"]


def a_program_that_is_not_there_is_refused_with_the_command(place):
    found = place.daemon.wait_task("absent", "refused")

    assert "npm install" in found["reason"]


def a_refused_key_is_told_with_its_mend_and_never_the_key(place):
    place.task("locked", "Mend calc.py.", [Fault("auth", times=20)])

    found = place.daemon.wait_task("locked", "refused", "failed", timeout=120)

    assert "claude" in found["reason"]
    assert "SCRIPTED_KEY" in found["reason"]


def comes_to_the_same_tree(place, monkeypatch, *words: str) -> None:
    """Replay with the program, and with neither daemon, provider nor key."""
    place.daemon.close()
    asked, before = len(place.provider.requests), place.repo.refs()
    agents.put_on_path(monkeypatch, place.program)
    monkeypatch.delenv(KEY, raising=False)
    done = gitagent(place.repo, "replay", *words)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "came to the same tree" in done.stdout
    assert asked == len(place.provider.requests)
    assert before == place.repo.refs()


def saved(place: Place, word: str) -> bool:
    """Whether the conversation of the first attempt has a word by now."""
    home = cache_root(place.repo.common_dir) / "attempts" / "fix-1" / "home"
    found = home.glob(".claude/projects/*/*.jsonl")
    return any(word in path.read_text() for path in found)


def asked_since(place: Place, before: int) -> bytes:
    """Return the bodies of the requests since there were so many."""
    return b"".join(each.body for each in place.provider.requests[before:])


def its_end_is_told(place: Place, last: dict) -> None:
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
