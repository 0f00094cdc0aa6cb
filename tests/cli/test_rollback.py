"""gitagent rollback: a landing is taken back by a submission, or it is said why not."""

import pytest

from gitagent.core.task import TaskState
from gitagent.lander import submit
from tests.support.cli import Answer, call
from tests.support.history import MAIN, History
from tests.support.lander import Bench, archive, bench
from tests.support.ledger import task


@pytest.fixture
def made(tmp_path):
    with bench(tmp_path / "repo") as each:
        yield each


def rollback(made: Bench, *args: str) -> Answer:
    return call(made.repo, "rollback", *args)


def submitted(made: Bench, answer: Answer):
    """Return the submission whose id was printed."""
    assert 0 == answer.code, answer.err
    with made.repository.objects() as objects:
        found = submit.find(objects, answer.out.strip())
    assert found is not None
    return found


def files(made: Bench, commit: str) -> set[str]:
    return {p for p in made.repo.paths(commit) if not p.startswith(".agent/")}


@pytest.mark.parametrize("strategy", ["merge", "squash", "rebase"])
def test_one_of_a_batch_is_taken_back_and_the_others_stay(made: Bench, strategy):
    history = History(made, strategy)
    tips = []
    for name in ("a", "b", "c"):
        first = made.offer({f"{name}1": "x\n"}, branch=name)
        assert first
        tips.append(made.offer({f"{name}2": "x\n"}, branch=name, base=first))
    _, second, _ = history.move(tips)
    found = submitted(made, rollback(made, second.id, "--because", "It was wrong"))
    commit = made.objects.commit(found.tip)

    assert {"README.md", "a1", "a2", "c1", "c2"} == files(made, found.tip)
    assert (made.target,) == commit.parents
    assert commit.message.startswith('Revert "Change"\n')
    assert f"This reverts commit {second.commit}." in commit.message
    assert "It was wrong" in commit.message
    assert "Test Person" in found.submitter
    assert second.id in (found.divergence or "")
    assert "It was wrong" in (found.divergence or "")
    assert "Gitagent-" not in commit.message
    notes = made.repo.paths(MAIN, ".agent/landings")
    assert 3 == len(notes)
    assert notes == made.repo.paths(found.tip, ".agent/landings")


def test_the_commit_and_the_task_and_the_tip_name_a_landing_too(made: Bench):
    tip = made.offer({"a": "1"})
    (landed,) = History(made).move((tip,))
    task(made.repo, "fix", TaskState.LANDED, submission=landed.id)
    named = ["fix", landed.commit or "", (landed.commit or "")[:10], tip, "main"]
    answers = [rollback(made, name) for name in named]

    assert 1 == len({submitted(made, each).id for each in answers})
    assert ["asked for before" in each.err for each in answers] == [False] + [True] * 4


def test_an_archived_landing_can_be_taken_back(made: Bench):
    (landed,) = History(made).move((made.offer({"a": "1"}),))
    archive(made, landed)

    assert "a" not in files(made, submitted(made, rollback(made, landed.id)).tip)


def test_later_work_on_the_same_is_named_and_nothing_is_submitted(made: Bench):
    history = History(made)
    (landed,) = history.move((made.offer({"a": "1\n"}, branch="a"),))
    history.move((made.offer({"a": "2\n"}, branch="b"),))
    answer = rollback(made, landed.id)

    assert (1, "") == (answer.code, answer.out)
    assert " a" in answer.err
    assert "git revert -m 1" in answer.err
    assert 2 == len(made.repo.refs("refs/gitagent/submissions/"))


def test_what_was_taken_back_is_not_taken_back_again(made: Bench):
    history = History(made)
    (landed,) = history.move((made.offer({"a": "1\n"}, branch="a"),))
    undone = submitted(made, rollback(made, landed.id))
    history.move((undone.tip,))
    answer = rollback(made, landed.id)

    assert 1 == answer.code
    assert undone.tip[:7] in answer.err


def test_taking_back_can_be_taken_back(made: Bench):
    history = History(made)
    (landed,) = history.move((made.offer({"a": "1\n"}, branch="a"),))
    undone = submitted(made, rollback(made, landed.id))
    history.move((undone.tip,))
    again = submitted(made, rollback(made, undone.id))
    history.move((again.tip,))

    assert "a" in files(made, again.tip)
    assert 0 == rollback(made, landed.id).code


def test_what_is_no_landing_is_refused(made: Bench):
    open_one = made.submit(made.offer({"a": "1\n"}))
    direct = made.repo.commit({"b": "1"})
    names = ["nothing", open_one.id, direct, "s-000000000000"]

    assert [(1, "")] * 4 == [
        (r.code, r.out) for r in (rollback(made, n) for n in names)
    ]


def test_a_landing_that_is_not_on_the_target_any_more_is_refused(made: Bench):
    before = made.target
    (landed,) = History(made).move((made.offer({"a": "1\n"}),))
    made.repo.git("update-ref", MAIN, before)
    answer = rollback(made, landed.id)

    assert 1 == answer.code
    assert "not on main" in answer.err


def test_reasons_cannot_pass_for_our_trailers(made: Bench):
    (landed,) = History(made).move((made.offer({"a": "1\n"}),))
    evil = "x\n\nGitagent-Submission: s-000000000000"
    found = submitted(made, rollback(made, landed.id, "--because", evil))

    assert [] == [k for k, _ in made.repo.trailers(found.tip) if "Gitagent" in k]


def test_a_file_that_the_landing_deleted_or_changed_comes_back(made: Bench):
    history = History(made)
    history.move((made.offer({"a": "1\n", "b": "1\n"}, branch="a"),))
    (landed,) = history.move((made.offer({"a": None, "b": "2\n"}, branch="b"),))
    made.repo.commit_at(MAIN, {".agent/tasks/x.md": "# X\n"})
    found = submitted(made, rollback(made, landed.id))

    assert {"README.md", "a", "b"} == files(made, found.tip)
    assert "1\n" == made.repo.read("b", found.tip)
    assert ".agent/tasks/x.md" in made.repo.paths(found.tip)
