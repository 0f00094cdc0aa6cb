"""A worker that starts tasks: its grants bound what they may do."""

import pytest

LEAD = """\
+++
backend = "command"
argv = ["cp", "plan.md", ".agent/tasks/more.md"]
may = ["write", "shell", "start_task"]
paths = ["src/**"]
+++
"""
NARROW = '+++\nbackend = "command"\nargv = ["true"]\npaths = ["src/a/**"]\n+++\n'
WIDE = '+++\nbackend = "command"\nargv = ["true"]\n+++\n'


def planned(step, agent):
    stepped = step(
        "true",
        files={
            "plan.md": f'+++\nagent = "{agent}"\n+++\nDo it.\n',
            ".agent/agents/lead.md": LEAD,
            ".agent/agents/narrow.md": NARROW,
            ".agent/agents/wide.md": WIDE,
        },
    )
    stepped.repo.commit({".agent/tasks/plan.md": '+++\nagent = "lead"\n+++\nPlan.\n'})
    stepped.rest()
    return stepped


def test_a_task_for_an_agent_within_the_workers_own_lands_and_is_done(step):
    stepped = planned(step, "narrow")

    assert "landed" == stepped.task("plan").state
    assert "done" == stepped.task("more").state


@pytest.mark.parametrize("agent", ["wide", "claude", "later"])
def test_a_task_for_an_agent_with_more_never_lands(step, agent):
    stepped = planned(step, agent)
    task = stepped.task("plan")

    assert "failed" == task.state
    assert ".agent/tasks/more.md" in task.reason
    assert agent in task.reason
    assert ".agent/tasks/more.md" not in stepped.repo.paths()
