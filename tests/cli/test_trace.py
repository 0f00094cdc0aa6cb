"""gitagent trace: each line has an object that is there; what is missing is said."""

import pytest

from gitagent.core.conversation import Entry, Kind
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.layout import CONVERSATIONS
from gitagent.core.proposal import Proposal, Why
from gitagent.core.remembering import Op, Operation
from gitagent.files import record
from gitagent.git.records import Records
from gitagent.git.repository import discover
from gitagent.host.clock import stamp
from gitagent.memory import proposals
from tests.support import exchanges
from tests.support.cli import call
from tests.support.repos import Repo
from tests.support.taught import archived, failed, given, landed

FACTS = "Migrate the database first.\nRestart the workers.\n"


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({"notes.md": FACTS})
    call(repo, "init", "--no-check")


def add(repo: Repo, slug: str, row: int = 1) -> None:
    line = FACTS.split("\n")[row - 1]
    source = f"main:notes.md:{row}-{row}"
    asked = ("--kind", "fact", "--line", line, "--source", source)
    assert 0 == call(repo, "memory", "add", slug, *asked).code


def told(repo: Repo, name: str) -> list[tuple[str, str]]:
    """Return (what, text) of a chain whose objects are all there, in order."""
    links = call(repo, "trace", name, "--json").json["links"]
    whole = [link for link in links if link["about"] != "gap"]
    for link in whole:
        assert repo.git("cat-file", "-t", link["oid"])
    assert sorted(link["at"][:19] for link in whole) == [x["at"][:19] for x in whole]
    return [(link["about"], link["text"]) for link in links]


def kinds(repo: Repo, name: str) -> list[str]:
    return [about for about, _ in told(repo, name)]


def gaps(repo: Repo, name: str) -> list[str]:
    return [text for about, text in told(repo, name) if about == "gap"]


def test_an_item_that_nobody_has_received_has_its_source_its_ruling_and_the_gap(repo):
    add(repo, "deploy")
    lines = call(repo, "trace", "deploy").lines

    assert ["source", "ruling", "commit", "gap"] == kinds(repo, "deploy")
    assert ["Nobody has received it yet."] == gaps(repo, "deploy")
    assert "item deploy" == lines[0]
    assert repo.oid("main~1")[:12] in lines[1]
    assert "  Nobody has received it yet." == lines[-1]


def test_an_item_leads_to_who_received_it_and_to_what_came(repo):
    add(repo, "deploy")
    told_of = given(repo, "deploy")
    exposure = Exposure((told_of,), 0.5)
    sub = landed(repo, "good", exposure)
    failed(repo, "bad", Exposure((told_of,)))
    failed(repo, "spared", Exposure(rate=0.5, withheld=("deploy",)))
    named = f"deploy@{told_of.blob[:12]}"
    exchanges.write(repo, [(exchanges.request(named), b"{}")], task="good")
    found = told(repo, "deploy")

    assert ("received", f"good#1 received {named} by brief") in found
    assert ("context", f"request 1 to anthropic:sonnet of good#1 holds {named}") in (
        found
    )
    assert ("receipt", f"the check tests passed for {sub.id}") in found
    assert ("landing", f"{sub.id} landed") in found
    assert ("outcome", "bad#1 ended as failed, and nothing was submitted") in found
    assert ["The coin kept it from 1 attempt."] == gaps(repo, "deploy")
    archived(repo, "good", sub.id)
    assert sorted(found) == sorted(told(repo, "deploy"))


def test_a_withdrawal_leads_to_conversations_that_were_told_and_who_went_without(repo):
    add(repo, "deploy")
    add(repo, "workers", 2)
    failed(repo, "early", Exposure((given(repo, "deploy"),)))
    asked = ("--because", "It is not so.")
    assert 0 == call(repo, "memory", "withdraw", "deploy", *asked).code
    corrected(repo, "early", "deploy")
    landed(repo, "later", Exposure((given(repo, "workers"),)))
    ruling = repo.oid("refs/gitagent/memory/operations")
    found = told(repo, ruling[:12])

    assert ("correction", "early#1 was told that it has changed") in found
    assert ("without", "later#1 was given 1 item, and not deploy") in found
    assert "landing" in kinds(repo, ruling)
    assert "correction" in kinds(repo, "deploy")


def corrected(repo: Repo, task: str, slug: str) -> None:
    items = (Received(slug, "b" * 40, Way.CORRECTION),)
    entry = Entry(Kind.INPUT, 1, stamp(), 1, text="It is withdrawn.", items=items)
    records = Records(discover(repo.path))
    payload = record.dump_entry(entry)
    records.append(
        CONVERSATIONS + task, None, payload, what="said", kind="conversation"
    )


def test_a_landing_leads_back_to_what_its_task_had_received_and_on_to_its_items(repo):
    add(repo, "workers", 2)
    sub = landed(repo, "good", Exposure((given(repo, "workers"),)))
    asked = ("--kind", "fact", "--line", f"{sub.id} landed", "--source")
    add_ = call(repo, "memory", "add", "learnt", *asked, f"landing:{sub.id}")
    found = told(repo, sub.id)

    assert 0 == add_.code, add_.err
    assert ("received", "good#1 received workers by brief") in found
    assert ("work", f"{sub.id} was submitted") in found
    assert ("landing", f"{sub.id} landed") in found
    assert ("item", f"learnt (active): {sub.id} landed") in found
    assert [
        "No task has looked at what it teaches.",
        "Nobody has received an item of it yet.",
    ] == gaps(repo, sub.id)
    assert found == told(repo, "good")


def propose(repo: Repo) -> Proposal:
    opened = discover(repo.path)
    new = Proposal(
        "p-0123456789ab",
        Why.VERIFY,
        Operation(Op.WITHDRAW, "deploy", of=given(repo, "deploy").blob),
        "What verifies it fails.",
        (repo.oid("main"),),
        stamp(),
    )
    with opened.objects() as objects:
        (made,) = proposals.propose(opened, objects, [new])
        return made


def test_a_critique_leads_to_its_decision_its_update_and_what_came_later(repo):
    add(repo, "deploy")
    made = propose(repo)
    waits = kinds(repo, made.id)
    accepted = call(repo, "memory", "accept", made.id, "--because", "Quite so.")
    landed(repo, "later", Exposure(rate=0.5, recalled=False))
    found = told(repo, made.id)

    assert ["source", "proposal", "gap"] == waits
    assert 0 == accepted.code, accepted.err
    assert [
        "source",
        "proposal",
        "decision",
        "ruling",
        "commit",
        "without",
        "receipt",
        "outcome",
        "landing",
    ] == [about for about, _ in found]
    assert "proposal" in kinds(repo, "deploy")


def test_what_is_nothing_here_is_refused_with_the_mend(repo):
    answer = call(repo, "trace", "no-such-thing")

    assert 1 == answer.code
    assert "gitagent memory list" in answer.err
    assert 1 == call(repo, "trace", "deadbeef").code
