"""`gitagent chat` on a real terminal, with a real daemon, on a scripted model."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builtin import GPT, World
from tests.support.daemon import COMMAND
from tests.support.provider import TITLE, Call, Gate, Provider, Say
from tests.support.repos import Repo
from tests.support.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]

STANDING = f'+++\nbackend = "model"\nmodel = "{GPT}"\nmay = ["start_task"]\n+++\n'
TASK = {"id": "mend", "title": "Mend it", "text": "Mend a.py."}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    files = {"src/a.py": "ANSWER = 42\n", ".agent/agents/standing.md": STANDING}
    with Provider() as provider:
        made = World(Repo.make(tmp_path / "repo", files), provider)
        made.start()
        yield made
        made.close()


def leader(world: World) -> int:
    """Return the process that leads the newest chat."""
    line = [each for each in world.daemon.lines if "leads the chat" in each][-1]
    found = re.search(r"process (\d+) leads", line)
    assert found
    return int(found[1])


def inputs(world: World, name: str = "_chat-1") -> list[str]:
    """Return what a person has said, as the record has it."""
    entries = world.entries(name)
    return [each["text"] for each in entries if each.get("origin") == "person"]


def aside(terminal: Terminal, world: World, text: str, answer: str) -> list[str]:
    """Ask something aside, and return the entries that came into the chat meanwhile."""
    before = world.entries("_chat-1")
    terminal.enter("/side")
    terminal.shows("idle · side chat 1")
    terminal.enter(text)
    terminal.shows(answer, "idle · side chat 1")
    told = world.entries("_chat-1")[len(before) :]
    terminal.enter("/end")
    terminal.shows("[the side chat 1 is over]", TITLE, "idle · chat")
    return [each["text"] for each in told]


@pytest.mark.slow
def test_a_person_talks_through_kills_of_the_chat_and_of_the_daemon(world):
    streaming, endless, chat_dies, daemon_dies = Gate(), Gate(), Gate(), Gate()
    world.provider.script(
        "talk",
        [
            Call("read", {"path": "src/a.py"}),
            Say("It is 42.\nThat is all.", piece=12, hold=streaming),
            Say("I could go on for ever.", piece=12, hold=endless),
            Say("By the way: no."),
            Call("start_task", TASK),
            Say("I have started mend."),
            chat_dies,
            Say("Here I am."),
            daemon_dies,
            Say("Still here."),
        ],
    )
    with Terminal(*COMMAND, "chat", cwd=world.repo.path) as terminal:
        terminal.shows("idle · chat chat-1")

        # The answer is seen while it comes.
        terminal.enter("What is it? script: talk")
        early = terminal.shows("> read src/a.py", "It is 42.\nTh", "asking · chat")
        streaming.release.set()
        terminal.shows("That is all.", "idle · chat")

        # ^C ends a turn.
        terminal.enter("Go on.")
        terminal.shows("I could go o", "asking · chat")
        terminal.press("", "C-c")
        terminal.shows("[stopped", "idle · chat")

        # Aside, of which the conversation hears nothing until its end.
        told = aside(terminal, world, "Is it odd?", "By the way: no.")

        # A task was started, and going back does not undo it.
        terminal.enter("Mend it.")
        terminal.shows("I have started mend.", "idle · chat")
        entries = world.entries("_chat-1")
        answer = next(e["number"] for e in entries if "42.\nThat" in e["text"])
        terminal.enter(f"/rewind {answer}")
        terminal.shows("start_task mend (cannot be undone)", f"back to {answer}? y/n")
        terminal.enter("y")
        terminal.shows(f"[back to entry {answer}]")

        # The process of the chat dies in a turn, and then its daemon.
        terminal.enter("Are you there?")
        chat_dies.wait()
        os.kill(leader(world), signal.SIGKILL)
        terminal.shows("[connected again]")
        chat_dies.release.set()
        terminal.shows("Here I am.", "idle · chat")
        terminal.enter("And now?")
        daemon_dies.wait()
        world.daemon.kill()
        terminal.shows("connection lost")
        terminal.enter("Then go on.")
        terminal.shows("[…] Then go on.")
        daemon_dies.release.set()
        world.again()
        screen = terminal.shows("now 26 is told to the model]\nStill here.", "idle · ")
        terminal.press("", "C-d")
        terminal.shows("ended with 0")

    assert "That is all." not in early
    assert [] == told
    assert [
        "What is it? script: talk",
        "Go on.",
        "Mend it.",
        "Are you there?",
        "And now?",
        "Then go on.",
    ] == inputs(world)
    assert "Is it odd?" == inputs(world, "_chat-1.side1")[-1]
    assert 1 == screen.count("Here I am.")
    assert "Started by the agent standing" in world.show(".agent/tasks/mend.md")
