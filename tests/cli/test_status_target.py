"""What status says of the target: what got past the lander, and how its remote is."""

from dataclasses import replace

import pytest

from gitagent.core.submission import Push
from gitagent.lander import submit
from tests.support.cli import call
from tests.support.history import MAIN, History
from tests.support.lander import Bench, bench
from tests.support.repos import settings_text

SEEN = "refs/gitagent/remote/origin"


@pytest.fixture
def made(tmp_path):
    text = settings_text("true", '[lander]\npush = "origin"\n')
    with bench(tmp_path / "repo", settings=text) as each:
        yield each


def target(made: Bench):
    return call(made.repo, "status", "--json").json["target"]


def test_what_got_past_the_lander_is_told_with_whose_it_is(made: Bench):
    person, subject = "Eve <eve@example.org>", f"Sneaked in {'x' * 99}"
    made.repo.commit_at(MAIN, {"x": "x"}, subject, author=person)
    tip = made.target
    found = target(made)
    page = call(made.repo, "status").out
    (line,) = found["findings"]

    assert [tip] == found["direct"]
    assert "x…  by Eve" in page
    assert ("direct", tip, subject) == (
        line["kind"],
        line["commit"],
        line["subject"],
    )
    assert (person, None) == (line["author"], line["submission"])
    assert "by Eve <eve@example.org>, committed by Test Person" in page


def test_a_merge_past_the_lander_is_told_as_one(made: Bench):
    side = made.repo.commit_at("refs/heads/side", {"y": "y"}, parents=(made.target,))
    made.repo.commit_at(MAIN, {"x": "x"}, "By hand", parents=(made.target, side))

    assert 2 == target(made)["findings"][0]["parents"]
    assert "a merge by" in call(made.repo, "status").out


def test_landings_that_the_target_lost_are_findings(made: Bench):
    history = History(made)
    (first,) = history.move((made.offer({"a": "1"}, branch="a"),))
    (lost,) = history.move((made.offer({"b": "1"}, branch="b"),))
    before = target(made)["findings"]
    made.repo.git("update-ref", MAIN, first.commit or "")
    (line,) = target(made)["findings"]

    assert [] == before
    assert ("rewound", lost.commit, lost.id) == (
        line["kind"],
        line["commit"],
        line["submission"],
    )
    assert [] == target(made)["direct"]
    assert f"{lost.id} had landed" in call(made.repo, "status").out


def test_a_remote_that_has_everything_is_not_spoken_of(made: Bench):
    made.repo.git("update-ref", SEEN, made.target)

    assert {
        "remote": "origin",
        "behind": 0,
        "since": None,
        "ahead": 0,
        "reason": None,
    } == target(made)["push"]
    assert "origin" not in call(made.repo, "status").out


def test_the_lag_is_told_with_since_when_and_why(made: Bench):
    made.repo.git("update-ref", SEEN, made.target)
    one, two = History(made).move(
        [made.offer({name: "1"}, branch=name) for name in ("a", "b")]
    )
    why = "Landed as x; the push is tried again: no network."
    failed = replace(two, push=Push.FAILED, reason=why)
    submit.write(made.repository, two, failed, "landed")
    push = target(made)["push"]
    page = call(made.repo, "status").out

    assert (2, 0, why) == (push["behind"], push["ahead"], push["reason"])
    assert push["since"].endswith("Z")
    assert "origin is 2 commits behind" in page
    assert "no network" in page
    assert one.commit != two.commit


def test_a_remote_with_commits_of_its_own_is_told(made: Bench):
    made.repo.commit_at(SEEN, {"c": "1"}, parents=(made.target,))
    alone = call(made.repo, "status").out
    History(made).move((made.offer({"a": "1"}),))
    both = call(made.repo, "status").out

    assert "origin has 1 commit that main lacks" in alone
    assert "lacks 1 of its own" in both
    assert (1, 1) == tuple(target(made)["push"][key] for key in ("behind", "ahead"))


def test_before_the_first_push_nothing_is_known(made: Bench):
    push = target(made)["push"]

    assert (None, None) == (push["behind"], push["since"])


def test_without_a_remote_there_is_no_lag(made: Bench):
    made.repo.commit_at(MAIN, {".agent/config.toml": settings_text("true")})

    assert target(made)["push"] is None
