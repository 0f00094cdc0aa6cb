"""The saved conversation of an agent moves from attempt to attempt."""

from dataclasses import replace

import pytest

from gitagent.core.agent import Agent
from gitagent.core.task import Attempt, Outcome
from gitagent.worker import conversation
from gitagent.worker.folder import folder_of

CLAUDE = Agent(name="claude", backend="claude")


@pytest.fixture
def places(work):
    """Return the orders and folders of three attempts; the first one has talked."""
    work.agent = CLAUDE
    orders = [work.order() for _ in range(3)]
    folders = [
        folder_of(each.repo.common_dir, "fix", each.attempt.number, confined=True)
        for each in orders
    ]
    for folder in folders:
        folder.path.mkdir(parents=True)
    folders[0].home.mkdir()
    (folders[0].home / "words").write_text("hello")
    conversation.keep(orders[0], folders[0], "s-1")
    return orders, folders


def test_the_next_attempt_gets_it(places):
    orders, folders = places

    assert conversation.take(orders[1], folders[1])
    assert "s-1" == conversation.session_of(folders[1])
    assert "hello" == (folders[1].home / "words").read_text()
    assert "" == conversation.session_of(folders[0])


def test_an_attempt_that_did_not_talk_is_passed_over(places):
    orders, folders = places

    assert conversation.take(orders[2], folders[2])
    assert "s-1" == conversation.session_of(folders[2])


@pytest.mark.parametrize(
    "agent", [replace(CLAUDE, name="other"), Agent(name="claude", backend="codex")]
)
def test_another_agent_begins_anew(places, agent):
    orders, folders = places

    assert not conversation.take(replace(orders[1], agent=agent), folders[1])
    assert "s-1" == conversation.session_of(folders[0])


def before(**fields):
    return Attempt(number=1, blob="", base="", started="", **fields)


def test_one_that_said_nothing_when_it_was_gone_on_with_is_left(places):
    orders, folders = places
    stuck = before(resumed=True, outcome=Outcome.FAILED)

    assert not conversation.take(replace(orders[1], before=stuck), folders[1])


@pytest.mark.parametrize(
    "earlier",
    [
        before(resumed=True, outcome=Outcome.FAILED, answer="I tried."),
        before(resumed=False, outcome=Outcome.FAILED),
        before(resumed=True, outcome=Outcome.INTERRUPTED),
    ],
)
def test_one_that_can_still_help_goes_on(places, earlier):
    orders, folders = places

    assert conversation.take(replace(orders[1], before=earlier), folders[1])


def test_without_a_home_there_is_none(places):
    orders, folders = places
    (folders[0].home / "words").unlink()
    folders[0].home.rmdir()

    assert not conversation.take(orders[1], folders[1])
    assert "" == conversation.session_of(folders[0])
