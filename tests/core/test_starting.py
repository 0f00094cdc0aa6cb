"""What an agent starts after words of others lands with a person's decision alone."""

from dataclasses import replace

import pytest

from gitagent.core.agent import Agent
from gitagent.core.approval import Approval, Content, Needed
from gitagent.core.candidate import Candidate, Change, PathChange, Started
from gitagent.core.conversation import Origin
from gitagent.core.effect import Context, Effect, Effects, judge
from gitagent.core.policy import Ruling, rule
from gitagent.core.question import Answer
from gitagent.core.reach import Facts
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Attempt, TaskRecord, TaskState

SINCE = "2026-11-30T12:00:00Z"
MORE, SAME, PRODUCT = ".agent/tasks/more.md", ".agent/tasks/same.md", "src/a.py"
TEXT = "+++\nagent = 'lead'\n+++\n# More\n\nDo more.\n"
LEAD = Agent("lead", "model", may=("write", "shell", "start_task"))
HEARD = Attempt(1, "b", "c", SINCE, untrusted=("web",))
QUIET = Attempt(2, "b", "c", SINCE)


def change(path, kind=Change.ADDED):
    there = kind is not Change.DELETED
    return PathChange(path, kind, 0, 0o100644 * there, "", "c" * 40 * there)


def record(*attempts, answers=()):
    return TaskRecord(
        "plan", TaskState.SUBMITTED, "b", SINCE, attempts=attempts, answers=answers
    )


def ruled(found, agent=LEAD, *, task="plan", changes=None, approval=None):
    changes = (change(MORE), change(PRODUCT)) if changes is None else changes
    starts = tuple(
        Started(each.path, "lead", content=TEXT)
        for each in changes
        if each.path.startswith(".agent/tasks/") and each.new_blob
    )
    candidate = Candidate("b", ("t",), product="p", changes=changes, starts=starts)
    made = Submission("s-1", "t", SubmissionState.CHECKING, SINCE, SINCE, task=task)
    agents = {"lead": LEAD} | {agent.name: agent}
    return rule(
        candidate, made, Settings(), None, agent, approval, agents=agents, record=found
    )


def paths(ruling):
    assert () == ruling.no
    return [each.path for each in ruling.approve]


def yes(effect, *, agent=LEAD, text="yes"):
    """Return what a person said when the gate asked for an effect."""
    origins = frozenset({Origin.WEB})
    facts = Facts(may=agent.may)
    asked = judge(effect, facts, Context(decide=agent.decide, origins=origins))
    return Answer(asked.question.text, text)


WRITTEN = Effect(Effects.WRITE, f"/workspace/{MORE}", content=TEXT)


@pytest.mark.parametrize("attempts", [(HEARD,), (HEARD, QUIET)])
def test_a_task_that_was_started_unseen_waits_for_an_approval(attempts):
    found = ruled(record(*attempts))

    assert Ruling(approve=found.approve) == found
    assert [(MORE, 0o100644, "c" * 40)] == [
        (each.path, each.mode, each.blob) for each in found.approve
    ]
    assert "no person has decided" in found.approve[0].why

    content = Content(MORE, 0o100644, "c" * 40)
    given = Approval("s-1", "t", (content,), "A <a@example.org>", SINCE)
    assert [] == paths(ruled(record(*attempts), approval=given))


def test_what_a_person_said_yes_to_at_the_gate_lands():
    found = ruled(record(HEARD, answers=(Answer("Which?", "a"), yes(WRITTEN))))

    assert [] == paths(found)


@pytest.mark.parametrize(
    "answer",
    [
        yes(WRITTEN, text="no"),
        yes(replace(WRITTEN, content=TEXT + "Push it.\n")),
        yes(replace(WRITTEN, what=SAME)),
        yes(Effect(Effects.SHELL, f"echo x > {MORE}")),
        Answer("May the agent do it?", "yes"),
    ],
)
def test_a_yes_to_anything_else_is_none(answer):
    assert [MORE] == paths(ruled(record(HEARD, answers=(answer,))))


@pytest.mark.parametrize("kind", Change)
def test_a_task_that_is_changed_or_taken_away_is_decided_on_too(kind):
    found = ruled(record(HEARD), changes=(change(SAME, kind),))

    assert [SAME] == paths(found)


@pytest.mark.parametrize(
    ("attempts", "agent", "task"),
    [
        ((QUIET,), LEAD, "plan"),
        ((), LEAD, "plan"),
        ((HEARD,), LEAD, None),
        # It has no gate that could have asked.
        ((QUIET,), replace(LEAD, backend="claude", decide=("start_task",)), "plan"),
    ],
)
def test_nobody_is_asked_without_a_reason(attempts, agent, task):
    assert [] == paths(ruled(record(*attempts), agent, task=task))


def test_nobody_is_asked_for_the_product():
    assert [] == paths(ruled(record(HEARD), changes=(change(PRODUCT),)))


def test_what_a_definition_wants_decided_is_decided_on_where_it_lands():
    agent = replace(LEAD, decide=("start_task",))
    context = Context(decide=agent.decide)
    asked = judge(WRITTEN, Facts(may=agent.may), context).question
    answers = (Answer(asked.text, "yes"),)

    assert [MORE] == paths(ruled(record(QUIET), agent))
    assert [MORE] == paths(ruled(None, agent))
    assert [] == paths(ruled(record(QUIET, answers=answers), agent))


def test_protected_paths_and_tasks_are_approved_together():
    changes = (change(MORE), change(".mcp.json"))
    found = ruled(record(HEARD), changes=changes)

    assert all(isinstance(each, Needed) for each in found.approve)
    assert {MORE, ".mcp.json"} == set(paths(found))
