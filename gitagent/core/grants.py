"""Grants only shrink: what one agent has that the one which starts it lacks.

Bounds that cannot be compared count as wider. A model is no grant: what it may cost is
bounded by the budgets of tasks, which `policy` compares.
"""

import re
from functools import lru_cache

from gitagent.core.agent import Agent
from gitagent.core.network import AllowList, split

GATED = "model"  # the backend whose every effect passes the gate before it happens

# What runs whatever it likes has a shell, whether or not its definition says so.
ANY_PROGRAM = frozenset({"shell", "command", "acp"})
WIDER = "may more than the usual agent"  # in what is said of one that is refused
_EVERYTHING = frozenset({"**", "*", "**/*"})
_LITERAL = re.compile(r"[^\\*?\[\]! #]+")  # nothing that gitignore(5) gives a meaning


def widening(child: Agent, parent: Agent) -> tuple[str, ...]:
    """Return a sentence for each thing that ``child`` has and ``parent`` lacks.

    None of them: whatever the child can do, its parent could have done.
    """
    return tuple(
        f"{child.name} {what}, and {parent.name} does not."
        for what in (
            *_grants(child, parent),
            *_tools(child, parent),
            *_network(child, parent),
            *_servers(child, parent),
            *_undecided(child, parent),
            *_paths(child, parent),
        )
    )


def _grants(child: Agent, parent: Agent) -> list[str]:
    return [f"may {grant}" for grant in sorted(may_of(child) - may_of(parent))]


def may_of(agent: Agent) -> frozenset[str]:
    """Return the grants that an agent has, written down or not."""
    return frozenset(agent.may) | (
        frozenset({"shell"}) if agent.backend in ANY_PROGRAM else frozenset()
    )


def _tools(child: Agent, parent: Agent) -> list[str]:
    if not parent.tools:
        return []
    if child.backend != parent.backend:
        # Names of tools mean something to their own program alone.
        return [f"has the tools of {child.backend}"]
    if not child.tools:
        return ["has every tool"]
    return [
        f"has the tool {tool}"
        for tool in child.tools
        if not _tool_within(tool, parent.tools)
    ]


def _tool_within(tool: str, outer: tuple[str, ...]) -> bool:
    """Whether a tool such as ``Bash(git log:*)`` is one of the outer ones."""
    return tool in outer or tool.partition("(")[0] in outer


def _network(child: Agent, parent: Agent) -> list[str]:
    return [
        f"reaches {host}"
        for host in child.network
        if not _host_within(host, parent.network)
    ]


@lru_cache(maxsize=1024)
def _host_within(host: str, outer: tuple[str, ...]) -> bool:
    """Whether the outer list reaches all that an entry of a list reaches."""
    if host in outer:
        return True
    one = split(host)
    return one is not None and AllowList(outer).names(*one)


def _servers(child: Agent, parent: Agent) -> list[str]:
    return [
        f"has the MCP server {name}" for name in child.mcp if name not in parent.mcp
    ]


def _undecided(child: Agent, parent: Agent) -> list[str]:
    """Return what the child does alone; an effect without its grant is none.

    Hosts are the settings' too, and so `network` always counts.
    """
    can = may_of(child) | {"read", "network"}
    asks, asked = (
        each.decide if each.backend == GATED else () for each in (child, parent)
    )
    return [
        f"does {effect} without a decision"
        for effect in asked
        if effect in can and effect not in asks
    ]


def _paths(child: Agent, parent: Agent) -> list[str]:
    if not parent.paths:
        return []
    if not child.paths:
        return ["changes every path"]
    return [
        f"changes {glob}"
        for glob in child.paths
        if not any(_glob_within(glob, outer) for outer in parent.paths)
    ]


def _glob_within(glob: str, outer: str) -> bool:
    """Whether all that ``glob`` matches ``outer`` matches for certain."""
    if glob == outer or outer in _EVERYTHING:
        return True
    folder = outer.removesuffix("**")
    if not folder.endswith("/") or not _LITERAL.fullmatch(folder):
        return False
    # One that has no slash before its end is looked for at any depth.
    return glob.startswith(folder) and "/" in glob.rstrip("/")
