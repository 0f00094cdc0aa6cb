"""The inbox: what is acknowledged, and that its record stays small."""

from dataclasses import replace

import pytest

from gitagent.core.inbox import (
    KEPT,
    Alarm,
    Inbox,
    Kind,
    acknowledge,
    begin,
    begun,
    outcomes,
    owed,
    tell,
    untold,
)
from gitagent.core.question import Answer, Asker, Card, Question
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


# --- questions and alarms


def question(name: str, minute: int, asker: Asker = Asker.AGENT, **fields: object):
    card = Card(asker, (Question("Which?"),), at(minute))
    values = {"state": TaskState.QUESTION, "card": card, "attempt": 1, **fields}
    return task(name, minute, **values)


@pytest.mark.parametrize("asker", Asker)
def test_a_question_is_owed_until_it_is_acknowledged_or_answered(asker):
    asked = question("a", 1, asker)
    said = Answer("Which?", "this", number=1, attempt=1)
    answered = replace(asked, request="answer", answers=(said,))
    found = outcomes([asked], [])

    assert ["a"] == ids(BEGIN, found)
    assert [] == ids(acknowledge(BEGIN, {found[0].mark}, found), found)
    assert [] == outcomes([answered], [])
    assert (Kind.QUESTION if asker is Asker.AGENT else Kind.BUDGET) is found[0].kind


def test_a_task_that_asks_again_is_another_outcome():
    first = outcomes([question("a", 1)], [])
    box = acknowledge(BEGIN, {first[0].mark}, first)

    assert ["a"] == ids(box, outcomes([question("a", 1, attempt=2)], []))


def test_an_alarm_is_owed_whatever_date_its_commit_has():
    old = Alarm("c" * 40, "1999-01-01T00:00:00Z")
    box = replace(BEGIN, oid="o")
    found = outcomes([task("a", 5)], [], [old])
    seen = acknowledge(box, {old.id}, found)
    later = acknowledge(seen, {found[0].mark}, found)

    assert ["a", old.id] == ids(box, found)
    assert ["a"] == ids(seen, found)
    assert [] == ids(later, found)
    assert Kind.GUARD is found[1].kind


def test_an_acknowledged_alarm_is_named_for_as_long_as_it_is_found():
    alarm = Alarm("c" * 40, at(1))
    box = replace(acknowledge(BEGIN, {alarm.id}), oid="o")
    for found in ([alarm], []):
        more = outcomes([task("a", 30 + len(found))], [], found)
        after = acknowledge(box, {more[0].mark}, more)

        assert bool(found) == (alarm.id in after.seen)


def test_what_came_past_the_lander_before_the_inbox_began_is_history():
    now = "2026-01-02T12:00:00Z"
    alarms = [Alarm("a" * 40, at(1)), Alarm("b" * 40, "2026-01-02T11:00:00Z")]
    found = outcomes([], [], alarms)
    unwritten = begun(now)
    written = replace(begin(now, found), oid="o")
    by_another = replace(acknowledge(unwritten, {"s-1"}, found), oid="o")

    for box in (unwritten, written, by_another):
        assert ["b" * 40] == ids(box, found)


# --- telling


def told(box: Inbox, found: list, now: str) -> tuple[Inbox, list[str]]:
    """Tell what is untold, as the daemon does; return what was told."""
    said = [each.id for each in untold(box, found, now)]
    return tell(box, found, now), said


def test_telling_begins_with_what_comes_then():
    alarm = Alarm("c" * 40, at(3))
    before = outcomes([task("a", 1), question("q", 2)], [submission("s-1", 3)], [alarm])
    box, first = told(BEGIN, before, at(3))
    after = outcomes([task("a", 1), task("b", 3)], [submission("s-1", 3)], [alarm])
    box, second = told(box, after, at(4))
    box, third = told(box, after, at(5))

    assert [[], ["b"], []] == [first, second, third]


def test_each_is_told_once_the_oldest_first_and_a_tasks_submission_with_it():
    own = submission("s-2", 5, task="b")
    box, _ = told(BEGIN, [], at(1))
    found = outcomes([task("b", 5), question("q", 3)], [submission("s-1", 4), own])
    box, said = told(box, found, at(6))

    assert ["q", "s-1", "b"] == said
    assert box is tell(box, found, at(7))


def test_a_new_alarm_is_told_once_whatever_its_date():
    old = Alarm("c" * 40, "1999-01-01T00:00:00Z")
    box, _ = told(BEGIN, [], at(1))
    box, first = told(box, outcomes([], [], [old]), at(2))
    box, second = told(box, outcomes([task("a", 90)], [], [old]), at(91))
    box, third = told(box, outcomes([task("a", 90)], [], [old]), at(92))

    assert [[old.id], ["a"], []] == [first, second, third]


def test_what_is_recorded_a_little_late_is_told_all_the_same():
    box, _ = told(BEGIN, [], at(1))
    box, _ = told(box, outcomes([task("a", 30)], []), at(30))
    found = outcomes([task("a", 30), task("late", 25)], [])
    box, said = told(box, found, at(31))

    assert ["late"] == said
    assert [] == told(box, found, at(32))[1]


def test_nothing_is_told_a_day_later():
    box, _ = told(BEGIN, [], at(1))
    found = outcomes([task("a", 30)], [])

    assert [] == untold(box, found, "2026-01-02T00:31:00Z")


def test_acknowledging_neither_tells_nor_forgets_what_was_told():
    box, _ = told(BEGIN, [], at(1))
    found = outcomes([task("a", 30)], [submission("s-1", 31)])
    box, _ = told(box, found, at(31))
    acked = acknowledge(box, {each.mark for each in found}, found)

    assert [] == untold(acked, found, at(32))
    assert ["a"] == [x.id for x in untold(replace(acked, told=("s-1",)), found, at(32))]


def test_the_marks_of_what_was_told_stay_few():
    box, _ = told(BEGIN, [], at(0))
    every: list[str] = []
    for minute in range(1, 120):
        found = outcomes([], [submission(f"s-{n}", n) for n in range(1, minute + 1)])
        box, said = told(box, found, at(minute))
        every += said

    assert [f"s-{n}" for n in range(1, 120)] == every
    assert len(box.told) <= 11


def test_what_goes_well_with_the_memory_by_itself_has_no_card():
    done, landed = TaskState.DONE, SubmissionState.LANDED
    looked = [task("distil-s-1", 1, state=done), task("distil-s-2", 2)]
    items = [
        submission("s-3", 3, state=landed, remembers=True),
        submission("s-4", 4, remembers=True),
    ]
    found = outcomes(looked, items)

    assert ["s-4", "distil-s-2"] == ids(BEGIN, found)
