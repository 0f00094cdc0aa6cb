"""gitagent log: the landings, from the target's trailers."""

import pytest

from tests.support.cli import call
from tests.support.repos import Repo

TIP = "1" * 40


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")


def landing(repo: Repo, name: str, title: str, *checks: str, task: str = "") -> str:
    trailers = [
        f"Gitagent-Submission: {name}",
        *([f"Gitagent-Task: {task}"] if task else []),
        f"Gitagent-Tip: {TIP}",
        f"Gitagent-Config: {'2' * 40}",
        f"Gitagent-Checked: {'3' * 40}",
        *(f"Gitagent-Check: {check}" for check in checks),
    ]
    message = f"{title}\n\nWhy.\n\n" + "\n".join(trailers)
    repo.git("commit", "-q", "--allow-empty", "-m", message)
    return repo.head()


def test_landings_are_listed_newest_first(repo):
    landing(repo, "s-1", "First", "tests passed 1.5s")
    repo.commit({"x": "x"}, "Not a landing")
    newest = landing(repo, "s-2", "Second", "lint flaky 0.1s", "tests passed 70.0s")
    lines = call(repo, "log").lines

    assert 2 == len(lines)
    for part in (newest[:12], "s-2", "Second", "Test Person", "lint flaky 0.1 s"):
        assert part in lines[0]
    assert "1 min 10 s" in lines[0]
    assert "First" in lines[1]


def test_json_has_every_trailer(repo):
    commit = landing(repo, "s-1", "First", "tests passed 1.5s", task="fix")
    (said,) = call(repo, "log", "--json").json["landings"]

    assert {
        "commit": commit,
        "landed": said["landed"],
        "submission": "s-1",
        "task": "fix",
        "title": "First",
        "author": "Test Person <person@example.org>",
        "tip": TIP,
        "config": "2" * 40,
        "checked": "3" * 40,
        "checks": [{"name": "tests", "state": "passed", "seconds": 1.5}],
    } == said
    assert said["landed"].endswith("Z")


def test_only_so_many_are_listed(repo):
    for n in range(3):
        landing(repo, f"s-{n}", f"Number {n}")

    assert ["Number 2"] == [
        each["title"]
        for each in call(repo, "log", "-n", "1", "--json").json["landings"]
    ]


def test_words_in_the_message_are_no_trailers(repo):
    repo.commit({"x": "x"}, "Quote\n\nGitagent-Submission: s-9\n\nThat was a quote.")

    assert [] == call(repo, "log", "--json").json["landings"]


def test_without_landings_it_says_so(repo):
    answer = call(repo, "log")

    assert (0, "") == (answer.code, answer.out)
    assert answer.err


def test_a_side_branch_is_not_the_targets_history(repo):
    repo.git("checkout", "-q", "-b", "side")
    landing(repo, "s-1", "On the side")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge", "side")

    assert [] == call(repo, "log", "--json").json["landings"]
