"""The inbox: what is acknowledged, and that its record stays small."""

from gitagent.core.inbox import KEPT, Inbox, acknowledge, begun, outcomes, owed
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord, TaskState

BEGIN = Inbox("2026-01-01T00:00:00Z")


def at(minute: int) -> str:
    return f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"


def submission(name: str, minute: int, **fields: object) -> Submission:
    values = {"state": SubmissionState.REJECTED, "since": at(minute), **fields}
    return Submission(id=name, tip="1" * 40, created=at(minute), **values)


def task(name: str, minute: int, **fields: object) -> TaskRecord:
    values = {"state": TaskState.FAILED, **fields}
    return TaskRecord(id=name, blob="1" * 40, since=at(minute), **values)


def ids(box: Inbox, found: list) -> list[str]:
    return [each.id for each in owed(box, found)]


def test_what_settled_is_owed_newest_first_until_it_is_acknowledged():
    open_one = submission("s-0", 3, state=SubmissionState.QUEUED)
    found = outcomes([task("a", 2)], [submission("s-1", 1), open_one])
    first = acknowledge(BEGIN, {"s-1"}, found)

    assert ["a", "s-1"] == ids(BEGIN, found)
    assert ["a"] == ids(first, found)
    assert [] == ids(acknowledge(first, {found[0].mark}, found), found)


def test_acknowledging_twice_is_no_change():
    found = outcomes([], [submission("s-1", 1)])
    once = acknowledge(BEGIN, {"s-1"}, found)

    assert once is acknowledge(once, {"s-1"}, found)


def test_what_settled_before_the_inbox_began_is_not_in_it():
    found = outcomes([], [submission("s-1", 1)])

    assert [] == ids(begun("2026-01-02T00:02:00Z"), found)
    assert ["s-1"] == ids(begun("2026-01-02T00:00:30Z"), found)


def test_a_task_that_fails_again_is_another_outcome():
    first = outcomes([task("a", 1)], [])
    box = acknowledge(BEGIN, {first[0].mark}, first)

    assert ["a"] == ids(box, outcomes([task("a", 5)], []))


def test_who_saw_the_submission_of_a_task_land_knows_of_the_task():
    state = SubmissionState.LANDED
    own = submission("s-1", 1, state=state, task="a")
    landed = task("a", 1, state=TaskState.LANDED, submission="s-1")
    failed = task("b", 1, submission="s-1")
    box = acknowledge(BEGIN, {"s-1"}, ())

    assert ["a"] == ids(BEGIN, outcomes([landed], [own]))
    assert ["b"] == ids(box, outcomes([landed, failed], [own]))


def test_names_older_than_the_begin_are_dropped_and_stay_acknowledged():
    found = outcomes([], [submission(f"s-{n}", n) for n in range(600)])
    box = BEGIN
    for each in reversed(found):
        box = acknowledge(box, {each.mark}, found)

    assert [] == ids(box, found)
    assert len(box.seen) <= 11
    assert box.until > at(580)


def test_one_that_nobody_acknowledges_stays_while_others_are():
    found = outcomes([], [submission(f"s-{n}", n) for n in range(200)])
    box = acknowledge(BEGIN, {f"s-{n}" for n in range(200) if n != 5}, found)

    assert ["s-5"] == ids(box, found)


def test_the_record_is_bounded_whatever_is_left_lying():
    many = [submission(f"s-{n}", n) for n in range(KEPT + 100)]
    found = outcomes([], many)
    box = acknowledge(BEGIN, {each.id for each in many[1:]}, found)

    assert KEPT == len(box.seen)
    assert [] == ids(box, found)
