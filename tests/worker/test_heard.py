"""Whose words an attempt has heard: in its conversation, and of what came before."""

import pytest

from gitagent.core.agent import SHELL, Agent
from gitagent.core.conversation import Entry, Kind, Origin
from gitagent.core.settings import Sandbox
from gitagent.core.task import Attempt
from gitagent.git.repository import discover
from gitagent.worker import heard
from gitagent.worker.loop.record import Conversation
from tests.worker.work import Work

MODEL = Agent("model", "model")
PAGE = Entry(Kind.RESULT, origin=Origin.WEB)
RAN = Entry(Kind.RESULT, origin=Origin.WORKTREE, effect="shell")
EARLIER = Attempt(1, "b", "c", "2026-11-30T12:00:00Z", untrusted=("mcp",))
ONLINE = Sandbox(network=("docs.example:443",))


@pytest.mark.parametrize(
    ("agent", "entries", "more", "expected"),
    [
        (MODEL, (), {}, ()),
        (MODEL, (RAN,), {}, ()),
        (MODEL, (PAGE, RAN), {}, ("web",)),
        (MODEL, (RAN,), {"sandbox": ONLINE}, ("web",)),
        (MODEL, (PAGE,), {"before": EARLIER}, ("mcp", "web")),
        (MODEL, (PAGE, Entry(Kind.REWIND)), {"before": EARLIER}, ("mcp",)),
        # What servers say of their tools stands in every request.
        (Agent("model", "model", mcp=("notes",)), (), {}, ("mcp",)),
        # Of another program's conversation nothing is known.
        (SHELL, (PAGE,), {"sandbox": ONLINE}, ()),
        (SHELL, (), {"before": EARLIER}, ("mcp",)),
    ],
)
def test_what_an_attempt_has_heard(repo, agent, entries, more, expected):
    conversation = Conversation.open(discover(repo.path), "fix")
    for each in entries:
        conversation.append(each)
    sandbox = more.pop("sandbox", Sandbox()) if "sandbox" in more else Sandbox()
    order = Work(repo, sandbox=sandbox).order(agent=agent, before=more.get("before"))
    with order.repo.objects() as objects:
        found = heard.untrusted(order, objects)

    assert expected == found


def test_what_cannot_be_read_may_hold_anything(repo):
    order = Work(repo).order(agent=MODEL)
    tree = repo.oid("refs/heads/main")
    repo.git("update-ref", "refs/gitagent/conversations/fix", tree)
    with order.repo.objects() as objects:
        found = heard.untrusted(order, objects)

    assert ("mcp", "web") == found
