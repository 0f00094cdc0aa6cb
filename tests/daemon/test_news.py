"""What a follower tells, each thing once, from a record and the daemon's lineup."""

from dataclasses import replace

import pytest

from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.daemon.lineup import Lineup, RunNow
from gitagent.daemon.news import Alone, Began, Ended, Follower, Judged, Place, Standing
from gitagent.git.repository import discover
from tests.support import ledger

WHEN = "2026-01-01T00:00:00Z"
MINE = Submission("s-mine", "1" * 40, SubmissionState.QUEUED, WHEN, WHEN)
RUN = RunNow(("s-mine", "s-other"), "tests", 1, 0.5, "abc", "")


@pytest.fixture
def told():
    return []


@pytest.fixture
def follower(repo, told):
    return Follower(discover(repo.path), "s-mine", told.append)


def lineup(*order: str, runs: tuple[RunNow, ...] = ()) -> Lineup:
    return Lineup(order, runs)


def test_first_in_the_queue_with_no_reason_is_no_news(follower, told):
    follower.look(MINE, lineup("s-mine", "s-other"))
    follower.look(MINE, None)

    assert [] == told
    assert not follower.took_news()


def test_a_place_is_told_when_it_changes(follower, told):
    for order in (("a", "b", "s-mine"), ("a", "b", "s-mine"), ("b", "s-mine", "c")):
        follower.look(MINE, lineup(*order))
    follower.look(MINE, lineup("s-mine"))

    assert [
        Place("s-mine", 3, 3, "b"),
        Place("s-mine", 2, 3, "b"),
        Place("s-mine", 1, 1, None),
    ] == told
    assert follower.took_news()
    assert not follower.took_news()


def test_a_reason_that_names_who_is_ahead_stands_for_the_place(follower, told):
    waits = replace(MINE, reason="Waits for a, which is ahead of it.")
    follower.look(waits, lineup("a", "s-mine"))

    assert [Standing(waits)] == told


def test_a_run_is_told_once_when_it_starts_and_once_when_it_ends(repo, follower, told):
    receipt = ledger.receipt(repo, b"fine\n")
    run = replace(RUN, key=receipt.key, product=receipt.product)
    again = replace(run, run=2)
    for runs in ((run,), (run,), (), (again,), ()):
        follower.look(MINE, lineup("s-mine", runs=runs))

    assert [
        Began("s-mine", run),
        Ended("s-mine", run, receipt),
        Began("s-mine", again),
        Ended("s-mine", again, None),
    ] == told


def test_while_the_daemon_says_nothing_a_run_goes_on(follower, told):
    for each in (lineup("s-mine", runs=(RUN,)), None, lineup("s-mine", runs=(RUN,))):
        follower.look(MINE, each)

    assert [Began("s-mine", RUN)] == told


def test_the_runs_of_others_are_not_told(follower, told):
    other = replace(RUN, submissions=("s-other",))
    follower.look(MINE, lineup("s-mine", runs=(other,)))

    assert [] == told


def test_at_the_end_each_check_has_been_told(repo, follower, told):
    receipt = ledger.receipt(repo, b"fine\n")
    run = replace(RUN, key=receipt.key, product=receipt.product)
    lines = (
        CheckLine("tests", "passed", 1.5),
        CheckLine("quick", "passed", 0.0),
        CheckLine("never", "waiting"),
    )
    landed = replace(MINE, state=SubmissionState.LANDED, checks=lines)
    follower.look(MINE, lineup("s-mine", runs=(run,)))
    follower.look(landed, None)

    assert [
        Began("s-mine", run),
        Ended("s-mine", run, receipt),
        Judged("s-mine", lines[1]),
        Standing(landed),
    ] == told


def test_being_alone_is_told_once_each_time(follower, told):
    for now in (True, True, False, True):
        follower.alone(now=now)

    assert [Alone("s-mine")] * 2 == told
