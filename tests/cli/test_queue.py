"""gitagent pause, drain, resume and promote."""

import json

import pytest

from gitagent.core.switch import Position
from gitagent.git.repository import discover
from gitagent.lander import switch
from tests.support.cli import call


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({"Makefile": "test:\n\ttrue\n"})
    call(repo, "init", "--no-check")


def position(repo):
    """Return what the queue's record says."""
    with discover(repo.path).objects() as objects:
        return switch.read(objects, objects.refs())


def handed_over(repo, branch):
    repo.commit({branch: "1\n"}, branch=branch)
    return call(repo, "submit", branch).lines[0]


def order(repo):
    return [
        each["id"]
        for each in json.loads(call(repo, "status", "--json").out)["submissions"]
    ]


def test_the_switch_is_a_record_that_says_who_and_why(repo):
    paused = call(repo, "pause", "--because", "a release is cut")
    found = position(repo)
    story = repo.log("%s", "refs/gitagent/queue")

    assert 0 == paused.code
    assert (Position.PAUSED, "a release is cut") == (found.position, found.why)
    assert found.by in story[0]


def test_turning_it_again_changes_nothing_and_says_so(repo):
    call(repo, "drain")
    before = repo.oid("refs/gitagent/queue")
    again = call(repo, "drain")

    assert (0, before) == (again.code, repo.oid("refs/gitagent/queue"))
    assert "already" in again.err


def test_resume_of_a_queue_that_runs_makes_no_record(repo):
    assert 0 == call(repo, "resume").code
    assert repo.ref("refs/gitagent/queue") is None


def test_status_says_that_the_queue_is_paused_and_by_whom(repo):
    call(repo, "pause", "--because", "a release is cut")
    told = json.loads(call(repo, "status", "--json").out)

    assert "a release is cut" in told["target"]["paused"]
    call(repo, "resume")
    assert json.loads(call(repo, "status", "--json").out)["target"]["paused"] is None


def test_promote_puts_a_submission_first(repo):
    one, two, three = (handed_over(repo, name) for name in ("a", "b", "c"))
    answer = call(repo, "promote", three)

    assert (0, [three]) == (answer.code, answer.lines)
    assert [three, one, two] == order(repo)


def test_promoting_the_first_is_no_change(repo):
    one, _ = handed_over(repo, "a"), handed_over(repo, "b")
    before = repo.oid(f"refs/gitagent/submissions/{one}")

    assert 0 == call(repo, "promote", one).code
    assert before == repo.oid(f"refs/gitagent/submissions/{one}")


@pytest.mark.parametrize("name", ["s-000000000000", "nothing", "-x"])
def test_promoting_what_is_not_there_is_one_line(repo, name):
    answer = call(repo, "promote", "--", name)

    assert 1 == answer.code
    assert 1 == len(answer.err.splitlines())


def test_resume_accepts_what_came_past_the_lander_where_that_is_refused(repo):
    refuse = repo.read(".agent/config.toml").replace('"warn"', '"refuse"')
    moved = repo.commit({".agent/config.toml": refuse}, "By hand")
    before = json.loads(call(repo, "status", "--json").out)["target"]
    call(repo, "resume")
    after = json.loads(call(repo, "status", "--json").out)["target"]

    assert moved[:12] in before["paused"]
    assert after["paused"] is None
    assert [moved] == after["direct"]
