"""The tools of MCP servers, as the loop outside of the sandbox has them.

What is offered is taken once, when the servers have been started; a tool that its
server describes otherwise later is not called any more. An answer that is lost leaves
its call UNCERTAIN, unless the server has a tool that tells what became of it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitagent.core.conversation import CallState, Origin
from gitagent.core.network import AllowList
from gitagent.core.settings import Mcp
from gitagent.files import clean
from gitagent.host.cancel import Cancel
from gitagent.worker.loop.bodies import Bodies, Output, Way
from gitagent.worker.loop.form import Form
from gitagent.worker.loop.offered import Offered, address, listed, offered

_START_S = 40.0  # for a server to start anew, beyond the time of a call
_YES = frozenset({"done", "true", "yes"})
_NO = frozenset({"not done", "false", "no"})
_WHY = 500  # characters

_DONE = "The answer was lost, and the server says now that the call was carried out."
_NOT_DONE = (
    "The answer was lost, and the server says now that the call was not carried out. "
    "It may be made again."
)
_UNKNOWN = (
    "Whether the call was carried out is not known ({}). It is not made again by "
    "itself; find out before you make it once more."
)


class Servers:
    """The servers of one agent: Bodies of the tools that they offer.

    ``hands`` carries out ``mcp`` and ``mcp_list``; ``told`` gets a line for people for
    each server and each tool that is not there.
    """

    def __init__(
        self, specs: Mapping[str, Mcp], hands: Bodies, *, told: Callable[[str], None]
    ) -> None:
        self._specs = dict(specs)
        self._hands = hands
        self._told = told
        self._prints: dict[tuple[str, str], str] = {}
        self._offered: dict[str, Offered] = {}

    def start(self, network: Sequence[str], cancel: Cancel) -> dict[str, Offered]:
        """Start the servers, and return what is offered of them, by name.

        ``network`` is what the agent reaches. A server that is away is told of, and
        offers nothing.
        """
        hosts = AllowList(tuple(network))
        specs: dict[str, Mcp] = {}
        for name, spec in self._specs.items():
            where = address(spec.url) if spec.url else None
            if where is None or hosts.names(*where):
                specs[name] = spec
            else:
                host = AllowList.show(*where)
                self._told(
                    f"MCP server {name}: {host} is not in `network` of the agent"
                )
        if specs:
            found = self._list(specs, cancel)
            self._prints, tools = listed(specs, found, self._told)
            self._offered = offered(specs, tools, self._told)
        return self._offered

    @property
    def forms(self) -> tuple[Form, ...]:
        """What is offered, for `Offer`."""
        return tuple(each.form for each in self._offered.values())

    def execute(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        """Make one call, once; it is UNCERTAIN if nobody knows what became of it."""
        known = self._offered.get(tool)
        if known is None:
            said = "This tool is not there: its server is away."
            return Output(_line(said), CallState.FAILED, Origin.MCP)
        arguments = {**given, **dict.fromkeys(known.keys, way.key)}
        state, answer = self._call(known, known.called, arguments, way)
        text = str(answer.get("text", ""))
        if state is not CallState.UNCERTAIN:
            return Output(_line(text), state, Origin.MCP)
        if way.cancel.is_set():
            return Output(_uncertain(text), state, Origin.MCP)
        return self._found_out(known, text, way)

    def probe(self, tool: str, given: Mapping[str, Any], way: Way) -> Output | None:  # noqa: ARG002
        """Find out by its key what became of a call that was cut off."""
        known = self._offered.get(tool)
        if known is None:
            said = _uncertain("this tool is not there any more")
            return Output(said, CallState.UNCERTAIN, Origin.MCP)
        return self._found_out(known, "it was cut off", way)

    def _found_out(self, known: Offered, why: str, way: Way) -> Output:
        """Return what became of a call, as the server's own tool for that tells it."""
        probe = known.spec.probes.get(known.called, "")
        done = None
        if probe in known.spec.reads and way.key:
            asked = Way(known.spec.timeout, way.cancel)
            state, answer = self._call(known, probe, {"key": way.key}, asked)
            done = _told_by(answer) if state is CallState.DONE else None
        if done is None:
            return Output(_uncertain(why), CallState.UNCERTAIN, Origin.MCP)
        state = CallState.DONE if done else CallState.FAILED
        return Output(_line(_DONE if done else _NOT_DONE), state, Origin.MCP)

    def _call(
        self, known: Offered, tool: str, arguments: Mapping[str, Any], way: Way
    ) -> tuple[CallState, dict[str, Any]]:
        seconds = min(known.spec.timeout, way.seconds)
        order = {
            "server": known.server,
            "spec": _spec(known.spec),
            "tool": tool,
            "arguments": dict(arguments),
            "print": self._prints.get((known.server, tool), ""),
            "seconds": seconds,
        }
        # What is printed meanwhile is how the answer is handed on, not the answer.
        way = Way(seconds + _START_S, way.cancel, way.key)
        output = self._hands.execute("mcp", order, way)
        answer = _last(output)
        if answer is None:
            text = output.whole.decode(errors="replace")
            # FAILED: nothing has gone out. Of the rest nobody knows.
            failed = output.state is CallState.FAILED
            return (output.state if failed else CallState.UNCERTAIN), {"text": text}
        return output.state, answer

    def _list(self, specs: Mapping[str, Mcp], cancel: Cancel) -> dict[str, Any]:
        order = {"servers": {name: _spec(spec) for name, spec in specs.items()}}
        output = self._hands.execute("mcp_list", order, Way(_START_S, cancel))
        found = (_last(output) or {}).get("servers")
        return found if isinstance(found, dict) else {}


def _spec(spec: Mcp) -> dict[str, Any]:
    return {
        "command": [*spec.command],
        "url": spec.url,
        "env": dict(spec.env),
        "timeout": spec.timeout,
    }


def _last(output: Output) -> dict[str, Any] | None:
    """Return the answer, which is the last line; before it others may have spoken."""
    try:
        answer = json.loads(output.whole.rstrip(b"\n").rpartition(b"\n")[2])
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _told_by(answer: Mapping[str, Any]) -> bool | None:
    """Return what a probe says: ``done`` as a value, or as its only word."""
    structured = answer.get("structured")
    said = structured.get("done") if isinstance(structured, dict) else None
    if isinstance(said, bool):
        return said
    text = str(answer.get("text", "")).strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and isinstance(value.get("done"), bool):
        return bool(value["done"])
    word = text.rstrip(".").lower()
    return True if word in _YES else False if word in _NO else None


def _uncertain(why: str) -> bytes:
    return _line(_UNKNOWN.format(clean.sentence(why, _WHY).rstrip(".") or "no answer"))


def _line(text: str) -> bytes:
    return text.encode(errors="replace") + (b"" if text.endswith("\n") else b"\n")
