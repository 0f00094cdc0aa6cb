"""The process in which code of the model's runs, with ``tools`` and ``emit``.

Run as a script by an isolated Python, with the code on its input; it imports nothing
of gitagent's, and knows nothing that the model may not know::

    coded.py FD_IN FD_OUT
"""

import json
import linecache
import os
import sys
import threading
import traceback
from typing import Any

NAME = "<code>"
RAISED = 70  # exit code after an exception, which is told in the output
_CALL = 4 << 20  # bytes of a call


class ToolError(Exception):
    """A tool was not carried out, or says that it failed; the text says why."""


class Tools:
    """``tools.read(path="a")`` calls a tool and returns its output as a text."""

    def __init__(self, source: int, sink: int, token: str) -> None:
        self._source = os.fdopen(source, "rb")
        self._sink = os.fdopen(sink, "wb")
        self._token = token
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a function of any kind
        if name.startswith("_"):
            raise AttributeError(name)

        def call(**given: object) -> str:
            return self(name, given)

        return call

    def __call__(self, tool: str, given: dict[str, Any]) -> str:
        """Call a tool by a name that is no word of Python's."""
        if tool == "code":
            raise ToolError("code cannot be called by code")
        if tool == "read":
            given = {"numbers": False, **given}
        call = {"tool": tool, "given": given, "token": self._token}
        line = json.dumps(call).encode() + b"\n"
        if len(line) > _CALL:
            raise ToolError(f"a call has {_CALL >> 20} MiB at most")
        with self._lock:
            self._sink.write(line)
            self._sink.flush()
            answer = self._source.readline()
        if not answer:
            raise ToolError("no calls are taken any more")
        said = json.loads(answer)
        if not said["ok"]:
            raise ToolError(said["text"])
        text: str = said["text"]
        return text


def emit(*values: object) -> None:
    """Put values into the output: texts as they are, others as JSON if they can be."""
    sys.stdout.write(" ".join(map(_shown, values)) + "\n")
    sys.stdout.flush()


def sentence(error: BaseException) -> str:
    """Return an exception as one of Python's own last lines."""
    lines = traceback.format_exception_only(type(error), error)
    return "".join(lines).rstrip()


def main(argv: list[str]) -> int:
    """Run the code; return the exit code."""
    source, sink = int(argv[0]), int(argv[1])
    for fd in (source, sink):
        os.set_inheritable(fd, False)  # noqa: FBT003 - its own name is no keyword
    given = json.loads(sys.stdin.buffer.read())
    code = given["source"]
    # So that a traceback shows its lines.
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    names = {
        "__name__": "__main__",
        "__builtins__": __builtins__,
        "ToolError": ToolError,
        "emit": emit,
        "tools": Tools(source, sink, given["token"]),
    }
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - for good
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as a script there would have it
    try:
        exec(compile(code, NAME, "exec", dont_inherit=True), names)  # noqa: S102 - this is it
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, the model is told
        _tell(error)
        return RAISED
    return 0


def _tell(error: BaseException) -> None:
    """Print a traceback without the lines that are not the model's."""
    told = traceback.TracebackException.from_exception(error)
    each: Any = told
    while each is not None:
        frames = [frame for frame in each.stack if frame.filename == NAME]
        each.stack = traceback.StackSummary.from_list(frames)
        each = each.__cause__ or each.__context__
    sys.stdout.flush()
    sys.stderr.write("".join(told.format()).replace(f"{ToolError.__module__}.", ""))
    sys.stderr.flush()


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
