"""The memory and those who were told of it: an item is withdrawn while they work."""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitagent.core.carried import obligations
from gitagent.core.chat import Greeting, Hello
from gitagent.core.conversation import Kind, in_force
from gitagent.core.layout import EXCHANGES
from gitagent.core.manifest import TOOLS
from gitagent.git.repository import discover
from gitagent.host import place
from gitagent.host.socket import ask
from gitagent.worker import exchanges
from gitagent.worker.loop import record
from tests.support.builtin import GPT, World
from tests.support.cli import call
from tests.support.provider import Call, Finish, Gate, Provider, Say, Shell
from tests.support.repos import Repo
from tests.worker.loop.talk import Person

RULES = """\
Locks are held 5 s at most.
The cache is emptied by a restart.
Colours are off on a pipe.
"""
SETTINGS = """\
[memory]
withhold = 0.0

[loop]
context = 30000
reserve = 6000
keep = 500
"""
# By the client that is quicker to import.
STANDING = f'+++\nbackend = "model"\nmodel = "{GPT}"\n+++\n'
PLAIN = """\
+++
backend = "command"
argv = ["sh", "-c", "cat $GITAGENT_PROMPT_FILE"]
+++
"""
DONE = Finish(summary="It is done.", divergence="None")
WHY = "A lock is held as long as it takes"
LINE = "Locks are held 5 s at most, by whoever asks first."
COLOURS = {
    "op": "add",
    "slug": "colours",
    "kind": "fact",
    "line": "Colours are off on a pipe.",
    "sources": ["main:rules.txt:3-3"],
}
BODY = "Whoever holds locks longer than 5 s loses them."


def memory(world: World, *args: str) -> str:
    done = call(world.repo, "memory", *args)

    assert 0 == done.code, done
    return done.out


def add(world: World, slug: str, row: int, line: str, body: str = "") -> None:
    more = ()
    if body:
        path = world.repo.path.parent / "body"
        path.write_text(body)
        more = ("--body-file", str(path))
    source = f"main:rules.txt:{row}-{row}"
    memory(
        world, "add", slug, "--kind", "fact", "--line", line, "--source", source, *more
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    files = {
        "rules.txt": RULES,
        ".agent/agents/standing.md": STANDING,
        ".agent/agents/plain.md": PLAIN,
    }
    with Provider() as provider:
        made = World(Repo.make(tmp_path / "repo", files), provider)
        made.start(SETTINGS)
        add(made, "locks", 1, LINE, BODY)
        add(made, "cache", 2, "The cache is emptied by a restart.")
        yield made
        made.close()


def person(world: World) -> Person:
    message = {"op": "chat", "id": "", "new": False}
    there = ask(place.socket_path(world.repo.common_dir), message, 60)
    assert there is not None
    assert "socket" in there, (there, world.daemon.log)
    made = Person(Path(there["socket"]), Hello())
    made._socket.settimeout(60)
    return made


# Two of these are more than the context holds, so that the older part is summed up.
LONG = Shell("seq -s ' ' 12000 | fold -w 100")
SAID = re.compile(r"\[([a-z0-9][a-z0-9._-]*)@([0-9a-f]{12}) · ")


def told(request: dict[str, Any]) -> str:
    """Return what a model was asked, as one text."""
    return json.dumps(request["messages"], ensure_ascii=False)


def contexts(world: World, name: str) -> Iterator[tuple[str, str]]:
    """Yield producer and words of all pieces of a conversation's recorded requests."""
    repo = discover(world.repo.path)
    with repo.objects() as objects:
        tip = objects.ref(EXCHANGES + name)
        assert tip
        for each in exchanges.exchanges(objects, tip):
            if any(block.kind == TOOLS for block in each.blocks):
                for block in each.blocks:
                    yield block.producer, objects.blob(block.oid).decode()


def test_what_is_withdrawn_reaches_everybody_within_one_turn(world):
    hold = withdrawn_while_it_is_held(world)
    with discover(world.repo.path).objects() as objects:
        entries = record.read(objects, "hold")
    after = next(e for e in entries if e.tool == "search_memory")
    (correction,) = [e for e in entries if WHY in e.text and e.kind is Kind.INPUT]
    sums = [each.number for each in entries if each.kind is Kind.SUMMARY]
    requests = [told(each) for each in world.requests("hold")]
    has = [WHY in each for each in requests]
    first = has.index(True)
    talked = [e for e in world.entries("_chat-1") if e["kind"] == "input"]
    later = world.daemon.wait_task("later", "done")["attempts"][0]
    given = [(e["slug"], e["way"]) for e in hold["memory"]["received"]]
    shown = memory(world, "show", "locks")
    search = ("search", "--kind", "item", "how", "long", "locks", "are", "held")

    # Brief, and recall.
    assert LINE not in memory(world, "brief")
    assert {"cache"} == {each["slug"] for each in later["memory"]["received"]}
    assert LINE not in world.repo.git("cat-file", "-p", later["log"])
    # Lookup, search and index.
    assert "withdrawn" in shown
    assert BODY not in shown
    assert [f"locks is withdrawn: {WHY}."] == [
        each["text"] for each in world.results("hold", "show_memory")[1:]
    ]
    assert "Nothing was found." == after.text
    assert LINE not in memory(world, *search)
    assert [] == indexed(world, "locks")
    # A conversation that runs: in the first request after it, and told once.
    assert after.number + 1 == correction.number
    assert [n >= first for n in range(len(has))] == has
    assert 1 == requests[first].count(WHY)
    assert [WHY in e["text"] for e in talked if e["binding"]] == [True]
    # A summary of before is followed by it, one of after has it in what it covers; and
    # what is carried over stays beside it.
    assert sums[0] < correction.number < sums[-1]
    assert correction.text in obligations(in_force(entries))
    # What was given is on record, each line with its object.
    assert {("locks", way) for way in ("brief", "recall", "lookup")} <= {*given}
    for name in ("hold", "_chat-1"):
        every_line_names_its_object(world, name)
    what_is_proposed_is_told_what_it_lacks(world, hold)


def withdrawn_while_it_is_held(world: World) -> dict[str, Any]:
    """Withdraw an item while a task and a chat hold it; return the task's attempt."""
    gate, second = Gate(), Gate()
    says = [Say("They are held 5 s."), Say("I see."), Say("Nothing new.")]
    world.provider.script("talk", says)
    steps = [
        Call("show_memory", {"slug": "locks"}),
        LONG,
        LONG,
        Call("todo", {"items": [{"text": "Hold locks 5 s."}]}),
        gate,
        Call("search_memory", {"query": "how long locks are held"}),
        Call("show_memory", {"slug": "locks"}),
        Call("remember", {**COLOURS, "sources": ["main:rules.txt:9-9"]}),
        Call("remember", COLOURS),
        LONG,
        LONG,
        second,
        DONE,
        Say("Done."),
    ]
    may = 'may = ["write", "shell", "remember"]\n'
    world.task("hold", steps, "Look how long locks are held.", agent=may)
    with person(world) as talk:
        talk.until(Greeting)
        talk.say("script: talk How long are locks held?", "r1")
        talk.answer("r1")
        gate.wait()
        memory(world, "withdraw", "locks", "--because", WHY)
        gate.release.set()
        for request in ("r2", "r3"):
            talk.say("And now?", request)
            talk.answer(request)
    second.wait()
    task = '+++\nagent = "plain"\n+++\n# Look how long locks are held.\n'
    message = "Ask\n\nGitagent-Record: task-add\n"
    world.repo.commit_at("refs/heads/main", {".agent/tasks/later.md": task}, message)
    world.daemon.wait_task("later", "done")
    second.release.set()
    found: dict[str, Any] = world.daemon.wait_task("hold", "done")["attempts"][0]
    return found


def what_is_proposed_is_told_what_it_lacks(
    world: World, attempt: dict[str, Any]
) -> None:
    first, second = (each["text"] for each in world.results("hold", "remember"))
    kept = json.loads(world.repo.git("cat-file", "-p", attempt["proposed"]))

    assert "does not resolve: rules.txt has 3 lines" in first
    assert "Mend it and call remember once more" in first
    assert "Kept." in second
    assert {"operations": [COLOURS]} == kept


def indexed(world: World, slug: str) -> list[Any]:
    (path,) = (world.cache / "memory").glob("*.sqlite3")
    with contextlib.closing(sqlite3.connect(path)) as db:
        asked = "SELECT name FROM passage WHERE kind = 'item' AND name = ?"
        return db.execute(asked, (slug,)).fetchall()


def every_line_names_its_object(world: World, name: str) -> None:
    count = 0
    for producer, words in contexts(world, name):
        for slug, oid in SAID.findall(words):
            count += 1
            own = f"{slug}@{oid}" in producer or "past@" in producer
            assert own or producer.startswith("tool "), (producer, words[:200])
            assert world.repo.git("cat-file", "-t", oid)
    assert count
