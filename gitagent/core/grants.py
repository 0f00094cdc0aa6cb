"""Grants only shrink: what one agent has that the one which starts it lacks.

Bounds that cannot be compared count as wider. A model is no grant: what it may cost is
bounded by the budgets of tasks, which `policy` compares.
"""

import re

from gitagent.core.agent import Agent

# What runs whatever it likes has a shell, whether or not its definition says so.
_ANY_PROGRAM = frozenset({"shell", "command", "acp"})
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
            *_paths(child, parent),
        )
    )


def _grants(child: Agent, parent: Agent) -> list[str]:
    return [f"may {grant}" for grant in sorted(_may(child) - _may(parent))]


def _may(agent: Agent) -> frozenset[str]:
    return frozenset(agent.may) | (
        frozenset({"shell"}) if agent.backend in _ANY_PROGRAM else frozenset()
    )


def _tools(child: Agent, parent: Agent) -> list[str]:
    if not parent.tools:
        return []
    if child.backend != parent.backend:
        # Names of tools mean something to their own program alone.
        return [f"has the tools of {child.backend}"]
    if not child.tools:
        return ["has every tool"]
    have = frozenset(parent.tools)
    return [
        f"has the tool {tool}"
        for tool in child.tools
        if tool not in have and tool.partition("(")[0] not in have
    ]


def _network(child: Agent, parent: Agent) -> list[str]:
    have = frozenset(parent.network)
    return [f"reaches {host}" for host in child.network if host not in have]


def _paths(child: Agent, parent: Agent) -> list[str]:
    if not parent.paths:
        return []
    if not child.paths:
        return ["changes every path"]
    return [
        f"changes {glob}"
        for glob in child.paths
        if not any(_within(glob, outer) for outer in parent.paths)
    ]


def _within(glob: str, outer: str) -> bool:
    """Whether all that ``glob`` matches ``outer`` matches for certain."""
    if glob == outer or outer in _EVERYTHING:
        return True
    folder = outer.removesuffix("**")
    if not folder.endswith("/") or not _LITERAL.fullmatch(folder):
        return False
    # One that has no slash before its end is looked for at any depth.
    return glob.startswith(folder) and "/" in glob.rstrip("/")
