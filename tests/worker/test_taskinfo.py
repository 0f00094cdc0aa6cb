"""What the programs beside an agent are told of its task."""

import json
from dataclasses import replace

from gitagent.core.agent import Agent
from gitagent.core.question import Answer
from gitagent.core.settings import Check, Lander, SandboxMode, Settings, Trust
from gitagent.host.confinement import WORKSPACE
from gitagent.worker.taskinfo import taskinfo


def told(order, begun=""):
    return json.loads(taskinfo(order, begun))


def test_bounds_and_duties_are_told(work):
    work.settings = Settings(
        check=(Check(name="tests", run="make test", timeout=60),),
        lander=Lander(protected=(".github/**",)),
        trust=Trust(allowed_signers="keys"),
    )
    work.agent = Agent("claude", "claude", paths=("src/**",), network=("a:1",))
    order = work.order(
        paths=("src/*.py",), forbidden=("x",), accept=("true",), timeout=90
    )
    order = replace(
        order,
        attempt=replace(order.attempt, started="2026-11-30T10:00:00Z", model="p:m"),
        answers=(Answer("Which?", "b"),),
    )
    values = told(order)
    expected = {
        "id": "fix",
        "title": "Mend the thing",
        "attempt": 1,
        "deadline": "2026-11-30T10:01:30Z",
        "paths": ["src/*.py"],
        "agent_paths": ["src/**"],
        "forbidden": ["x"],
        "protected": [".github/**", "/keys"],
        "own": ".agent/tasks/fix.md",
        "accept": ["true"],
        "accept_timeout": 600,
        "checks": [{"name": "tests", "run": "make test", "timeout": 60}],
        "answers": [{"question": "Which?", "answer": "b"}],
        "agent": "claude",
        "model": "p:m",
        "network": ["a:1"],
        "target": "main",
        "branch": "agent/fix",
        "confined": True,
        "tree": WORKSPACE,
    }

    assert expected == {key: values[key] for key in expected}
    assert "2026-11-30T11:01:30Z" == told(order, "2026-11-30T11:00:00Z")["deadline"]


def test_the_tasks_own_retries_come_first(work):
    work.worker = replace(work.worker, retries=2)
    order = work.order()

    assert 2 == told(order)["retries"]
    assert 0 == told(replace(order, task=replace(order.task, retries=0)))["retries"]


def test_without_a_sandbox_no_place_is_promised(work):
    work.sandbox = replace(work.sandbox, mode=SandboxMode.OFF)
    values = told(work.order())

    assert "" == values["tree"]
    assert not values["confined"]
    assert not [path for path in values["writable"] if path.startswith("/gitagent")]


def test_any_title_can_be_told(work):
    assert r"\x1b \u202e" == told(work.order(title="\x1b \u202e"))["title"]
