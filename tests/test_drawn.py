"""The drawn pages of docs/ say what the code says."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def draw():
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drawn_pages_are_fresh():
    assert () == draw().stale()


def test_every_state_is_drawn_with_its_meaning():
    page = draw().pages()[ROOT / "docs" / "states.md"]

    for state in (*draw().task.TaskState, *draw().submission.SubmissionState):
        assert f"| `{state}`" in page


def test_every_tool_and_every_end_of_the_built_in_agent_is_drawn():
    drawn = draw()
    page = drawn.pages()[ROOT / "docs" / "builtin.md"]
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    names = [each.name for each in drawn.TABLE]

    expected = [*names, *drawn.CallState, *drawn.Ended]

    assert expected == [row.split("`")[1] for row in rows]
