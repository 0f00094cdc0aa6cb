"""Whether a task can start: what is said of the agent that it names."""

from dataclasses import replace
from itertools import product

import pytest

from gitagent.core.admission import Never, Ready, Wait, admit
from gitagent.core.agent import Agent
from gitagent.core.settings import Model, Provider, Settings, Worker
from gitagent.core.snapshot import Live, Machine, Snapshot, Target
from gitagent.core.task import Refusal, TaskFile

CLAUDE = Agent("claude", "claude")
AGENTS = {each.name: each for each in (CLAUDE, Agent("codex", "codex"))}
OPENAI = Provider(kind="openai", base_url="http://127.0.0.1:1")


def admitted(agent=None, *, agents=AGENTS, model=None, **fields):
    task = TaskFile("fix", "b" * 40, "Fix", "Do it.", agent=agent)
    snapshot = Snapshot(
        Target("refs/heads/main", "t"),
        replace(Settings(), model=model or Model()),
        agents=agents,
        **fields,
    )
    return admit(task, snapshot, 0)


def test_a_built_in_agent_needs_no_file():
    assert Ready(CLAUDE) == admitted("claude")


@pytest.mark.parametrize(
    ("here", "part"),
    [
        (("codex", "claude"), 'write `agent = "claude"` into it (also here: codex)'),
        (("codex",), 'write `agent = "codex"` into it.'),
        ((), "name another one in it, such as claude, codex."),
    ],
)
def test_prose_for_shell_is_refused_with_who_reads_it(here, part):
    answer = admitted(machine=Machine(agents=here))

    assert isinstance(answer, Never)
    assert part in answer.reason


def test_prose_without_anybody_who_reads_it_asks_for_a_definition():
    assert "add a definition to .agent/agents/" in admitted(agents={}).reason


def test_an_unknown_agent_is_refused_with_those_that_are_known():
    answer = admitted("clod")

    assert isinstance(answer, Never)
    assert ".agent/agents/clod.md" in answer.reason
    assert "claude, codex, shell" in answer.reason


@pytest.mark.parametrize(
    "path", [".agent/agents/x.md", "~/.config/gitagent/agents/x.md"]
)
def test_a_definition_that_cannot_be_used_is_what_the_task_waits_for(path):
    refusal = Refusal(path, f"{path}:2: odd; write it evenly")
    answer = admitted("x", refused=(refusal,))

    assert Never(f"Its agent x cannot be used: {refusal.reason}.") == answer


@pytest.mark.parametrize(
    ("agent", "part"),
    [
        (Agent("x", "model", model="nobody:y"), "no provider nobody"),
        (Agent("x", "acp"), "backend acp, but no argv"),
        (Agent("x", "claude", model="nobody:y"), "no provider nobody"),
        (Agent("x", "codex"), "speaks the API openai"),
        (Agent("x", "command", ("tool",), model="other:c"), "no provider other"),
    ],
)
def test_an_agent_that_cannot_be_run_is_refused(agent, part):
    answer = admitted("x", agents={"x": agent})

    assert isinstance(answer, Never)
    assert part in answer.reason


@pytest.mark.parametrize(
    "agent",
    [
        Agent("x", "codex"),
        Agent("x", "acp", ("tool",)),
        Agent("x", "command", ("tool",)),
        Agent("x", "command", ("tool",), model="local:m"),
    ],
)
def test_an_agent_with_a_way_to_its_model_is_ready(agent):
    model = Model(default="local:m", providers={"local": OPENAI})

    assert Ready(agent) == admitted("x", agents={"x": agent}, model=model)


def test_a_command_without_a_model_needs_no_provider():
    agent = Agent("x", "command", ("tool",))
    model = Model(default="gone:m", providers={})

    assert Ready(agent) == admitted("x", agents={"x": agent}, model=model)


def broken(**predicates):
    """Return a snapshot in which each named predicate of a start does not hold."""
    settings = Settings(worker=Worker(parallel=1))
    target = Target("refs/heads/main", "t", problem="it is odd")
    if not predicates["settings"]:
        return Snapshot(target, None), 0
    machine = Machine(
        sandbox=None if predicates["sandbox"] else "There is no sandbox.",
        full=None if predicates["disk"] else "The disk is full.",
    )
    live = Live(
        providers={} if predicates["provider"] else {"anthropic": "It is tired."},
        spent_out="" if predicates["budget"] else "It is spent.",
    )
    agents = {"claude": CLAUDE} if predicates["agent"] else {}
    finished = frozenset({"first"}) if predicates["before"] else frozenset()
    snapshot = Snapshot(
        Target("refs/heads/main", "t"),
        settings,
        agents=agents,
        finished=finished,
        machine=machine,
        live=live,
    )
    return snapshot, 0 if predicates["worker"] else 1


PREDICATES = (
    *("settings", "before", "agent", "sandbox", "disk"),
    *("provider", "budget", "worker"),
)


def test_a_task_starts_if_and_only_if_every_predicate_holds():
    task = TaskFile("fix", "b" * 40, "Fix", "Do it.", agent="claude", after=("first",))
    for values in product((True, False), repeat=len(PREDICATES)):
        snapshot, busy = broken(**dict(zip(PREDICATES, values, strict=True)))

        started = isinstance(admit(task, snapshot, busy), Ready)

        assert all(values) is started, values


def test_a_provider_that_is_left_alone_holds_nobody_back_whom_another_answers():
    model = Model(
        fallback=("two:claude-x",),
        providers={"anthropic": Provider(), "two": Provider()},
    )
    both = {"anthropic": "It is tired.", "two": "It is tired too."}

    def start(providers):
        return admitted("claude", model=model, live=Live(providers=providers))

    assert Ready(CLAUDE) == start({"anthropic": "It is tired."})
    assert Wait("It is tired.") == start(both)
