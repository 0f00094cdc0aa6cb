"""Nothing that is spawned, forked or gone on with has what came before it lacks."""

import random
from dataclasses import dataclass, replace
from functools import cache

import pytest

from gitagent.core.agent import GRANTS, Agent
from gitagent.core.effect import Context, Effect, Effects, judge
from gitagent.core.glob import matching
from gitagent.core.grants import may_of, widening
from gitagent.core.network import AllowList, split
from gitagent.core.profile import PROFILES, enter, held, reaches, shrink
from gitagent.core.reach import Facts, Kind

TREES = 10_000

GLOBS = ("**", "src/**", "src/a/**", "src/a/x.py", "*.py", "docs/**", "src", "docs/")
GLOBS = (*GLOBS, "*", "src/*.py", "docs/src", "**/src/**", "src/a")
PATHS = ("x.py", "src/x.py", "src/a/x.py", "src/a/y.md", "docs/x.md", "docs/src/x.py")
HOSTS = ("*.example:443", "a.example:443", "b.example:443", "10.0.0.0/8:80")
HOSTS = (*HOSTS, "10.1.2.3:80", "a.example:80")
REACHED = (
    "a.example:443",
    "c.example:443",
    "a.example:80",
    "10.1.2.3:80",
    "10.9.9.9:80",
)
TOOLS = ("read", "shell", "shell(ls)", "write")
SERVERS = ("notes", "tickets")
BACKENDS = ("model", "model", "model", "model", "claude", "command", "shell", "acp")
EFFECTS = tuple(map(str, Effects))


@dataclass(frozen=True)
class Node:
    """One conversation: of which agent, and in which profile."""

    agent: Agent
    profile: str = ""


def some(rng, values, share=0.6):
    return tuple(each for each in values if rng.random() < share)


def drawn(rng):
    return Agent(
        "agent",
        rng.choice(BACKENDS),
        tools=some(rng, TOOLS) if rng.random() < 0.3 else (),
        paths=some(rng, GLOBS, 0.4) if rng.random() < 0.5 else (),
        network=some(rng, HOSTS),
        may=some(rng, GRANTS, 0.8),
        decide=some(rng, EFFECTS, 0.1),
        mcp=some(rng, SERVERS),
    )


def varied(rng, agent):
    """Return an agent that is like another one but for one or two things."""
    other = drawn(rng)
    changed = rng.sample(VARIED, rng.randint(1, 2))
    return replace(agent, **{each: getattr(other, each) for each in changed})


VARIED = ("backend", "tools", "paths", "network", "may", "decide", "mcp")


def grown(rng, node):
    """Return a conversation that comes of another one; None: it may not."""
    above = held(node.agent, node.profile)
    # Programs of others have no profile: it is one of conversations of our own.
    match rng.randrange(5) if above.backend == "model" else rng.randrange(2, 5):
        case 0:  # a fork, or the same one later: its definition stays
            return replace(node, profile=enter(node.profile, rng.choice(WANTED)))
        case 1:
            return replace(node, profile=enter(node.profile, "side"))
        case _:  # as it is defined, which is how tasks of a worker's result start
            tried = (varied(rng, above) for _ in range(3))
            made = next((each for each in tried if not widening(each, above)), None)
    gated = made is not None and made.backend == "model"
    return made and Node(made, rng.choice(WANTED) if gated else "")


WANTED = (*PROFILES, "no such profile")


@cache
def paths_of_one(glob):
    return frozenset(matching((glob,), PATHS))


def paths_of(globs):
    # No glob of these takes away what another one gives.
    return frozenset().union(*map(paths_of_one, globs)) if globs else {*PATHS}


@cache
def hosts_of_one(host):
    reached = AllowList((host,))
    return frozenset(each for each in REACHED if reached.names(*split(each)))


def hosts_of(network):
    return frozenset().union(*map(hosts_of_one, network))


@cache
def tools_of(backend, tools):
    """Return tools by the program that they mean something to; of none named, all."""
    return frozenset(
        (program, each)
        for program in (set(BACKENDS) if not tools else {backend})
        for each in TOOLS
        if not tools or each in tools or each.partition("(")[0] in tools
    )


def had(node):
    """Return what a conversation has: each kind of thing as a set."""
    agent = node.agent
    grants = set(shrink(tuple(may_of(agent)), node.profile))
    network = agent.network if reaches(node.profile) else ()
    effects = {"read", *grants.intersection(EFFECTS)} - {"network"}
    if network:
        effects.add("network")
    asks = agent.decide if agent.backend == "model" else ()
    return {
        "grants": grants,
        "effects": effects.difference(asks),
        "paths": paths_of(agent.paths),
        "hosts": hosts_of(network),
        "servers": {*agent.mcp},
        "tools": tools_of(agent.backend, agent.tools),
    }


def tree_of(rng):
    """Yield each conversation of a tree with all those above it."""
    lines = [(Node(drawn(rng)),)]
    for _ in range(3):
        line = rng.choice(lines)
        node = grown(rng, line[-1])
        if node is not None:
            yield node, line
            lines.append((*line, node))


def test_no_spawn_tree_widens_along_any_path():
    rng = random.Random(20261130)  # noqa: S311 - the same trees each time
    nodes = 0
    for tree in range(TREES):
        have = {}
        for node, line in tree_of(rng):
            nodes += 1
            own = have.setdefault(id(node), had(node))
            for above in line:
                outer = have.setdefault(id(above), had(above))
                wider = [each for each in own if not own[each] <= outer[each]]
                assert [] == wider, (tree, node, above)

    assert nodes > 2 * TREES


PROBES = [
    Effect(Effects.READ),
    *(Effect(Effects.WRITE, path) for path in PATHS),
    *(Effect(Effects.SHELL, each) for each in ("ls", "touch src/x.py")),
    *(
        Effect(Effects.NETWORK, each)
        for each in ("a.example:443", "c.example:443", "10.1.2.3:80", "10.9.9.9:80")
    ),
    Effect(Effects.START_TASK, "more"),
    Effect(Effects.REMEMBER, "more"),
]


@cache
def said(node):
    """Return what the gate says to a conversation."""
    agent = held(node.agent, node.profile)
    facts = Facts(agent_paths=agent.paths, network=agent.network, may=node.agent.may)
    context = Context(node.profile, agent.decide)
    return {each: judge(each, facts, context).kind for each in PROBES}


def wider(node, above):
    """Return what the gate allows a conversation and denies the one above it."""
    outer = said(above)
    return [
        each
        for each, kind in said(node).items()
        if kind is Kind.ALLOW
        # A command of one that may do less can need no decision where the other's does.
        and outer[each] is not Kind.ALLOW
        and (each.kind is not Effects.SHELL or outer[each] is Kind.DENY)
    ]


def test_the_gate_allows_nothing_in_a_spawn_tree_that_it_denies_above():
    rng = random.Random(5)  # noqa: S311 - the same trees each time
    more = [
        (node, above, found)
        for _ in range(TREES // 40)
        for node, line in tree_of(rng)
        if node.agent.backend == "model"
        for above in line
        if above.agent.backend == "model" and (found := wider(node, above))
    ]

    assert [] == more


def test_profiles_only_take_away():
    assert GRANTS == shrink(GRANTS, "")
    assert [()] * 3 == [shrink(GRANTS, each) for each in ("plan", "side", "other")]
    assert ["", "plan", "side"] == [*PROFILES]
    assert [True, False, False] == [reaches(each) for each in PROFILES]


@pytest.mark.parametrize(
    ("began", "wanted", "expected"),
    [
        ("", "plan", "plan"),
        ("", "", ""),
        ("plan", "", "plan"),
        ("side", "", "side"),
        ("side", "plan", "plan"),
        ("", "other", ""),
        ("plan", "other", "plan"),
        ("other", "", "other"),
    ],
)
def test_no_wider_profile_is_entered(began, wanted, expected):
    assert expected == enter(began, wanted)
