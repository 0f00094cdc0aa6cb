"""Tasks that distil and rulings as the daemon makes them, and what is in the way."""

from dataclasses import replace

import pytest

from gitagent.core import action as act
from gitagent.core.remembering import Filed, Op, Operation, Ruled, Ruling
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState
from gitagent.daemon import admitting, archive, tending
from gitagent.daemon.distilling import task_file
from gitagent.daemon.moment import moment
from gitagent.daemon.read import Reader
from gitagent.errors import Busy, GitagentError
from gitagent.files import memoryfile, proposed, taskfile
from gitagent.files.proposed import Proposed
from gitagent.git import rulings
from gitagent.host.process import Cancel
from gitagent.lander import submit
from gitagent.memory.shelf import Shelves

MAIN = "refs/heads/main"
LOG = "refs/gitagent/memory/operations"
LINE = "The check is quick."
LANDED = Submission(
    "s-0123456789ab",
    "a" * 40,
    SubmissionState.LANDED,
    "2026-12-01T10:00:00.000000Z",
    "2026-12-01T10:00:00Z",
    task="work",
    commit="b" * 40,
    priority=3,
)


@pytest.fixture
def objects(repository):
    with repository.objects() as opened:
        yield opened


@pytest.fixture
def ruled(kept, repository, objects):
    """Rule on what a task has proposed: ``ruled(b"its file")``."""
    kept.commit_at(MAIN, {"rules.txt": f"{LINE}\nAll is well.\n"}, "State rules")

    def make(data: bytes | str, cancel: Cancel | None = None, dropped: str = ""):
        blob = data if isinstance(data, str) else objects.write_blob(data)
        tried = Attempt(1, "b", "base", "t", outcome=Outcome.OK, proposed=blob)
        record = TaskRecord(
            "work", TaskState.DONE, "b", "t", attempt=1, attempts=(tried,)
        )
        return admitting.rule(
            repository,
            Shelves(repository),
            MAIN,
            Settings(),
            act.Remember(record, 0, 1, dropped),
            cancel or Cancel(),
        )

    return make


def add(slug: str, **more: str) -> Operation:
    source = ("main:rules.txt:1-1",)
    return Operation(Op.ADD, slug, "fact", LINE, sources=source, **more)


def asks(*operations: Operation, dropped: tuple[Ruled, ...] = ()) -> bytes:
    return proposed.dump(Proposed(operations, dropped))


def said(made: Ruling) -> list[tuple[str, bool, str]]:
    return [(e.operation.slug, e.admitted, e.reason) for e in made.ruled]


# --- rulings


def test_what_was_dropped_before_stands_in_the_ruling_with_what_is_ruled(ruled):
    gone = Ruled(add("gone"), admitted=False, reason="It dangles.")
    made = ruled(asks(add("quick"), add("quick"), dropped=(gone,)))
    (first, dropped, _), (second, admitted, _) = said(made)

    assert ("gone", False, "quick", True) == (first, dropped, second, admitted)
    assert made.commit
    assert made.submission
    assert ("work", 1) == (made.task, made.attempt)


def test_what_is_dropped_as_a_whole_is_on_record_one_by_one(ruled, objects):
    made = ruled(asks(add("a"), add("b")), dropped="The work did not pass.")

    why = "The work did not pass."
    assert [("a", False, why), ("b", False, why)] == said(made)
    assert "" == made.commit == made.submission
    assert made == rulings.read_all(objects)[-1]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no JSON", "It cannot be used: it is not JSON."),
        (b"[]", "It asks for nothing."),
        ("a" * 40, f"The blob {'a' * 40} is not here any more."),
    ],
)
def test_a_file_of_which_nothing_can_be_made_is_ruled_on_too(ruled, data, why):
    assert [("memory.json", False, why)] == said(ruled(data))


def test_a_command_that_cannot_be_run_verifies_nothing_and_holds_nothing_up(ruled):
    made = ruled(asks(add("quick", verify="no-such-command")))
    ((_, admitted, why),) = said(made)

    assert not admitted
    assert "`no-such-command` ends with 127." in why


def test_a_ruling_that_is_stopped_leaves_nothing(ruled, objects):
    cancel = Cancel()
    cancel.set()
    with pytest.raises(GitagentError, match="was stopped"):
        ruled(asks(add("quick", verify="true")), cancel)

    assert objects.ref(LOG) is None


def test_what_was_taken_back_meanwhile_teaches_nothing(kept, repository, objects):
    rules = {"rules.txt": f"{LINE}\n"}
    work = kept.commit_at(MAIN, rules, "State rules")
    landed = replace(LANDED, tip=work, commit=work)
    submit.create(repository, objects, landed)
    kept.commit_at(MAIN, {"a.txt": "x"}, f"Undo\n\nThis reverts commit {work}.\n")
    blob = objects.write_blob(asks(add("quick")))
    tried = Attempt(1, "b", "base", "t", outcome=Outcome.OK, proposed=blob)
    name = f"distil-{landed.id}"
    record = TaskRecord(name, TaskState.DONE, "b", "t", attempt=1, attempts=(tried,))
    action = act.Remember(record, 0, 1)
    facts = (repository, Shelves(repository), MAIN, Settings(), action, Cancel())
    ((_, admitted, why),) = said(admitting.rule(*facts))

    assert not admitted
    assert f"The landing {landed.id} was taken back by {kept.oid(MAIN)[:12]}." in why


def test_a_ruling_that_cannot_be_made_is_put_off_and_others_go_on(loop, monkeypatch):
    def fail(*_: object) -> None:
        raise Busy("the target is locked")

    monkeypatch.setattr(admitting, "rule", fail)
    record = TaskRecord("work", TaskState.DONE, "b", "t")
    loop.turn()
    loop.enactor.memory.remember(act.Remember(record, 0, 1), loop.snapshot)
    loop.run(lambda _: not loop.live.busy)

    assert "" == loop.live.remembering
    assert "remember work" in loop.live.waits


# --- tasks that distil


def test_the_task_of_a_landing_may_change_no_file_and_is_always_the_same():
    data = task_file(LANDED, "distiller")
    task = taskfile.parse("distil-s-0123456789ab", "b", data, "x.md")

    assert data == task_file(LANDED, "distiller")
    assert ("distiller", "distil", 3, ("**",)) == (
        *(task.agent, task.kind, task.priority, task.forbidden),
    )
    assert "What the landing s-0123456789ab teaches" == task.title


def test_a_task_that_is_there_is_not_added_again(loop, kept, objects):
    loop.turn()
    hands = loop.enactor.memory
    for _ in range(2):
        hands.add(act.AddTask(LANDED, "a"), loop.snapshot, objects, moment())

    subjects = kept.log("%s", MAIN)
    assert 1 == subjects.count("Add task distil-s-0123456789ab")


def test_a_target_that_is_locked_is_waited_for_by_the_next_turns(
    loop, kept, objects, monkeypatch
):
    def locked(*_: object, **__: object) -> None:
        raise Busy("the target is locked")

    monkeypatch.setattr(tending, "add_task", locked)
    loop.turn()
    before = kept.oid(MAIN)
    action = act.AddTask(LANDED, "a")
    loop.enactor.memory.add(action, loop.snapshot, objects, moment())

    assert before == kept.oid(MAIN)
    assert f"distil {LANDED.id}" in loop.live.waits


# --- what is read


def test_a_log_of_a_newer_release_is_refused_and_nothing_is_owed(
    kept, repository, objects
):
    kept.commit_at(LOG, {"record-v2.json": "{}"})
    seen = Reader(repository).read(objects)

    assert not seen.memory.readable
    assert [LOG] == [each.path for each in seen.refused]


def test_a_submission_that_was_archived_is_not_made_again(kept, repository, objects):
    tip = kept.oid(MAIN)
    old = replace(LANDED, tip=tip, commit=tip, task=None, remembers=True)
    made = submit.create(repository, objects, old)
    one = Ruled(add("a"), admitted=True, reason="So.")
    ruling = Ruling("t", "G <g@x>", "work", 1, (one,), tip, submission=old.id)
    rulings.append(repository, objects, ruling)
    reader = Reader(repository)
    before = reader.read(objects).memory
    gone = act.Archive("2026-12", ((submit.ref_of(old.id), made.oid),))
    archive.enact(repository, objects, gone)
    after = reader.read(objects).memory

    assert [old.id] == [each.submission for each in before.rulings]
    assert frozenset() == before.archived
    assert frozenset({old.id}) == after.archived


def test_landings_that_change_the_memory_are_no_rulings(repository, kept, objects):
    files = (Filed("a", "b" * 40),)
    tip = kept.oid(MAIN)
    landing = Ruling("t", "G <g@x>", commit=tip, files=files, submission=LANDED.id)
    rulings.append(repository, objects, landing)

    assert () == Reader(repository).read(objects).memory.rulings


def test_as_long_as_no_ref_moves_nothing_of_the_memory_is_read(
    repository, ruled, monkeypatch
):
    made = ruled(asks(add("quick")))
    repository.git.run("update-ref", MAIN, made.commit)
    reader = Reader(repository)
    with repository.objects() as opened:
        before = reader.read(opened)

    def read(*given: object, **more: object) -> None:
        raise AssertionError((given, more))

    monkeypatch.setattr(rulings, "read_all", read)
    monkeypatch.setattr(memoryfile, "parse", read)
    with repository.objects() as opened:
        after = reader.read(opened)

    assert (made,) == before.memory.rulings
    assert before == after
