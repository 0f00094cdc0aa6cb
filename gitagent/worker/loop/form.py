"""What is known of one tool, and what a call of it would do."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gitagent.core import reach
from gitagent.core.effect import Effect, Effects
from gitagent.core.reach import Facts

Given = Mapping[str, Any]
EffectOf = Callable[[Facts, Given], Effect]


class Who(StrEnum):
    """Who carries out the calls of a tool."""

    HANDS = "hands"  # the program in the sandbox
    OWN = "own"  # the loop itself
    MCP = "mcp"  # an MCP server
    STANDING = "standing"  # gitagent's own command line
    MEMORY = "memory"  # the daemon, through the gateway


class Where(StrEnum):
    """Which conversations have a tool."""

    TASK = "task"
    CHAT = "chat"
    BOTH = "both"
    CODE = "code"  # only code can call it


@dataclass(frozen=True, slots=True)
class Form:
    """One tool."""

    name: str
    description: str
    schema: Mapping[str, Any]  # JSON Schema of its arguments
    who: Who
    effect: EffectOf | None = None  # None: it has none that the gate knows
    kind: Effects | None = None  # of its effect
    where: Where = Where.TASK
    about: str = ""  # the argument that tells people what a call is about
    changes: bool = False  # whether calls of it are made one after the other
    seconds: float = 60.0  # time limit of a call; 0: that of [loop].shell
    strict: bool = True  # whether the arguments are held to the schema


def _absolute(facts: Facts, path: object) -> str:
    return reach.absolute(facts, str(path or "."))


def read(facts: Facts, given: Given) -> Effect:
    """Reading a path of the worktree, or what lies below it."""
    return Effect(Effects.READ, _absolute(facts, given.get("path")))


def view(facts: Facts, given: Given) -> Effect:
    """A view of Git."""
    return Effect(Effects.READ, f"git {given.get('view', '')}", facts.tree)


def write(facts: Facts, given: Given) -> Effect:
    """A file, with what it will hold."""
    content = str(given.get("content", ""))
    return Effect(Effects.WRITE, _absolute(facts, given.get("path")), content=content)


def edit(facts: Facts, given: Given) -> Effect:
    """A file, with what is replaced in it."""
    parts = {key: given.get(key) for key in ("old", "new", "all")}
    content = json.dumps(parts, ensure_ascii=False)
    return Effect(Effects.WRITE, _absolute(facts, given.get("path")), content=content)


def shell(facts: Facts, given: Given) -> Effect:
    """A command."""
    return Effect(Effects.SHELL, str(given.get("command", "")), facts.tree)


def code(facts: Facts, given: Given) -> Effect:
    """A program in Python."""
    source = str(given.get("source", ""))
    return Effect(Effects.SHELL, "python", facts.tree, content=source)


def fetch(_: Facts, given: Given) -> Effect:
    """An address."""
    return Effect(Effects.NETWORK, str(given.get("url", "")))


def look(_: Facts, given: Given) -> Effect:
    """What gitagent knows."""
    about = (given.get(key) for key in ("id", "query", "slug"))
    return Effect(Effects.READ, next((str(each) for each in about if each), ""))


def start(_: Facts, given: Given) -> Effect:
    """A task, with all that it says."""
    rest = {key: value for key, value in given.items() if key != "id"}
    content = json.dumps(rest, ensure_ascii=False, sort_keys=True)
    return Effect(Effects.START_TASK, str(given.get("id", "")), content=content)


def remember(_: Facts, given: Given) -> Effect:
    """An operation on an item, with all that it says."""
    content = json.dumps(dict(given), ensure_ascii=False, sort_keys=True)
    return Effect(Effects.REMEMBER, str(given.get("slug", "")), content=content)
