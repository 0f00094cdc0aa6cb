"""What a conversation may do at most, whatever its agent is granted.

A profile names the effects beside reading that are possible in it. It is no text for
the model: what is outside of it is not offered, and the gate denies it.
"""

from dataclasses import replace

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
