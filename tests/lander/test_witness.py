"""An outside witness: whatever is done to the records here, it said what they were."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.core.submission import Submission, SubmissionState
from gitagent.git.repository import discover
from gitagent.host import place
from gitagent.lander import submit, witness
from gitagent.lander.land import Landed
from gitagent.lander.remote import exchange
from gitagent.lander.verify import Finding
from gitagent.lander.witnessed import compare
from tests.support.cli import call
from tests.support.lander import Bench, archive
from tests.support.repos import Repo

MAIN = "refs/heads/main"

pytestmark = pytest.mark.usefixtures("hub")


@pytest.fixture
def hub(made: Bench, tmp_path: Path) -> Repo:
    bare = made.repo.clone(tmp_path / "hub.git", bare=True)
    made.repo.git("remote", "add", "origin", str(bare.path))
    lander = replace(made.settings.lander, push="origin")
    made.settings = replace(made.settings, lander=lander)
    return bare


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "EVERY_S", 0.0)
    restart()


def restart() -> None:
    """Forget what a daemon knows of its witness."""
    witness._tellers.clear()


def land(made: Bench, name: str) -> Submission:
    submission = made.submit(made.offer({name: name}, branch=f"b-{name}"))
    candidate = made.prepare(submission)
    result = made.land_ready(made.green(submission, candidate), candidate)
    assert isinstance(result, Landed)
    return made.settle(result.submissions[0])


def tell(made: Bench) -> None:
    """Push as the daemon does after a landing."""
    said = exchange(made.repository, "origin", MAIN, made.target, send=True)

    assert said.pushed


def problems(made: Bench) -> list[Finding]:
    found = [*compare(discover(made.repo.path), made.settings)]

    assert {} == made.repo.refs("refs/gitagent/witnessed/")
    return [each for each in found if each.problem]


def own(made: Bench) -> str:
    return witness.ref_of(made.repository)


def chain(made: Bench, ref: str) -> list[str]:
    """Return the commits of a chain, oldest first."""
    return made.repo.git("rev-list", "--first-parent", "--reverse", ref).split()


def rebuild(made: Bench, ref: str, commits: list[str]) -> None:
    """Put a chain in place of another that holds the steps in this order."""
    tip = ""
    for commit in commits:
        parents = ["-p", tip] if tip else []
        tip = made.repo.git("commit-tree", *parents, "-m", "step", f"{commit}^{{tree}}")
    made.repo.git("update-ref", ref, tip)


def test_what_only_grew_is_borne_out(made: Bench, hub: Repo):
    land(made, "a")
    tell(made)
    land(made, "b")
    made.submit(made.offer({"c": "c"}, branch="c"))
    tell(made)
    made.submit(made.offer({"d": "d"}, branch="d"))
    *found, last = compare(made.repository, made.settings)

    assert [] == found
    assert not last.problem
    assert "in 2 steps" in last.text
    assert hub.ref(own(made)) == made.repo.ref(own(made))


def test_each_step_names_what_is_new_and_all_of_them_name_every_record(
    made: Bench, hub: Repo
):
    first = land(made, "a")
    tell(made)
    second = land(made, "b")
    tell(made)
    with made.repository.objects() as objects:
        tip = hub.ref(own(made)) or ""
        newer, older = witness.steps(objects, tip)
    records = {r for r in made.repo.refs("refs/gitagent/") if witness.is_record(r)}

    assert submit.ref_of(first.id) in older.refs
    assert submit.ref_of(first.id) not in newer.refs
    assert second.oid == newer.refs[submit.ref_of(second.id)]
    assert records == {*older.refs, *newer.refs}
    assert (MAIN, made.target) == (newer.target, newer.commit)


def test_pins_and_claims_are_no_records():
    for kind in ("candidates", "claims", "harvest", "kept", "remote", "witness"):
        assert not witness.is_record(f"refs/gitagent/{kind}/x")
    assert not witness.is_record("refs/gitagent/conversations/-replay-1")
    for ref in (
        "queue",
        "inbox",
        "tasks/a",
        "exchanges/a",
        "conversations/a",
        "conversations/_chat",
        "receipts/2026-11",
        "archive/2026-11",
        "memory/operations",
        "memory/proposals/p-1",
    ):
        assert witness.is_record(f"refs/gitagent/{ref}")


@pytest.mark.parametrize("known", [True, False])
def test_a_dropped_record_is_detected(made: Bench, *, known: bool):
    """Drop."""
    ref = submit.ref_of(land(made, "a").id)
    tell(made)
    made.repo.git("update-ref", "-d", ref)
    if known:  # the daemon goes on and witnesses what is left
        land(made, "b")
        tell(made)
    (found,) = problems(made)

    assert ref == found.where
    assert "dropped" in found.text


def test_a_record_in_another_order_is_detected(made: Bench):
    """Reorder."""
    ref = submit.ref_of(land(made, "a").id)
    tell(made)
    steps = chain(made, ref)
    rebuild(made, ref, [steps[-1], *steps[:-1]])
    (found,) = problems(made)

    assert ref == found.where
    assert "another order" in found.text


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("pruned", [True, False])
def test_a_rewritten_record_is_detected(made: Bench, *, known: bool, pruned: bool):
    """Rewrite."""
    landed = land(made, "a")
    ref = submit.ref_of(landed.id)
    tell(made)
    steps = chain(made, ref)
    made.repo.git("update-ref", ref, steps[-2])
    before = replace(landed, oid=steps[-2])
    forged = replace(before, reason="It never failed.")
    submit.write(made.repository, before, forged, "landed: It never failed.")
    if known:
        land(made, "b")
        tell(made)
    if pruned:
        made.repo.git("reflog", "expire", "--expire=now", "--all")
        made.repo.git("gc", "-q", "--prune=now")
    (found,) = problems(made)

    assert ref == found.where
    assert "rewritten" in found.text


@pytest.mark.parametrize("known", [True, False])
def test_a_truncated_record_is_detected(made: Bench, *, known: bool):
    """Truncate."""
    ref = submit.ref_of(land(made, "a").id)
    tell(made)
    made.repo.git("update-ref", ref, chain(made, ref)[-2])
    if known:
        land(made, "b")
        tell(made)
    (found,) = problems(made)

    assert ref == found.where
    assert "cut off" in found.text


def test_receipts_that_were_cut_off_are_detected(made: Bench):
    land(made, "a")
    land(made, "b")
    tell(made)
    (ref,) = made.repo.refs("refs/gitagent/receipts/")
    made.repo.git("update-ref", ref, f"{ref}^")

    assert [ref] == [each.where for each in problems(made)]


@pytest.mark.parametrize("late", [True, False])
def test_an_archived_record_is_not_dropped(made: Bench, *, late: bool):
    landed = land(made, "a")
    tell(made)
    if late:  # what is archived is newer than what was witnessed
        landed = submit.write(
            made.repository, landed, replace(landed, reason="Pushed."), "landed: Pushed"
        )
    archive(made, landed)
    ref = submit.ref_of(landed.id)
    archived = problems(made)
    tell(made)

    assert None is made.repo.ref(ref)
    assert [] == archived == problems(made)


def test_an_archive_that_is_gone_takes_what_it_kept_along(made: Bench):
    landed = land(made, "a")
    tell(made)
    archive(made, landed)
    tell(made)
    (ref,) = made.repo.refs("refs/gitagent/archive/")
    made.repo.git("update-ref", "-d", ref)

    assert {ref, submit.ref_of(landed.id)} == {each.where for each in problems(made)}


def test_a_task_asked_for_anew_after_it_was_archived_is_no_rewrite(made: Bench):
    landed = land(made, "a")
    tell(made)
    archive(made, landed)
    ref = submit.ref_of(landed.id)
    rebuild(made, ref, chain(made, landed.oid)[:1])
    tell(made)

    assert [] == problems(made)


@pytest.mark.parametrize("known", [True, False])
def test_a_target_that_lost_witnessed_commits_is_detected(made: Bench, *, known: bool):
    land(made, "a")
    lost = made.target
    tell(made)
    made.repo.git("reset", "-q", "--hard", "HEAD^")
    if known:
        made.repo.commit({"other": "x"})
        witness.tell(made.repository, "origin", MAIN)
    (found,) = problems(made)

    assert MAIN == found.where
    assert lost in found.text


def test_a_witness_that_was_rewritten_here_is_detected_and_never_forced(
    made: Bench, hub: Repo, capfd: pytest.CaptureFixture[str]
):
    land(made, "a")
    tell(made)
    there = hub.ref(own(made))
    rebuild(made, own(made), chain(made, own(made)))
    restart()
    for name in "bc":
        land(made, name)
        tell(made)

    assert there == hub.ref(own(made))
    assert [own(made)] == [each.where for each in problems(made)]
    assert 1 == capfd.readouterr().err.count("witness not told")


def test_a_witness_that_is_gone_here_goes_on_from_the_remotes(made: Bench, hub: Repo):
    land(made, "a")
    tell(made)
    there = hub.ref(own(made))
    made.repo.git("update-ref", "-d", own(made))
    gone = problems(made)
    restart()
    land(made, "b")
    tell(made)

    assert [own(made)] == [each.where for each in gone]
    assert there in chain(made, own(made))
    assert hub.ref(own(made)) == made.repo.ref(own(made))
    assert [] == problems(made)


def test_without_a_witness_nothing_is_borne_out(made: Bench):
    (found,) = problems(made)

    assert "has no witness" in found.text


def test_a_remote_that_refuses_it_harms_no_landing(
    made: Bench, hub: Repo, capfd: pytest.CaptureFixture[str]
):
    hub.hook("update", '#!/bin/sh\ncase "$1" in refs/gitagent/*) exit 1;; esac\n')
    for name in "ab":
        land(made, name)
        tell(made)

    assert hub.ref(MAIN) == made.target
    assert 1 == capfd.readouterr().err.count("witness not told")


def test_it_is_told_at_most_once_a_minute(
    made: Bench, hub: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(witness, "EVERY_S", 60.0)
    land(made, "a")
    tell(made)
    first = hub.ref(own(made))
    land(made, "b")
    tell(made)

    assert None is not first
    assert first == hub.ref(own(made))


def test_a_look_brings_what_was_held_back_and_begins_nothing(
    made: Bench, hub: Repo, monkeypatch: pytest.MonkeyPatch
):
    def look() -> None:
        exchange(made.repository, "origin", MAIN, made.target, send=False)

    monkeypatch.setattr(witness, "EVERY_S", 60.0)
    look()
    before = hub.refs("refs/gitagent/")
    land(made, "a")
    tell(made)
    first = hub.ref(own(made))
    land(made, "b")
    restart()
    look()

    assert None is not first
    assert {} == before
    assert hub.ref(own(made)) == made.repo.ref(own(made))
    assert 2 == len(chain(made, own(made)))


def test_nothing_new_makes_no_step(made: Bench, hub: Repo):
    land(made, "a")
    tell(made)
    first = hub.ref(own(made))
    tell(made)
    restart()
    tell(made)

    assert first == hub.ref(own(made))


def test_each_clone_has_a_name_of_its_own(tmp_path: Path):
    names = [place.clone_id(tmp_path / name) for name in ("a", "b", "a")]

    assert names[0] == names[2] != names[1]


@pytest.fixture
def verify(made: Bench) -> Callable[..., object]:
    return lambda *args: call(made.repo, "verify", "--witness", *args)


def test_the_command_says_what_the_witness_says(made: Bench, verify):
    settings = made.repo.read(".agent/config.toml", MAIN)
    files = {".agent/config.toml": f'{settings}\n[lander]\npush = "origin"\n'}
    made.repo.commit_at(MAIN, files, "Keep it\n\nGitagent-Record: init\n")
    made.repo.git("reset", "-q", "--hard")
    landed = land(made, "a")
    tell(made)
    sound = verify().out
    made.repo.git("update-ref", "-d", submit.ref_of(landed.id))
    answer = verify("--json")

    assert "origin has witnessed" in sound
    assert "0 problems" in sound.splitlines()[-1]
    assert 1 == answer.code
    assert submit.ref_of(landed.id) in {
        each["where"] for each in answer.json["findings"]
    }


def test_without_a_remote_there_is_no_witness(verify):
    answer = verify()

    assert 1 == answer.code
    assert "lander.push" in answer.err


def test_a_rejected_one_cannot_be_made_to_have_never_been(made: Bench):
    made_ = made.submit(made.offer({"x": "x"}, branch="x"))
    state = SubmissionState.REJECTED
    new = replace(made_, state=state, reason="No.")
    submit.write(made.repository, made_, new, "rejected: No.")
    tell(made)
    made.repo.git("update-ref", "-d", submit.ref_of(made_.id))

    assert [submit.ref_of(made_.id)] == [each.where for each in problems(made)]
