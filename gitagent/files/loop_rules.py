"""What the values of [loop], [mcp] and [[hook]] have to be, beyond their types."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from gitagent.core.ident import id_problem
from gitagent.core.settings import Hook, Loop, Mcp
from gitagent.files.fault import Fault, address_problem, count, each, text
from gitagent.files.fields import found
from gitagent.files.globs import command_problem
from gitagent.files.schema import Path

WHEN = ("before_tool", "after_tool")

_SERVER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_TOOLS = 200  # of one server; a model reads every one of them with each turn
_TOKENS = 10_000_000
_OURS = "GITAGENT_"


def faults(loop: Loop, servers: dict[str, Mcp], hooks: tuple[Hook, ...]) -> list[Fault]:
    """Return what is wrong with the tables."""
    return [
        *_loop(loop),
        *(fault for name, spec in servers.items() for fault in _server(name, spec)),
        *_hooks(hooks),
    ]


def _loop(loop: Loop) -> Iterator[Fault]:
    yield from count(("loop", "turns"), loop.turns, 1, 10_000)
    yield from count(("loop", "output_kib"), loop.output_kib, 1)
    yield from count(("loop", "output_lines"), loop.output_lines, 1, 100_000)
    yield from count(("loop", "answer"), loop.answer, 256, _TOKENS)
    yield from count(("loop", "context"), loop.context, 4096, _TOKENS)
    yield from count(("loop", "reserve"), loop.reserve, 1024, _TOKENS)
    yield from count(("loop", "keep"), loop.keep, 0, _TOKENS)
    left = loop.context - loop.reserve - loop.keep
    if loop.context >= 4096 and left < loop.context // 4:
        mend = "leave a quarter of the context beside `reserve` and `keep`"
        yield Fault(("loop", "context"), f"is {found(loop.context)}", mend)


def _server(name: str, spec: Mcp) -> Iterator[Fault]:
    above: Path = ("mcp", name)
    if not _SERVER.fullmatch(name):
        mend = "write letters, digits, _ and - (at most 40)"
        yield Fault(above, "is no name of a server", mend)
    if bool(spec.command) == bool(spec.url):
        wrong = "has both a command and a url" if spec.url else "says nothing to reach"
        yield Fault(above, wrong, "write one of `command` and `url`")
    if spec.command and not spec.command[0].strip():
        yield Fault((*above, "command"), "names no program", "write it first")
    if any("\0" in word for word in spec.command):
        yield Fault((*above, "command"), "contains a NUL character", "delete it")
    if spec.url:
        yield from text((*above, "url"), spec.url, _url_problem)
    yield from _environment((*above, "env"), spec)
    yield from each((*above, "tools"), spec.tools, _tool_problem)
    yield from each((*above, "reads"), spec.reads, _tool_problem)
    yield from count((*above, "most"), spec.most, 1, _TOOLS)
    yield from count((*above, "timeout"), int(spec.timeout), 1, 3600)
    for tool, probe in spec.probes.items():
        path = (*above, "probes", tool)
        if why := _tool_problem(tool):
            yield Fault(path, "is no name of a tool", why)
        elif tool in spec.reads:
            yield Fault(path, "is in `reads`, and may be called again", "leave it out")
        elif probe not in spec.reads:
            mend = "name one of `reads`: a probe changes nothing"
            yield Fault(path, f"is {found(probe)}", mend)


def _environment(path: Path, spec: Mcp) -> Iterator[Fault]:
    if spec.env and spec.url:
        yield Fault(path, "is for programs, and this is a url", "leave it out")
    for name, value in spec.env.items():
        if not _VARIABLE.fullmatch(name) or name.startswith(_OURS):
            mend = f"write letters, digits and _, and nothing that begins with {_OURS}"
            yield Fault((*path, name), "is no variable of a server", mend)
        elif "\0" in value:
            yield Fault((*path, name), "contains a NUL character", "delete it")


def _url_problem(url: str) -> str | None:
    if why := address_problem(url):
        return why
    try:
        there = urlsplit(url)
        whole = bool(there.hostname) and there.port != 0
    except ValueError:
        whole = False
        there = urlsplit("")
    if not whole or " " in url or not url.isascii():
        return "write an address such as https://mcp.example.org/mcp"
    if "@" in there.netloc or there.fragment:
        return "write it without @ and #: what is secret does not belong here"
    return None


def _tool_problem(tool: str) -> str | None:
    fit = tool.strip() and tool.isprintable() and len(tool) <= 200
    return None if fit else "write a tool's name as its server writes it"


def _hooks(hooks: tuple[Hook, ...]) -> Iterator[Fault]:
    seen: set[str] = set()
    for number, hook in enumerate(hooks):
        above: Path = ("hook", number)
        folded = hook.name.casefold()
        if why := id_problem(folded):
            mend = why.replace("an id", "a name")
            yield Fault((*above, "name"), f"is {found(hook.name)}", mend)
        if folded in seen:
            mend = "give every hook a name of its own"
            yield Fault((*above, "name"), "is the name of two hooks", mend)
        seen.add(folded)
        yield from text((*above, "run"), hook.run, command_problem)
        if hook.on not in WHEN:
            mend = f'write "{WHEN[0]}" or "{WHEN[1]}"'
            yield Fault((*above, "on"), f"is {found(hook.on)}", mend)
        yield from each((*above, "tools"), hook.tools, _tool_problem)
        yield from count((*above, "timeout"), int(hook.timeout), 1, 3600)
