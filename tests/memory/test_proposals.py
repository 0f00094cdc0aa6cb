"""The review on a real repository: what it proposes, and how a person's word counts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.core.layout import PROPOSALS
from gitagent.core.proposal import Proposal, Stand, Why
from gitagent.core.receipt import Result
from gitagent.core.remembering import Op, Operation, Ruling
from gitagent.core.task import TaskState
from gitagent.daemon import reviewing
from gitagent.errors import GitagentError, LostRace, UserError
from gitagent.git.signing import signer
from gitagent.git.text import Person
from gitagent.git.trust import Signers, signers
from gitagent.memory import proposals
from tests.support import ledger
from tests.support.keys import Key
from tests.support.memory import FACTS, SAYS, Writer, add, withdraw, writing
from tests.support.repos import settings_text

ME = Person("Test Person", "person@example.org", 1_764_500_000)
CONFIG = ".agent/config.toml"
SIGNERS = "signers"
SIX = "Three and three are six."


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "repo"


@pytest.fixture
def writer(template: Path, tmp_path: Path) -> Iterator[Writer]:
    with writing(template, tmp_path / "repo") as made:
        yield made


def passes(_command: str, _tree: str) -> str:
    return ""


def fails(command: str, _tree: str) -> str:
    return f"`{command}` ends with 1."


def review(writer: Writer, verify=passes) -> reviewing.Reviewed:
    return reviewing.review(
        writer.bench.repository, writer.bench.objects, verify=verify
    )


def accept(writer: Writer, name: str, **more) -> tuple[Proposal, Ruling | None]:
    found = (writer.bench.repository, writer.bench.objects)
    return reviewing.accept(*found, name, verify=passes, **more)


def reject(writer: Writer, name: str, **more) -> Proposal:
    found = (writer.bench.repository, writer.bench.objects)
    return reviewing.reject(*found, name, **({"because": "It holds."} | more))


def changed(writer: Writer, old: str = "two", new: str = "nine") -> str:
    """Change what the first line of the facts says; return the commit."""
    return writer.bench.repo.commit({FACTS: SAYS.replace(old, new)}, "Change")


def one(writer: Writer) -> Proposal:
    """Have one item whose evidence changed; return its proposal."""
    writer.ask(add("sums"))
    changed(writer, "Two and two are four.", "Nobody can count.")
    (found,) = review(writer).new
    return found


def test_without_findings_nothing_is_written(writer: Writer):
    writer.ask(add("sums"))
    found = review(writer)

    assert ((), (), 1, "") == (found.new, found.waiting, found.items, found.problem)
    assert {} == writer.bench.repo.refs(PROPOSALS)


def test_changed_evidence_is_proposed_with_the_commit_that_changed_it(writer: Writer):
    writer.ask(add("sums"))
    commit = changed(writer, "Two and two are four.", "Nobody can count.")
    (found,) = review(writer).waiting

    assert (Why.CHANGED, Op.WITHDRAW, "sums", (commit,)) == (
        found.why,
        found.operation.op,
        found.operation.slug,
        found.evidence,
    )


def test_reviewing_again_is_no_change(writer: Writer):
    found = one(writer)
    before = writer.bench.repo.refs()
    again = review(writer)

    assert ((), (found.id,)) == (again.new, tuple(x.id for x in again.waiting))
    assert before == writer.bench.repo.refs()


def test_lines_that_moved_and_say_the_same_in_other_words_are_cited_anew(
    writer: Writer,
):
    writer.ask(add("sums"))
    writer.bench.repo.commit(
        {FACTS: "# Sums\n" + SAYS.replace("four.", "four, always.")}, "Change"
    )
    (found,) = review(writer).new
    accept(writer, found.id)
    (source,) = writer.shelf.items["sums"].sources

    assert Op.UPDATE == found.operation.op
    assert ("Two and two are four, always.", 2) == (source.quote, source.first)
    assert () == review(writer).waiting


def test_an_item_that_cites_what_stands_there_now_makes_it_a_dispute(writer: Writer):
    writer.ask(add("sums"))
    changed(writer, "four", "five")
    writer.ask(add("newer", "Two and two are five."))
    (found,) = review(writer).new
    accept(writer, found.id)

    assert (Op.DISPUTE, "newer") == (found.operation.op, found.operation.against)
    assert {"sums": "disputed", "newer": "disputed"} == writer.statuses


def test_a_command_that_fails_now_is_proposed_and_one_that_cannot_run_is_said(
    writer: Writer,
):
    def nowhere(_command: str, _tree: str) -> str:
        raise GitagentError("no sandbox")

    writer.ask(add("sums", verify="make sums"), verify=passes)
    first, second, third = (review(writer, each) for each in (fails, nowhere, passes))

    assert [Why.VERIFY] == [each.why for each in first.new]
    assert "`make sums` ends with 1." in first.new[0].sentence
    assert ("no sandbox", 1) == (second.problem, len(second.waiting))
    assert ((), "Nothing speaks against it any more.") == (
        third.waiting,
        third.moot[0][1],
    )


def test_work_that_failed_later_speaks_against_what_came_from_it(writer: Writer):
    writer.origin = replace(writer.origin, task="fix", attempt=1)
    writer.ask(add("sums"))
    record = ledger.task(writer.bench.repo, "fix", TaskState.FAILED, reason="No more.")
    (found,) = review(writer).new

    assert (Why.WORK, (record.oid,)) == (found.why, found.evidence)
    assert "No more." in found.sentence


def test_a_cited_run_that_failed_later_on_the_same_tree_speaks_against_it(
    writer: Writer,
):
    repo, early = writer.bench.repo, "2026-11-30T12:00:00Z"
    cited = ledger.receipt(repo, b"Two and two are four.\n", started=early, run=1)
    blob = repo.oid(cited.place)
    writer.ask(add("sums", sources=(f"receipt:{blob}",)))
    before = review(writer).new
    red = ledger.receipt(
        repo,
        b"no\n",
        product=cited.product,
        result=Result.FAILED,
        started="2026-11-30T13:00:00Z",
        run=2,
    )
    (found,) = review(writer).new

    assert () == before
    assert (Why.WORK, (repo.oid(red.place),)) == (found.why, found.evidence)


def test_what_came_from_withdrawn_ones_is_proposed_once_that_is_accepted(
    writer: Writer,
):
    found = one(writer)
    _, ruling = accept(writer, found.id, because="It is wrong.")
    again = accept(writer, found.id)

    assert ruling is not None
    assert ("withdrawn", "It is wrong.") == (
        writer.statuses["sums"],
        writer.shelf.items["sums"].because,
    )
    assert writer.bench.target == ruling.commit
    assert again[1] is None
    assert () == review(writer).waiting


def test_a_decision_is_a_commit_of_the_person_on_the_chain(writer: Writer):
    found = one(writer)
    accept(writer, found.id)
    repo, ref = writer.bench.repo, proposals.ref_of(found.id)

    assert ["Test Person <person@example.org>", "gitagent <gitagent@localhost>"] == (
        repo.log("%an <%ae>", "--first-parent", ref)[:2]
    )
    assert ("Gitagent-Record", "decision") in repo.trailers(ref)
    assert Stand.ACCEPTED == _stand(writer, found.id)


def test_a_rejected_one_does_not_come_back_for_the_same_evidence_only(writer: Writer):
    found = one(writer)
    reject(writer, found.id)
    same = review(writer)
    writer.bench.repo.commit({FACTS: SAYS}, "Change it back")
    again = review(writer)
    changed(writer, "Two and two are four.", "Who knows?")
    other = review(writer)

    assert ((), ()) == (same.new, same.waiting)
    assert ((), ()) == (again.new, again.waiting)
    assert [("sums", Stand.WAITING)] == [
        (x.operation.slug, x.stand) for x in other.waiting
    ]
    assert "active" == writer.statuses["sums"]


def test_of_a_dispute_a_person_says_what_stays(writer: Writer, monkeypatch):
    writer.ask(add("a"), add("b", SIX, sources=(f"main:{FACTS}:2-2",)))
    writer.ask(Operation(Op.DISPUTE, "a", against="b", because="Both cannot be."))
    monkeypatch.setattr(reviewing.clock, "stamp", lambda: "2027-06-30T12:00:00Z")
    (found,) = review(writer).new
    for keep, reason in (("", "which one stays"), ("c", "--keep a, or b")):
        with pytest.raises(UserError) as refused:
            accept(writer, found.id, keep=keep)
        assert reason in refused.value.line()
    monkeypatch.undo()
    accept(writer, found.id, keep="b")

    assert Op.DECIDE == found.operation.op
    assert {"a": "withdrawn", "b": "active"} == writer.statuses


def test_what_there_is_nothing_to_decide_about_is_refused(writer: Writer):
    found = one(writer)
    with pytest.raises(UserError, match="decides no dispute"):
        accept(writer, found.id, keep="sums")
    with pytest.raises(UserError, match="needs a reason"):
        reject(writer, found.id, because=" ")
    with pytest.raises(UserError, match="there is no proposal"):
        accept(writer, "p-none")
    writer.ask(withdraw("sums"))
    with pytest.raises(UserError, match="out of date: sums is withdrawn"):
        accept(writer, found.id)


def test_what_was_decided_stays_decided(writer: Writer):
    found = one(writer)
    reject(writer, found.id)
    with pytest.raises(UserError, match="was rejected by"):
        accept(writer, found.id)

    assert Stand.REJECTED == reject(writer, found.id).stand


def test_a_proposal_without_evidence_here_cannot_be_accepted(writer: Writer):
    found = one(writer)
    bare = replace(found, id="p-bare", evidence=("0" * 40,), oid="")
    proposals.propose(writer.bench.repository, writer.bench.objects, [bare])

    with pytest.raises(UserError, match="no evidence here"):
        accept(writer, "p-bare")


def test_where_decisions_are_signed_only_an_allowed_key_counts(
    writer: Writer, tmp_path: Path
):
    found = one(writer)
    key, stranger = Key.make(tmp_path / "key"), Key.make(tmp_path / "stranger")
    trust = settings_text("true", f'[trust]\nallowed_signers = "{SIGNERS}"')
    files = {SIGNERS: key.allowed(ME.email), CONFIG: trust}
    writer.bench.repo.commit(files, "Trust")
    for given, reason in (
        (None, "have to be signed here"),
        (stranger.path, "nobody would believe this decision"),
    ):
        with pytest.raises(UserError, match=reason) as refused:
            accept(writer, found.id, key=given)
        assert "--key FILE" in refused.value.line()
    accept(writer, found.id, key=key.path)

    assert "withdrawn" == writer.statuses["sums"]
    assert 1 == len(writer.bench.repo.refs(PROPOSALS))


def test_a_forged_decision_does_not_count_and_the_proposal_waits(
    writer: Writer, tmp_path: Path
):
    found = one(writer)
    repository, objects = writer.bench.repository, writer.bench.objects
    forged = replace(found, stand=Stand.REJECTED, because="No.")
    proposals.decide(repository, objects, forged, ME, Signers())
    key = Key.make(tmp_path / "key")
    writer.bench.repo.commit({SIGNERS: key.allowed(ME.email)}, "Trust")
    who = signers(objects, SIGNERS, writer.bench.target)
    known = proposals.read_all(repository, objects, who)[found.id]
    assert isinstance(known, proposals.Known)
    again = replace(known.proposal, stand=Stand.REJECTED)
    proposals.decide(repository, objects, again, ME, who, signer(key.path))
    believed = proposals.read_all(repository, objects, who)[found.id]
    assert isinstance(believed, proposals.Known)

    assert (Stand.WAITING, "it is not signed") == (known.proposal.stand, known.doubt)
    assert (Stand.REJECTED, "") == (believed.proposal.stand, believed.doubt)


def test_two_decisions_at_once_are_one(writer: Writer):
    found = one(writer)
    repository, objects = writer.bench.repository, writer.bench.objects
    wanted = replace(found, stand=Stand.REJECTED)
    proposals.decide(repository, objects, wanted, ME, Signers())

    with pytest.raises(LostRace):
        proposals.decide(repository, objects, wanted, ME, Signers())


def test_a_damaged_record_is_told_and_stops_no_other(writer: Writer):
    found = one(writer)
    writer.bench.repo.git("update-ref", proposals.ref_of("p-bad"), "main")
    shown, refused = reviewing.listed(writer.bench.repository, writer.bench.objects)

    assert [found.id] == [each.proposal.id for each in shown]
    assert [proposals.ref_of("p-bad")] == [each.path for each in refused]
    with pytest.raises(UserError, match="no record of gitagent"):
        accept(writer, "p-bad")


def _stand(writer: Writer, name: str) -> Stand:
    known = proposals.read_all(
        writer.bench.repository, writer.bench.objects, Signers()
    )[name]
    assert isinstance(known, proposals.Known)
    return known.proposal.stand
