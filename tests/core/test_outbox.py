"""What is pushed, and when what the remote has comes first."""

from dataclasses import replace

import pytest

from gitagent.core.action import Action, PushTarget, Submit, WriteSubmission
from gitagent.core.candidate import Candidate, Change, PathChange
from gitagent.core.ident import submission_id
from gitagent.core.outbox import FIRST, decide_pushes, taken_in
from gitagent.core.policy import rule
from gitagent.core.settings import Lander, Settings
from gitagent.core.snapshot import Live, Moment, Snapshot, Target
from gitagent.core.submission import Push, Submission, SubmissionState, in_order

NOW = Moment("2026-11-30T12:00:00Z", "2026-11-30T12:00:00.000000Z", 100.0)
THERE = "d" * 40
LOOKED = {"remote": 200.0}


def landed(name: str, push: Push | None = Push.PENDING, **fields) -> Submission:
    return Submission(
        id=name,
        tip="a" * 40,
        state=SubmissionState.LANDED,
        created=NOW.precise,
        since=NOW.stamp,
        commit="c" * 40,
        push=push,
        reason="Landed as cccccccccccc.",
        **fields,
    )


def decided(
    *submissions: Submission,
    remote: str = "origin",
    remote_at: str | None = None,
    **live,
) -> list[Action]:
    return list(
        decide_pushes(
            Snapshot(
                target=Target("refs/heads/main", "c" * 40),
                settings=Settings(lander=Lander(push=remote)),
                submissions={each.id: each for each in submissions},
                live=Live(remote=remote_at, **live),
            ),
            NOW,
        )
    )


def from_there(state: SubmissionState) -> Submission:
    return replace(taken_in(THERE, "origin", NOW), state=state)


def test_a_landing_is_pushed_and_what_is_pushed_is_recorded():
    first = landed("s-1")

    assert [PushTarget((first,))] == decided(first, waits=LOOKED)
    (written,) = decided(first, waits=LOOKED, pushed=frozenset({"s-1"}))
    assert isinstance(written, WriteSubmission)
    assert Push.PUSHED is written.new.push


def test_a_failed_push_is_told_and_tried_again_when_it_is_due():
    why = "The remote cannot be reached (x)."
    first = landed("s-1")
    waits = LOOKED | {"push": 101.0}
    (written,) = decided(first, waits=waits, push_error=why)
    assert isinstance(written, WriteSubmission)

    assert why in (written.new.reason or "")
    assert (Push.FAILED, SubmissionState.LANDED) == (written.new.push, first.state)
    assert [] == decided(written.new, waits=waits, push_error=why)
    again = decided(written.new, waits=LOOKED, push_error=why)
    assert [PushTarget((written.new,))] == again


def test_the_remote_is_looked_at_at_first_and_then_now_and_again():
    assert [PushTarget(())] == decided()
    assert [] == decided(waits=LOOKED)
    assert [PushTarget(())] == decided(waits={"remote": 99.0})
    assert [] == decided(waits={"remote": 99.0, "push": float("inf")})


def test_without_a_remote_nothing_is_pushed_nor_looked_at():
    assert [] == decided(landed("s-1"), remote="")


def test_a_remote_that_moved_is_submitted_before_anything_is_pushed():
    first = landed("s-1")
    submit, told = decided(first, waits=LOOKED, remote="up/stream", remote_at=THERE)
    assert isinstance(submit, Submit)
    assert isinstance(told, WriteSubmission)
    made = submit.submission
    person = replace(landed("s-2"), state=SubmissionState.QUEUED, priority=10**6)

    assert (submission_id(THERE), THERE) == (made.id, made.tip)
    assert "refs/gitagent/remote/up/stream" == made.branch
    assert FIRST == made.priority
    assert "up/stream" in (made.divergence or "")
    assert [made.id, "s-2"] == [s.id for s in in_order((person, made))]
    assert "once" in (told.new.reason or "")


@pytest.mark.parametrize("state", ["queued", "checking", "held"])
def test_nothing_is_pushed_while_that_is_on_its_way(state):
    there = from_there(SubmissionState(state))
    actions = decided(there, landed("s-1"), waits=LOOKED, remote_at=THERE)

    assert [WriteSubmission] == [type(each) for each in actions]


@pytest.mark.parametrize("state", ["rejected", "withdrawn"])
def test_a_remote_that_cannot_be_merged_is_told_and_only_looked_at(state):
    there = from_there(SubmissionState(state))
    first = landed("s-1")
    (told,) = decided(there, first, waits=LOOKED, remote_at=THERE)
    assert isinstance(told, WriteSubmission)
    reason = told.new.reason or ""
    later = decided(there, told.new, waits={}, remote_at=THERE)

    assert "diverged" in reason
    assert "a person has to merge" in reason
    assert there.id in reason
    assert [PushTarget(())] == later


def test_once_the_target_has_it_the_landings_are_pushed():
    there = from_there(SubmissionState.LANDED)
    first = landed("s-1")

    assert [PushTarget((first,))] == decided(there, first, waits=LOOKED)


@pytest.mark.parametrize(("branch", "fine"), [("remote/origin", 1), ("claims/x", 0)])
def test_notes_of_landings_made_elsewhere_come_from_the_remote_alone(branch, fine):
    note = PathChange(
        ".agent/landings/2026/11/s-1.md", Change.ADDED, 0, 0o100644, "", "b" * 40
    )
    there = replace(
        from_there(SubmissionState.QUEUED), branch=f"refs/gitagent/{branch}"
    )
    candidate = Candidate("c" * 40, (THERE,), changes=(note,))

    assert (not fine) == bool(rule(candidate, there, Settings()).no)
