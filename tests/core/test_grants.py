"""Grants only shrink: what one agent has beyond another is said, for each kind of it.

That no line of them ever widens is shown on random trees, in `test_profile`.
"""

from functools import cache
from itertools import product

import pytest

from gitagent.core.agent import Agent
from gitagent.core.candidate import Candidate, Change, PathChange, Started
from gitagent.core.glob import matching
from gitagent.core.grants import widening
from gitagent.core.policy import rule
from gitagent.core.settings import Settings, Worker
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskFile

SINCE = "2026-11-30T12:00:00Z"

FOLDERS = ("", "src/", "src/a/", "docs/", "x/src/", "x/docs/src/")
PATHS = tuple(folder + name for folder in FOLDERS for name in ("a.py", "b.md", "src"))
ANCHORED = ("**", "*", "src/**", "src/a/**", "src/a.py", "src/*.py", "docs/src", "x/**")
GLOBS = (*ANCHORED, "src/", "*.py", "src", "docs/", "**/src/**", "src/a", "x/docs/")


@cache
def paths_of(globs):
    return frozenset(matching(globs, PATHS) if globs else PATHS)


def test_a_glob_is_within_another_only_if_all_that_it_matches_is():
    for glob, outer in product(GLOBS, GLOBS):
        child, parent = (Agent("x", "claude", paths=(each,)) for each in (glob, outer))

        if not widening(child, parent):
            assert paths_of((glob,)) <= paths_of((outer,)), (glob, outer)


PARENT = Agent(
    "lead",
    "claude",
    tools=("Read", "Bash"),
    paths=("src/**", "*.md"),
    network=("one.example:443",),
    may=("write", "shell", "start_task"),
)
GATED = Agent("lead", "model", decide=("write", "network", "remember"), mcp=("notes",))


@pytest.mark.parametrize(
    ("child", "extra"),
    [
        (Agent("child", "model", decide=("network", "write"), mcp=("notes",)), []),
        (Agent("child", "model", decide=("network",), may=("shell",)), []),
        (
            Agent("child", "model", mcp=("notes", "tickets")),
            [
                "has the MCP server tickets",
                "does write without a decision",
                "does network without a decision",
            ],
        ),
        # What another program's definition says of decisions holds nobody.
        (
            Agent("child", "claude", decide=("write", "network")),
            ["does write without a decision", "does network without a decision"],
        ),
    ],
)
def test_a_child_asks_for_what_its_parent_asks_for(child, extra):
    expected = tuple(f"child {each}, and lead does not." for each in extra)

    assert expected == widening(child, GATED)


@pytest.mark.parametrize(
    ("host", "within"),
    [
        ("a.example.org:443", True),
        ("*.example.org:443", True),
        ("10.1.2.3:80", True),
        ("example.org:443", False),
        ("a.example.org:80", False),
        ("*.a.example.org:443", False),  # so it may be, but it is not compared
        ("10.1.0.0/16:80", False),
    ],
)
def test_a_host_is_within_a_list_that_reaches_it(host, within):
    parent = Agent("lead", "model", network=("*.example.org:443", "10.0.0.0/8:80"))
    child = Agent("child", "model", network=(host,))

    assert within is (not widening(child, parent))


@pytest.mark.parametrize(
    ("changed", "extra"),
    [
        ({}, ""),
        ({"may": ("write",), "tools": ("Bash(git log:*)",), "network": ()}, ""),
        ({"paths": ("src/a/**", "src/b.py", "*.md")}, ""),
        ({"instructions": "x", "model": "opus"}, ""),
        ({"may": ("write", "remember")}, "may remember"),
        ({"tools": ("Read", "Write")}, "has the tool Write"),
        ({"tools": ()}, "has every tool"),
        ({"backend": "codex"}, "has the tools of codex"),
        ({"network": ("two.example:443",)}, "reaches two.example:443"),
        ({"paths": ()}, "changes every path"),
        ({"paths": ("src/**", "docs/**")}, "changes docs/**"),
        ({"paths": ("src/",)}, "changes src/"),
    ],
)
def test_what_a_child_has_beyond_its_parent_is_said(changed, extra):
    values = {
        "backend": PARENT.backend,
        "tools": PARENT.tools,
        "paths": PARENT.paths,
        "network": PARENT.network,
        "may": PARENT.may,
    }
    found = widening(Agent("child", **{**values, **changed}), PARENT)

    assert (f"child {extra}, and lead does not.",) * bool(extra) == found


def test_a_program_of_ones_own_is_a_shell_whatever_its_definition_says():
    parent = Agent("lead", "claude", may=("write", "start_task"))
    child = Agent("tool", "command", ("bash",), may=("write",))

    assert ("tool may shell, and lead does not.",) == widening(child, parent)


def ruled(
    starts, *, agent=PARENT, task="plan", agents=None, default="shell", file=None
):
    starts = tuple(Started(*each) for each in starts)
    changes = tuple(
        PathChange(each.path, Change.ADDED, 0, 0o100644, "", "c" * 40)
        for each in starts
    )
    candidate = Candidate("b", ("t",), product="p", changes=changes, starts=starts)
    submission = Submission(
        "s-1", "t", SubmissionState.CHECKING, SINCE, SINCE, task=task
    )
    settings = Settings(worker=Worker(agent=default))
    return " ".join(
        rule(candidate, submission, settings, file, agent, agents=agents).no
    )


OTHER = ".agent/tasks/other.md"
NARROW = Agent("narrow", "claude", tools=("Read",), paths=("src/**",), may=("write",))
AGENTS = {"lead": PARENT, "narrow": NARROW, "claude": Agent("claude", "claude")}


def test_a_worker_starts_tasks_for_agents_that_are_within_its_own():
    starts = ((OTHER, "narrow"), (".agent/tasks/same.md", "lead"))

    assert "" == ruled(starts, agents=AGENTS)
    assert "" == ruled(((OTHER, None),), agents=AGENTS, default="narrow")


def test_a_worker_starts_no_task_for_an_agent_with_more():
    found = ruled(((OTHER, "claude"),), agents=AGENTS)

    assert OTHER in found
    assert "claude has every tool, and lead does not." in found
    assert "claude changes every path, and lead does not." in found


def test_a_task_that_names_no_agent_is_for_the_default_one():
    assert "shell has the tools of shell" in ruled(((OTHER, None),), agents=AGENTS)


def test_an_agent_that_is_still_to_be_defined_could_be_anything():
    found = ruled(((OTHER, "later"),), agents=AGENTS)

    assert f"The target has no agent later, which {OTHER} names." == found


def test_a_person_starts_tasks_for_whomever_they_like():
    assert "" == ruled(((OTHER, "claude"),), agents=AGENTS, task=None)


@pytest.mark.parametrize(
    ("own", "budget", "may"),
    [
        ((), (), True),
        ((), (("usd", 5.0),), True),
        ((), (("usd", 5.1),), False),
        ((), (("tokens", 10.0),), False),  # and so no limit in usd
        ((("usd", 1.0),), (), False),
        ((("usd", 1.0),), (("usd", 1.0), ("tokens", 10.0)), True),
        ((("usd", 1.0), ("tokens", 10.0)), (("usd", 1.0),), False),
    ],
)
def test_a_task_that_a_worker_starts_may_spend_at_most_what_its_own_may(
    own, budget, may
):
    file = TaskFile("plan", "b" * 40, "Plan", "", budget=own)
    found = ruled(((OTHER, "narrow", budget),), agents=AGENTS, file=file)

    assert may is ("May spend more" not in found)
    assert may or OTHER in found
