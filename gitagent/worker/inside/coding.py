"""The tool ``code``: Python of the model's, that may call the other tools.

It runs in a process of its own, `coded`, with two pipes to this one. Each call that it
makes is made by the executor, outside the sandbox, like any other; here it is only
passed on, and only as long as the code runs.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitagent.host import until
from gitagent.host.cancel import Cancel
from gitagent.worker.inside import coded
from gitagent.worker.inside.doing import (
    DONE,
    FAILED,
    Doing,
    Given,
    Said,
    Slip,
    text,
)
from gitagent.worker.inside.running import execute, how_it_ended

_LINE = 4 << 20  # bytes of one call
_PIECE = 65536


def code(given: Given, doing: Doing) -> Said:
    """Run a program to its end; its output is what it emits."""
    source = text(given, "source")
    try:
        compile(source, coded.NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Slip(coded.sentence(error)) from None
    from_it, its_out = os.pipe2(os.O_CLOEXEC)
    its_in, to_it = os.pipe2(os.O_CLOEXEC)
    script = str(Path(coded.__file__).resolve())
    line = _Line(from_it, to_it, doing)
    thread = threading.Thread(target=line.serve, daemon=True)
    thread.start()
    try:
        done = execute(
            [sys.executable, "-I", script, str(its_in), str(its_out)],
            doing,
            doing.seconds,
            stdin=json.dumps({"source": source, "token": doing.token}).encode(),
            pass_fds=(its_in, its_out),
        )
    finally:
        line.over.set()
        for fd in (its_in, its_out):
            os.close(fd)
    if done.code == coded.RAISED:
        return b"", FAILED
    last, how = how_it_ended(done, doing.seconds)
    return (b"[nothing was emitted]\n" if how == DONE and last else last), how


class _Line:
    """What goes between the code and the executor."""

    def __init__(self, source: int, sink: int, doing: Doing) -> None:
        self.over = Cancel()
        self._source = source
        self._sink = sink
        self._doing = doing
        os.set_blocking(sink, False)

    def serve(self) -> None:
        """Pass calls on, one after another, until the code is over."""
        try:
            for at, line in enumerate(self._lines(), 1):
                self._write(self._one(at, line))
        except OSError:
            pass  # it closed its pipes: it makes no more calls
        finally:
            os.close(self._source)
            os.close(self._sink)

    def _one(self, at: int, line: bytes) -> dict[str, Any]:
        try:
            call = json.loads(line)
            tool, given, token = call["tool"], call["given"], call["token"]
        except (ValueError, RecursionError, TypeError, KeyError):
            return {"text": "That is no call.", "ok": False}
        if not isinstance(tool, str) or not isinstance(given, dict):
            return {"text": "That is no call.", "ok": False}
        said, ok = self._doing.ask(at, str(token), tool, given)
        return {"text": said, "ok": ok}

    def _lines(self) -> Iterator[bytes]:
        buffer = bytearray()
        while True:
            waited = [until.set_(self.over), until.readable(self._source)]
            if until.first(waited, None) != 1:
                return
            data = os.read(self._source, _PIECE)
            if not data:
                return
            buffer += data
            while (end := buffer.find(b"\n")) >= 0:
                line = bytes(buffer[:end])
                del buffer[: end + 1]
                yield line
            if len(buffer) > _LINE:
                raise ConnectionError("a call is too long")

    def _write(self, answer: dict[str, Any]) -> None:
        left = memoryview(json.dumps(answer).encode() + b"\n")
        while left:
            waited = [until.set_(self.over), until.writable(self._sink)]
            if until.first(waited, None) != 1:
                raise ConnectionError("it is over")
            left = left[os.write(self._sink, left[:_PIECE]) :]
