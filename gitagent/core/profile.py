"""What a conversation may do at most, whatever its agent is granted.

A profile names the effects beside reading that are possible in it. It is no text for
the model: what is outside of it is not offered, and the gate denies it.
"""

from collections.abc import Callable
from dataclasses import replace

from gitagent.core import grants
from gitagent.core.agent import GRANTS, Agent

# By name: grants that stay. Without "network" no host is reached by a tool.
PROFILES: dict[str, frozenset[str]] = {
    "": frozenset(GRANTS),
    "plan": frozenset(),
    "side": frozenset(),
}


def shrink(may: tuple[str, ...], profile: str) -> tuple[str, ...]:
    """Return the grants that are left in a profile; of an unknown one none are."""
    kept = PROFILES.get(profile, frozenset())
    return tuple(each for each in may if each in kept)


def reaches(profile: str) -> bool:
    """Whether a tool may reach a host in a profile, if its agent may."""
    return "network" in PROFILES.get(profile, frozenset())


def enter(began: str, wanted: str) -> str:
    """Return the profile to go on with; never a wider one than it ``began`` with."""
    outer = PROFILES.get(began, frozenset())
    inner = PROFILES.get(wanted)
    return began if inner is None or not inner <= outer else wanted


def held(agent: Agent, profile: str) -> Agent:
    """Return what an agent is in a conversation with a profile."""
    network = agent.network if reaches(profile) else ()
    return replace(agent, may=shrink(agent.may, profile), network=network)


def child(agent: Agent, parent: Agent) -> Agent | None:
    """Return an agent as its parent may start it: without what the parent lacks.

    None: some of it cannot be taken away, since it runs what it likes or has the tools
    of another program; or what is left of its tools or paths is nothing, which no
    definition can say. `grants.widening` of what is returned is always empty.
    """
    may = grants.may_of(parent)
    tools = _both(agent.tools, parent.tools, lambda a, b: grants.tool_within(a, (b,)))
    paths = _both(agent.paths, parent.paths, grants.glob_within)
    if tools is None or paths is None:
        return None
    less = replace(
        agent,
        may=tuple(each for each in agent.may if each in may),
        tools=tools,
        paths=paths,
        network=tuple(
            each for each in agent.network if grants.host_within(each, parent.network)
        ),
        mcp=tuple(each for each in agent.mcp if each in parent.mcp),
        decide=tuple(dict.fromkeys((*agent.decide, *parent.decide))),
    )
    return None if grants.widening(less, parent) else less


def _both(
    own: tuple[str, ...], outer: tuple[str, ...], within: Callable[[str, str], bool]
) -> tuple[str, ...] | None:
    """Return what is in both lists, of which an empty one is everything."""
    if not own or not outer:
        return own or outer
    kept = [
        *(each for each in own if any(within(each, other) for other in outer)),
        *(other for other in outer if any(within(other, each) for each in own)),
    ]
    return tuple(dict.fromkeys(kept)) or None
