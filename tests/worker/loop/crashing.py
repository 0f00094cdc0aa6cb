"""The same conversation again and again, killed at another place each time.

As a script: ``crashing.py REPOSITORY FOLDER``. One process, and a fork of it for each
life, so that many kills cost one start. An effect is a line in a file; the
place of a kill is before or after it, or one of the executor's own. What was led, and
how often, is printed as JSON.
"""

import json
import os
import signal
import sys
from pathlib import Path

from gitagent.core.conversation import Call, CallState, Entry, Kind
from gitagent.core.effect import Effect, Effects
from gitagent.core.reach import Facts
from gitagent.core.settings import Loop
from gitagent.git import refs
from gitagent.git.repository import discover
from gitagent.host.cancel import Cancel
from gitagent.worker import executor
from gitagent.worker.executor import Executor
from gitagent.worker.loop.bodies import Output
from gitagent.worker.loop.form import Form, Where, Who
from gitagent.worker.loop.gating import Gate
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.table import TABLE

FACTS = Facts(task="fix", network=("count.example:443",))
ADD = Form(
    "mcp__count__add",
    "Count.",
    {"type": "object", "properties": {}},
    Who.MCP,
    lambda *_: Effect(Effects.NETWORK, "count.example:443"),
    Effects.NETWORK,
    Where.BOTH,
    changes=True,
    strict=False,
)


def call(name, tool, **given):
    return Call(name, tool, json.dumps(given))


ROUNDS = [
    (call("c1", "shell", command="make"), call("c2", "write", path="a", content="x")),
    (call("c3", "read", path="a"), call("c4", "read", path="b")),
    (
        call("c5", "mcp__count__add"),
        call("c6", "web_fetch", url="https://count.example/"),
    ),
    (call("c7", "code", source="..."),),
]
AFTER = (call("c8", "read", path="c"),)
NESTED = [("write", {"path": "b", "content": "y"}), ("read", {"path": "b"})]


class Counting:
    """Bodies whose effect is a line in a file that says whose it was."""

    def __init__(self, path, passing):
        self._path = path
        self._passing = passing

    def execute(self, tool, _, way):
        if tool == "read":
            return Output(b"")
        if tool == "code":
            for each in NESTED:
                way.nested(*each)
        self._passing("before")
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, f"{way.key}\n".encode())
        os.close(fd)
        self._passing("after")
        return Output(b"counted")


class Told(Counting):
    """Bodies that can be asked afterwards."""

    def probe(self, *call):
        way = call[-1]
        there = self._path.exists() and way.key in self._path.read_text().split()
        return Output(b"probed", CallState.DONE if there else CallState.FAILED)


def lead(opened, name, path, rounds, die_at):
    """Lead the conversation to its end, or to the place where it is to die."""
    places = []

    def passing(place):
        places.append(place)
        if len(places) == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    executor.failpoint = passing
    body = Counting(path, passing)
    bodies = {each.name: body for each in TABLE} | {ADD.name: Told(path, passing)}
    with refs.swift(opened.git):
        conversation = Conversation.open(opened, name)
        made = Executor(
            conversation, Gate(FACTS), bodies, Offer(FACTS, more=[ADD]), Loop()
        )
        made.recover()
        led = sum(each.kind is Kind.SAY for each in conversation.entries)
        for calls in rounds[led:]:
            conversation.append(Entry(Kind.SAY, calls=calls))
            made.run(calls, Cancel())
    return len(places)


def live(*args):
    """Lead in a fork; return how many places it passed, or None if it was killed."""
    back, out = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(out, str(lead(*args)).encode())
        os._exit(0)
    os.close(out)
    with os.fdopen(back) as said:
        text = said.read()
    _, status = os.waitpid(pid, 0)
    if not text and not os.WIFSIGNALED(status):
        raise SystemExit(f"a life ended with {status}")
    return int(text) if text else None


def main(repository, folder):
    opened, folder = discover(Path(repository)), Path(folder)
    opened.objects().close()  # imported here, and not in every life
    lives = {}
    # Each round by itself, and one more after it: a life is as short as can be.
    for at, calls in enumerate(ROUNDS):
        rounds = (calls, AFTER)
        name = f"whole-{at}"
        places = live(opened, name, folder / name, rounds, 0)
        lives[name] = [places is not None]
        for number in range(1, places + 1):
            name = f"killed-{at}-{number}"
            ends = [live(opened, name, folder / name, rounds, n) for n in (number, 0)]
            lives[name] = [each is not None for each in ends]
    sys.stdout.write(json.dumps(lives))


if __name__ == "__main__":
    main(*sys.argv[1:])
