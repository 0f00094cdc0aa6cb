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
        self._client: _Client | None = None
        self._starts = 0

    def ask(self, order: Given, cancel: Cancel, seconds: float) -> Given:
        """Return the answer to one order; a lost one is uncertain."""
        client = self._living()
        if client is None:
            return _failed(f"its client ended {_STARTS} times")
        return client.ask(order, cancel, seconds)

    def close(self) -> None:
        """Let the client end."""
        with self._lock:
            if self._client is not None:
                self._client.hang_up()

    def _living(self) -> "_Client | None":
        with self._lock:
            if self._client is None or self._client.over:
                if self._starts >= _STARTS:
                    return None
                self._starts += 1
                self._client = _Client(self._root)
            return self._client


class _Client:
    """One process of the client, from its start to its end."""

    def __init__(self, root: Path) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._waiting: dict[int, _Waiting] = {}
        self._buffer = bytearray()
        self._looked = 0
        theirs, self._pipe = os.pipe()
        self.thread = threading.Thread(
            target=self._run, args=(root, theirs), daemon=True
        )
        self.thread.start()

    @property
    def over(self) -> bool:
        """Whether it takes no more orders."""
        return self._pipe < 0

    def ask(self, order: Given, cancel: Cancel, seconds: float) -> Given:
        """Return the answer to one order; a lost one is uncertain."""
        waiting = _Waiting()
        with self._lock:
            self._number += 1
            number = self._number
            if not self._write({**order, "id": number}):
                return _failed("its client has ended")
            self._waiting[number] = waiting
        watched = [until.set_(waiting.come), until.set_(cancel)]
        if until.first(watched, seconds) != 0:
            with self._lock:
                self._write({"id": number, "do": "stop"})
            until.first(watched[:1], _STOP_S)
        with self._lock:
            self._waiting.pop(number, None)
        return waiting.answer or {"state": UNCERTAIN, "text": "no answer came"}

    def hang_up(self) -> None:
        """Let it end."""
        with self._lock:
            if self._pipe >= 0:
                os.close(self._pipe)
                self._pipe = -1

    def _run(self, root: Path, theirs: int) -> None:
        try:
            done = run(
                lines.servers(),
                cwd=root,
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
            self.hang_up()
            with self._lock:
                lost = [*self._waiting.values()]
            for each in lost:
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
        if self._pipe < 0:
            return False
        left = memoryview(json.dumps(order).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._pipe, left) :]
        except OSError:
            return False
        return True


@cache
def _host(root: Path) -> Host:
    return Host(root)


def _failed(why: str) -> Given:
    return {"state": FAILED, "text": f"The call was not made: {why}."}


def _json(answer: Given) -> bytes:
    return json.dumps(answer).encode()
