"""What is shipped as text holds: the unit, and the examples in the templates."""

import re
from configparser import ConfigParser
from pathlib import Path
from textwrap import dedent

import pytest

from gitagent.core.agent import Agent
from gitagent.core.task import TaskFile
from gitagent.files import agentfile, taskfile

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def examples(name, beginning):
    """Give the indented blocks of a template that begin with these characters."""
    text = (TEMPLATES / "agent" / name).read_text()
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE)
    found = [dedent(block).strip() for block in blocks]
    return [block.encode() for block in found if block.startswith(beginning)]


def test_the_examples_of_agents_are_agents():
    found = examples("agents/README.md", "+++")
    agents = [agentfile.parse("mine", each, "mine.md") for each in found]

    assert [
        "claude",
        "command",
        "acp",
    ] == [each.backend for each in agents if isinstance(each, Agent)]
    assert len(agents) == 3


@pytest.mark.parametrize("path", sorted((TEMPLATES / "agents").glob("*.md")))
def test_each_built_in_agent_is_named_after_its_backend_but_those_with_a_part(path):
    agent = agentfile.parse(path.stem, path.read_bytes(), path.name)

    assert isinstance(agent, Agent)
    parts = dict.fromkeys(("distiller", "standing"), "model")
    assert parts.get(path.stem, path.stem) == agent.backend
    assert agent.description


def test_the_examples_of_a_task_are_tasks():
    prose, front = examples("README.md", "#") + examples("README.md", "+++")
    task = taskfile.parse("greet", "b" * 40, prose, "greet.md")
    other = taskfile.parse("greet", "b" * 40, front + b"\ntext", "greet.md")

    assert isinstance(task, TaskFile)
    assert len(task.scripts) == 1
    assert isinstance(other, TaskFile)
    assert other.after


def test_the_systemd_unit_stops_the_daemon_before_its_workers():
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str
    unit.read_string((TEMPLATES / "gitagent.service").read_text())

    assert unit["Service"]["KillMode"] == "mixed"
    assert unit["Service"]["Restart"] == "on-failure"
    assert unit["Service"]["ExecStart"].endswith("gitagent up")
    assert int(unit["Service"]["TimeoutStopSec"]) > 30
    assert "%h" in unit["Service"]["WorkingDirectory"]
