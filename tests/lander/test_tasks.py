from dataclasses import replace

import pytest

from gitagent.core.task import TaskState
from gitagent.errors import UserError
from gitagent.lander.tasks import Held, add_task, move_done
from tests.support.lander import Bench, moment, task_record

MAIN = "refs/heads/main"
PERSON = "Ada <ada@example.org>"


def test_a_done_task_moves_in_a_commit_that_changes_nothing_else(made: Bench):
    made.repo.add_task("idle", "true")
    old, blob = made.target, made.repo.oid("main:.agent/tasks/idle.md")
    record = replace(task_record("idle", blob), state=TaskState.DONE)
    moved = move_done(made.repository, made.objects, record, made.settings, moment())

    assert moved == made.target
    assert [old] == made.repo.log("%P", "-1", "main")
    assert blob == made.repo.oid("main:.agent/tasks/done/idle.md")
    changed = made.repo.git("diff", "--name-only", "--no-renames", old, "main")
    assert {".agent/tasks/idle.md", ".agent/tasks/done/idle.md"} == set(
        changed.splitlines()
    )
    assert ("Gitagent-Record", "done") in made.repo.trailers("main")
    assert [] == made.repo.status()


def test_a_task_that_was_amended_or_is_gone_stays(made: Bench):
    made.repo.add_task("idle", "true")
    old = made.target
    amended = task_record("idle", "1" * 40)
    gone = task_record("gone", "1" * 40)

    for record in (amended, gone):
        assert (
            move_done(made.repository, made.objects, record, made.settings, moment())
            is None
        )
    assert old == made.target


def test_an_edited_task_file_in_the_checkout_holds_the_move(made: Bench):
    made.repo.add_task("idle", "true")
    blob = made.repo.oid("main:.agent/tasks/idle.md")
    made.repo.write(".agent/tasks/idle.md", "my edit\n")
    held = move_done(
        made.repository,
        made.objects,
        task_record("idle", blob),
        made.settings,
        moment(),
    )

    assert isinstance(held, Held)
    assert ".agent/tasks/idle.md" in held.reason


def add(made: Bench, task: str, data: bytes = b"# A task\n") -> str:
    return add_task(made.repository, made.objects, MAIN, task, data, PERSON)


def test_adding_a_task_commits_exactly_its_bytes_as_the_person(made: Bench):
    made.repo.write("README.md", "# my edit\n")
    made.repo.write("new.txt", "untracked\n")
    commit = add(made, "fix-login", b"# Fix\r\n\xc3\xbc\n")

    assert commit == made.target
    assert b"# Fix\r\n\xc3\xbc\n" == made.repo.raw(
        "show", "main:.agent/tasks/fix-login.md"
    )
    assert [PERSON] == made.repo.log("%an <%ae>", "-1", "main")
    assert ("Gitagent-Record", "task-add") in made.repo.trailers("main")
    assert [" M README.md", "?? new.txt"] == made.repo.status()
    assert (made.repo.path / ".agent/tasks/fix-login.md").is_file()


@pytest.mark.parametrize("folder", [".agent/tasks", ".agent/tasks/done"])
def test_an_id_that_is_taken_is_refused(made: Bench, folder: str):
    made.repo.commit({f"{folder}/fix.md": "# There\n"})
    old = made.target

    with pytest.raises(UserError):
        add(made, "fix")
    assert old == made.target


@pytest.mark.parametrize("task", ["Fix", "../x", "a..b", "", "x.lock", "-x", "a/b"])
def test_what_cannot_be_an_id_is_refused(made: Bench, task: str):
    with pytest.raises(UserError):
        add(made, task)


def test_an_untracked_task_file_of_the_same_name_is_not_overwritten(made: Bench):
    made.repo.write(".agent/tasks/fix.md", "draft\n")

    with pytest.raises(UserError):
        add(made, "fix")
    assert "draft\n" == (made.repo.path / ".agent/tasks/fix.md").read_text()


def test_a_target_without_commits_is_said(made: Bench):
    with pytest.raises(UserError):
        add_task(made.repository, made.objects, "refs/heads/none", "x", b"", PERSON)
