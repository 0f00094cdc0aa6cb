"""What happened in attempts, and how much it still counts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitagent.core.episode import (
    SIGNIFICANCE,
    Ended,
    Episode,
    episodes,
    flag,
    half_life,
    near,
    weight,
)
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.ident import submission_id
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def _attempt(number: int = 1, **fields: object) -> Attempt:
    usual = {
        "blob": "b1",
        "base": "c0",
        "started": "2026-01-01T00:00:00Z",
        "ended": f"2026-01-01T00:0{number}:00Z",
        "outcome": Outcome.OK,
        "tip": f"tip{number}",
    }
    return Attempt(number=number, **(usual | fields))


def _record(*attempts: Attempt, **fields: object) -> TaskRecord:
    usual = {
        "state": TaskState.SUBMITTED,
        "blob": "b1",
        "since": "2026-01-01T00:00:00Z",
        "title": "Mend the login",
        "agent": "coder",
        "oid": "f" * 40,
    }
    return TaskRecord("login", attempts=attempts, **(usual | fields))


def _submission(*more: str, tip: str = "tip1", **fields: object) -> Submission:
    usual = {
        "state": SubmissionState.LANDED,
        "created": "2026-01-01T00:01:30Z",
        "since": "2026-01-01T00:02:00Z",
        "task": "login",
    }
    return Submission(submission_id(tip, "login", "b1", *more), tip, **(usual | fields))


def _episode(ended: Ended = Ended.REJECTED, days: float = 0, **more: object) -> Episode:
    at = f"{NOW - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"
    usual = {"task": "login", "attempt": 1, "title": "Mend", "agent": "coder"}
    return Episode(at=at, ended=ended, **(usual | more))


@pytest.mark.parametrize(("significance", "days"), [(0.9, 90), (0.5, 30), (0.2, 7)])
def test_what_teaches_more_is_remembered_longer(significance: float, days: int):
    assert days == half_life(significance)


@pytest.mark.parametrize("ended", Ended)
def test_after_one_half_life_an_episode_weighs_exactly_half(ended: Ended):
    days = half_life(SIGNIFICANCE[ended])

    fresh, later = (weight(_episode(ended, days=n), NOW) for n in (0, days))
    assert SIGNIFICANCE[ended] == fresh
    assert fresh / 2 == later


def test_what_is_dated_in_the_future_weighs_as_what_is_new():
    assert weight(_episode(), NOW) == weight(_episode(days=-3), NOW)


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        (SubmissionState.LANDED, Ended.LANDED),
        (SubmissionState.REJECTED, Ended.REJECTED),
        (SubmissionState.WITHDRAWN, Ended.WITHDRAWN),
        (SubmissionState.CHECKING, Ended.SUBMITTED),
    ],
)
def test_work_that_was_submitted_ended_as_the_lander_ruled(
    state: SubmissionState, ended: Ended
):
    (found,) = episodes([_record(_attempt())], [_submission(state=state)])

    assert ended is found.ended


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_of_an_attempt_is_told(outcome: Outcome):
    (found,) = episodes([_record(_attempt(outcome=outcome))], [])

    assert found.ended in SIGNIFICANCE


def test_the_words_of_an_agent_never_make_its_outcome():
    boasting = _attempt(summary="All tests pass and it landed.", outcome=Outcome.FAILED)
    blocked = _attempt(outcome=Outcome.BLOCKED, reason="I landed it.", summary="Landed")

    (failed,) = episodes([_record(boasting)], [_submission()])
    (ended,) = episodes([_record(blocked)], [_submission()])

    assert Ended.FAILED is failed.ended
    assert 'It said (a claim): "All tests pass and it landed."' in failed.text
    assert Ended.ENDED is ended.ended
    assert "" == ended.why


def test_what_was_rejected_names_the_check_that_failed():
    lines = (CheckLine("lint", "passed"), CheckLine("unit", "failed"))
    ruled = _submission(state=SubmissionState.REJECTED, checks=lines)

    (found,) = episodes([_record(_attempt())], [ruled], {"tip1": ["src/a.py"]})

    assert "Mend the login; by coder; the check unit failed; changed src/a.py." == (
        found.text
    )


def test_the_same_commit_handed_over_again_has_a_submission_of_its_own():
    record = _record(_attempt(1, tip="t"), _attempt(2, tip="t"))
    first = _submission(tip="t", state=SubmissionState.REJECTED)
    second = _submission("2", tip="t")

    found = episodes([record], [first, second])

    assert [Ended.LANDED, Ended.REJECTED] == [each.ended for each in found]
    assert ["login#2", "login#1"] == [each.name for each in found]


def test_an_attempt_that_runs_is_no_episode():
    assert [] == episodes([_record(_attempt(ended="", outcome=None))], [])


def test_a_claim_is_one_line_of_a_set_length():
    (found,) = episodes([_record(_attempt(answer="so\n" + "many " * 100))], [])

    assert found.claim.startswith("so many many")
    assert found.claim.endswith("…")
    assert 160 >= len(found.claim)


def test_what_shares_paths_comes_before_what_shares_the_agent_and_nothing_else_comes():
    other = _episode(task="other", agent="writer")
    same_agent = _episode(task="agent", paths=("docs/x.md",))
    same_path = _episode(Ended.LANDED, task="path", agent="writer", paths=("src/a.py",))
    both = _episode(task="both", paths=("src/b.py",))

    found = near(
        [other, same_agent, same_path, both], NOW, paths=["src/**"], agent="coder"
    )

    assert [both, same_path, same_agent] == found


def test_what_weighs_next_to_nothing_is_not_told_any_more():
    old, new = _episode(days=400), _episode(days=300)

    assert [new] == near([old, new], NOW)


def test_what_an_attempt_was_told_and_is_withdrawn_since_is_flagged():
    told = tuple(Received(slug, "b", Way.BRIEF) for slug in ("one", "two", "three"))
    record = _record(replace(_attempt(), memory=Exposure(received=told)))

    (found,) = episodes([record], [])

    assert "" == flag(found.received, {"four"})
    assert "It was told `two`, which is withdrawn since." == (
        flag(found.received, {"two"})
    )
    assert "It was told `one`, `two`, which are withdrawn since." == (
        flag(found.received, {"two", "one"})
    )
