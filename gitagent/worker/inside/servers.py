"""Calls of MCP tools, handed on to the client that `mcp_host` is.

A process of its own: what a server sends can at worst end that one. It is started with
the first call, and ends when this process does.
"""

import json
import os
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gitagent.host import until
from gitagent.host.cancel import Cancel
from gitagent.host.process import run
from gitagent.worker.inside import lines
from gitagent.worker.inside.doing import DONE, FAILED, UNCERTAIN, Doing, Given, Said

_STARTS = 5  # of the client, in one attempt
_LONG_S = 7 * 24 * 3600  # no attempt is that long
_STOP_S = 2.0  # for the client to say that a call was stopped


def mcp(given: Given, doing: Doing) -> Said:
    """Make one call of a server's tool, once; its answer is the last line, as JSON."""
    order = {**given, "do": "call", "key": doing.key}
    answer = _host(doing.place.root).ask(order, doing.cancel, doing.seconds)
    how = answer.pop("state", UNCERTAIN)
    return _json(answer), how if how in {DONE, FAILED} else UNCERTAIN


def mcp_list(given: Given, doing: Doing) -> Said:
    """Start the servers, side by side, and say as JSON which tools each has."""
    order = {"do": "list", "servers": given["servers"]}
    answer = _host(doing.place.root).ask(order, doing.cancel, doing.seconds)
    return _json(answer), DONE if "servers" in answer else FAILED


@dataclass(slots=True)
class _Waiting:
    """A call that has no answer yet."""

    come: Cancel = field(default_factory=Cancel)
    answer: Given | None = None


class Host:
    """The client's process, begun anew when it has ended; for any thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._pipe = -1  # to its standard input; -1: it does not run
        self._starts = 0
        self._number = 0
        self._waiting: dict[int, _Waiting] = {}
        self._buffer = bytearray()
        self._looked = 0

    def ask(self, order: Given, cancel: Cancel, seconds: float) -> Given:
        """Return the answer to one order; a lost one is uncertain."""
        waiting = _Waiting()
        with self._lock:
            if self._pipe < 0 and not self._start():
                return _lost("The call was not made: the client cannot be run.", FAILED)
            self._number += 1
            number = self._number
            self._waiting[number] = waiting
            if not self._write({**order, "id": number}):
                del self._waiting[number]
                return _lost("The call was not made: the client has ended.", FAILED)
        watched = [until.set_(waiting.come), until.set_(cancel)]
        if until.first(watched, seconds) != 0:
            with self._lock:
                self._write({"id": number, "do": "stop"})
            until.first(watched[:1], _STOP_S)
        with self._lock:
            self._waiting.pop(number, None)
        return waiting.answer or _lost("no answer came")

    def close(self) -> None:
        """Let the client end."""
        with self._lock:
            self._hang_up()

    def _start(self) -> bool:
        if self._starts >= _STARTS:
            return False
        self._starts += 1
        theirs, self._pipe = os.pipe()
        self._buffer.clear()
        self._looked = 0
        ends = (theirs, self._pipe)
        threading.Thread(target=self._run, args=ends, daemon=True).start()
        return True

    def _run(self, theirs: int, ours: int) -> None:
        try:
            done = run(
                lines.servers(),
                cwd=self._root,
                env=os.environ,
                stdin=theirs,
                timeout=_LONG_S,
                keep=1,
                on_output=self._hear,
                # Else its death would not be seen by who writes to it.
                on_start=lambda _: os.close(theirs),
            )
            if not done.started:
                os.close(theirs)
        finally:
            with self._lock:
                if self._pipe == ours:
                    self._hang_up()
                lost, self._waiting = self._waiting, {}
            for each in lost.values():
                each.come.set()

    def _hear(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\n", self._looked)) >= 0:
            answer: dict[str, Any] = json.loads(self._buffer[:end])
            del self._buffer[: end + 1]
            self._looked = 0
            with self._lock:
                waiting = self._waiting.get(answer.pop("id"))
            if waiting is not None and waiting.answer is None:
                waiting.answer = answer
                waiting.come.set()
        self._looked = len(self._buffer)

    def _write(self, order: Given) -> bool:
        left = memoryview(json.dumps(order).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._pipe, left) :]
        except OSError:
            return False
        return True

    def _hang_up(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


@cache
def _host(root: Path) -> Host:
    return Host(root)


def _lost(why: str, state: str = UNCERTAIN) -> Given:
    return {"state": state, "text": why}


def _json(answer: Given) -> bytes:
    return json.dumps(answer).encode()
