"""Which tools of MCP servers are offered to a model, under which names.

A name is kept in a map and never taken apart: a server may be called ``a_b``. One that
a provider would refuse, or that two tools would have, gets a print of what it stands
for.
"""

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from gitagent.core.effect import Effect, Effects
from gitagent.core.network import AllowList
from gitagent.core.reach import Facts
from gitagent.core.settings import Mcp
from gitagent.files import clean
from gitagent.model.provider import Tool
from gitagent.worker.loop import foreign
from gitagent.worker.loop.form import Form, Where, Who
from gitagent.worker.loop.offer import FOREIGN

_LISTED = 128 * 1024  # bytes that the tools of one server take in the context
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_NAME = 64  # characters; more is refused by providers
_PRINT = 8  # characters that keep a name apart from others
_KEYS = ("key", "idempotency_key")  # arguments that a call's key is given as

Tools = dict[str, list[dict[str, Any]]]  # by server, what is said of each


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool of a server, as a model may call it."""

    tool: Tool  # its name is ours
    server: str
    called: str  # its name at the server
    spec: Mcp
    keys: tuple[str, ...] = ()  # arguments that get the key of the call

    @property
    def reads(self) -> bool:
        """Whether it changes nothing, by the settings."""
        return self.called in self.spec.reads

    @property
    def form(self) -> Form:
        """The tool as it is offered beside the others."""
        return Form(
            self.tool.name,
            self.tool.description,
            self.tool.schema,
            Who.MCP,
            self._effect,
            self._kind,
            Where.BOTH,
            changes=not self.reads,
            seconds=float(self.spec.timeout),
            strict=False,
        )

    @property
    def _kind(self) -> Effects:
        if self.spec.url:
            return Effects.NETWORK
        return Effects.READ if self.reads else Effects.SHELL

    def _effect(self, _: Facts, given: Mapping[str, Any]) -> Effect:
        content = "" if self.reads else _call(self.called, given)
        if self.spec.url:
            what = AllowList.show(*address(self.spec.url))
        else:
            what = shlex.join(self.spec.command)
        return Effect(self._kind, what, content=content)


def address(url: str) -> tuple[str, int]:
    """Return host and port of an address that the settings took."""
    parts = urlsplit(url)
    usual = 443 if parts.scheme == "https" else 80
    return parts.hostname or "", parts.port or usual


def listed(
    specs: Mapping[str, Mcp], found: Mapping[str, Any], told: Callable[[str], None]
) -> tuple[dict[tuple[str, str], str], Tools]:
    """Return the prints of what servers say of their tools, and what they say.

    ``found`` comes from the sandbox: nothing about it is sure.
    """
    prints: dict[tuple[str, str], str] = {}
    tools: Tools = {}
    for name in specs:
        answer = found.get(name)
        said = answer.get("tools") if isinstance(answer, dict) else None
        if not isinstance(said, list):
            why = answer.get("error") if isinstance(answer, dict) else None
            shown = clean.sentence(str(why or "it did not answer"), 500)
            told(f"MCP server {name} is away: {shown}")
            continue
        for each in said:
            try:
                called = foreign.name_of(each)
            except foreign.Unfit as error:
                told(f"MCP server {name}: a tool is not offered: {error}")
                continue
            if (name, called) in prints:
                told(f"MCP server {name}: {called} is there twice")
                continue
            prints[name, called] = str(each.get("print"))
            tools.setdefault(name, []).append(each)
    return prints, tools


def offered(
    specs: Mapping[str, Mcp], tools: Tools, told: Callable[[str], None]
) -> dict[str, Offered]:
    """Return what is offered, by the name that a model calls it by."""
    chosen = [
        each
        for name, spec in specs.items()
        for each in _of_one(name, spec, tools.get(name, []), told)
    ]
    plain = Counter(_plain(each) for each in chosen)
    made: dict[str, Offered] = {}
    for each in chosen:
        name = _plain(each)
        if len(name) > _NAME or _ILLEGAL.search(name) or plain[name] > 1:
            print_ = sha256(f"{each.server}\0{each.called}".encode()).hexdigest()
            legal = _ILLEGAL.sub("_", name)[: _NAME - _PRINT - 1]
            name = f"{legal}_{print_[:_PRINT]}"
        tool = Tool(name, each.tool.description, each.tool.schema)
        made[name] = Offered(tool, each.server, each.called, each.spec, each.keys)
    return made


def _plain(each: Offered) -> str:
    return f"{FOREIGN}{each.server}__{each.called}"


def _of_one(
    name: str, spec: Mcp, said: list[dict[str, Any]], told: Callable[[str], None]
) -> list[Offered]:
    """Return the tools of one server that are fit, as many as the settings allow."""
    by_name = {str(each["name"]): each for each in said}
    wanted = spec.tools or tuple(by_name)
    made: list[Offered] = []
    room = _LISTED
    for number, called in enumerate(wanted):
        if len(made) >= spec.most:
            rest = len(wanted) - number
            more = f" and {rest - 1} more" if rest > 1 else ""
            told(
                f"MCP server {name}: {clean.sentence(called)}{more} not offered: "
                f"`most` is {spec.most}"
            )
            break
        try:
            each, size = _fitting(name, called, spec, by_name.get(called), room)
        except foreign.Unfit as error:
            told(f"MCP server {name}: {clean.sentence(called)} not offered: {error}")
            continue
        room -= size
        made.append(each)
    return made


def _fitting(
    server: str, called: str, spec: Mcp, said: Mapping[str, Any] | None, room: int
) -> tuple[Offered, int]:
    """Return a tool, and the room that it takes. Raises Unfit."""
    if said is None:
        raise foreign.Unfit("the server has none of this name")
    each = _one(server, called, spec, said)
    size = len(json.dumps([each.tool.description, each.tool.schema]))
    if size > room:
        raise foreign.Unfit("those before it take all the room there is")
    return each, size


def _one(server: str, called: str, spec: Mcp, said: Mapping[str, Any]) -> Offered:
    schema = foreign.schema(said)
    properties = schema["properties"]
    # What else is called a key may be something else: ask only who has a probe.
    keys = tuple(each for each in _KEYS if each in properties)
    keys = keys if called in spec.probes else tuple(k for k in keys if k != "key")
    schema["properties"] = {k: v for k, v in properties.items() if k not in keys}
    if "required" in schema:
        schema["required"] = [each for each in schema["required"] if each not in keys]
    about = foreign.description(said)
    description = f"[a tool of the MCP server {server}] {about}".rstrip()
    return Offered(Tool("", description, schema), server, called, spec, keys)


def _call(called: str, given: Mapping[str, Any]) -> str:
    return f"{called} {json.dumps(given, ensure_ascii=False, sort_keys=True)}"
