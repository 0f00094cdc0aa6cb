"""What a script of the model server consists of, and tools by their role.

A script says what it wants done (`Shell`, `Write`, `Ask`, …); which tool of the asking
program does that is found in the tools that its request offers.
"""

import json
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class NoTool(LookupError):
    """The request offers no tool for a role."""


@dataclass(frozen=True)
class Gate:
    """Wait for the test, then go on with the next step.

    A client that goes away while it waits uses up the gate and nothing else.
    """

    release: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)

    def wait(self, timeout: float = 60) -> None:
        """Wait until a request stands at the gate."""
        if not self.reached.wait(timeout):
            raise AssertionError("no request has come to the gate")


@dataclass(frozen=True)
class Say:
    """Text of the model."""

    text: str
    piece: int = 24  # characters of one streamed event
    hold: Gate | None = None  # that a stream stands at after its first piece


@dataclass(frozen=True)
class Think:
    """Thoughts of the model, where the API has them."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool by its name as the program has it."""

    tool: str
    arguments: Mapping[str, Any] | str  # a string: as it is, be it no JSON
    namespace: str = ""  # of the tool, where the API has them
    custom: bool = False  # a tool that takes plain text


@dataclass(frozen=True)
class Shell:
    """Run a command."""

    command: str


@dataclass(frozen=True)
class Write:
    """Write a file; by the shell where the program has no tool for it."""

    path: str
    text: str


@dataclass(frozen=True)
class Edit:
    """Put one text of a file in place of another; by the shell where there is one."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Mcp:
    """Call one of the tools that gitagent offers."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def Ask(*questions: str | tuple[str, Sequence[str]]) -> Mcp:  # noqa: N802
    """Ask questions, each a text or a text with options."""
    asked = [
        {"text": each}
        if isinstance(each, str)
        else {"text": each[0], "options": [*each[1]]}
        for each in questions
    ]
    return Mcp("ask", {"questions": asked})


def Finish(status: str = "done", **more: object) -> Mcp:  # noqa: N802
    """Say that the work is done, with ``summary`` and the like."""
    return Mcp("finish", {"status": status, **more})


Part = Say | Think | Call | Shell | Write | Edit | Mcp


@dataclass(frozen=True)
class Fault:
    """The request fails in one of the ways of `gitagent.core.failure.Failure`.

    ``rate_limited`` ``overloaded`` ``timeout`` ``server`` ``overflow`` ``auth``
    ``funds`` ``invalid``: an answer with that status. ``unreachable``: the connection
    is closed without an answer. ``hung``: nothing comes, for as long as the client
    waits. ``cut``: the answer ends in its middle. ``garbage``: bytes that are not of
    the API.
    """

    kind: str
    times: int = 1  # requests in a row
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 0  # 0: the usual one
    message: str = ""
    after: int = 3  # events that a `cut` or a begun stream lets pass
    begun: bool = False  # a stream that is `hung` or `garbage` begins first


@dataclass(frozen=True)
class Tool:
    """A tool that a request offers."""

    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    namespace: str = ""
    custom: bool = False


@dataclass(frozen=True)
class Asked:
    """A request, as a script that is a function sees it."""

    api: str  # messages, chat or responses
    model: str
    body: Mapping[str, Any]
    stream: bool
    text: str  # of system and users, all of it
    newest: str  # text of the newest message
    results: tuple[str, ...]  # of tools, if they are what is newest
    tools: tuple[Tool, ...]
    turn: int = 0  # how many requests of this script came before


Step = Part | Sequence[Part] | Fault | Gate
Script = Sequence[Step] | Callable[[Asked], Step]

_SHELLS = ("bash", "exec_command", "shell", "shell_command", "run_command", "terminal")
_WRITES = ("write", "write_file", "create_file")
_EDITS = ("edit", "edit_file")
_PATHS = ("file_path", "filePath", "path")
_OLD = ("old_string", "oldString")
_NEW = ("new_string", "newString")
_REPLACE = (
    "import sys,pathlib;p=pathlib.Path(sys.argv[1]);t=p.read_text();"
    "assert sys.argv[2] in t;p.write_text(t.replace(sys.argv[2],sys.argv[3],1))"
)


def calls(part: Part, tools: Sequence[Tool]) -> Say | Think | Call:
    """Return a part with its role turned into a tool of the request.

    Raises:
        NoTool: none of those offered does that.
    """
    match part:
        case Shell(command):
            return _shell(command, tools)
        case Write(path, text):
            tool = _first(tools, _WRITES)
            if tool is None:
                return _shell(
                    f"printf %s {shlex.quote(text)} >{shlex.quote(path)}", tools
                )
            return _call(tool, {_key(tool, _PATHS): path, "content": text})
        case Edit(path, old, new):
            return _edit(path, old, new, tools)
        case Mcp(name, arguments):
            return _call(_mcp(name, tools), arguments)
        case _:
            return part


def _shell(command: str, tools: Sequence[Tool]) -> Call:
    tool = _first(tools, _SHELLS)
    if tool is None:
        raise NoTool(f"no shell among {_names(tools)}")
    key = "cmd" if "cmd" in tool.properties else "command"
    listed = tool.properties.get(key, {}).get("type") == "array"
    value = ["bash", "-c", command] if listed else command
    more = {"description": "Run a command"} if "description" in tool.required else {}
    return _call(tool, {key: value, **more})


def _edit(path: str, old: str, new: str, tools: Sequence[Tool]) -> Call:
    tool = _first(tools, _EDITS)
    # Tools that edit want the file to be read before; a shell does not.
    if tool is None or _first(tools, _SHELLS) is not None:
        return _shell(shlex.join(["python3", "-c", _REPLACE, path, old, new]), tools)
    values = {_key(tool, _OLD): old, _key(tool, _NEW): new}
    return _call(tool, {_key(tool, _PATHS): path, **values})


def _mcp(name: str, tools: Sequence[Tool]) -> Tool:
    fitting = [tool for tool in tools if re.search(rf"(^|[_.\-]){name}$", tool.name)]
    ours = [each for each in fitting if "gitagent" in each.namespace + each.name]
    if not (ours or fitting):
        raise NoTool(f"no {name} among {_names(tools)}")
    return (ours or fitting)[0]


def _call(tool: Tool, arguments: Mapping[str, Any]) -> Call:
    if tool.custom:
        return Call(tool.name, json.dumps(arguments), tool.namespace, custom=True)
    return Call(tool.name, arguments, tool.namespace)


def _first(tools: Sequence[Tool], names: Sequence[str]) -> Tool | None:
    by_name = {tool.name.lower(): tool for tool in tools}
    return next((by_name[name] for name in names if name in by_name), None)


def _key(tool: Tool, names: Sequence[str]) -> str:
    return next((name for name in names if name in tool.properties), names[0])


def _names(tools: Sequence[Tool]) -> str:
    return ", ".join(tool.namespace + tool.name for tool in tools) or "no tools"
