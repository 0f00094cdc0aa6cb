"""gitagent status: the queue as people want to see it."""

from dataclasses import replace

import pytest

from gitagent.cli import page, queuepage
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.daemon.lineup import Lineup, RunNow
from gitagent.daemon.overview import Overview
from gitagent.daemon.report import report
from gitagent.host import clock

BASE = "1a2b3c4" + "0" * 33
RUNS = "Its checks run."


def submission(number: int, state=SubmissionState.CHECKING, **fields) -> Submission:
    when = f"2026-11-30T12:00:00.{number:06}Z"
    made = Submission(
        f"s-{number:04}",
        f"{number:040}",
        state,
        when,
        when,
        branch=f"refs/heads/land/{number}",
        reason=RUNS if state is SubmissionState.CHECKING else None,
    )
    return replace(made, **fields)


def ids(count: int) -> tuple[str, ...]:
    return tuple(f"s-{n:04}" for n in range(1, count + 1))


def queue(count: int, under: int = 0) -> list[Submission]:
    """Return submissions of which the first ``under`` are under check."""
    made = [submission(n) for n in range(1, under + 1)]
    for n in range(under + 1, count + 1):
        waits = f"Waits for s-{n - 1:04}, which is ahead of it." if n > 1 else None
        made.append(submission(n, SubmissionState.QUEUED, reason=waits))
    return made


def run(count: int, since: float = 42.0, number: int = 1, base=BASE, name="tests"):
    return RunNow(ids(count), name, number, since, "key", "product", base)


def seen(submissions, *runs: RunNow, pid: int | None = 1) -> Overview:
    submissions = list(submissions)
    order = tuple(each.id for each in submissions if not each.settled)
    return Overview(
        pid=pid,
        working=pid is not None,
        target="refs/heads/main",
        commit=BASE,
        moved="2026-11-30T12:00:00Z",
        paused=None,
        findings=(),
        push=None,
        files={},
        tasks={},
        submissions={each.id: each for each in submissions},
        refused=(),
        written={},
        left_out=0,
        lineup=Lineup(order, runs) if pid else None,
    )


def landed(seconds: float = 70.0) -> Submission:
    checks = (CheckLine("tests", "passed", seconds, "ref:path"),)
    return submission(9999, SubmissionState.LANDED, checks=checks)


def said(found: Overview) -> list[dict]:
    return report(found, clock.now())["submissions"]


def rows(found: Overview, *, everything: bool = False) -> list[tuple[str, ...]]:
    lines = [each for each in said(found) if each["position"]]
    working = found.pid is not None
    return list(queuepage.rows(lines, everything=everything, working=working))


def head(found: Overview) -> str:
    made = page.page(
        report(found, clock.now()),
        where="here",
        now=clock.stamp(),
        working=True,
        everything=False,
        left_out=0,
    )
    return "\n".join(text for _, text in made.head)


def test_what_runs_is_told_with_its_base_and_its_usual_time():
    (row,) = rows(seen([submission(1), landed()], run(1)))

    assert "checks tests on 1a2b3c4, 0:42 of usually 1:10" == row[-1]


def test_a_second_run_behind_others_says_so():
    found = rows(seen([*queue(8, 8), landed()], run(1, 5), run(8, 42, number=2)))

    assert "checks tests on 1a2b3c4, 0:05 of usually 1:10" == found[0][-1]
    about = "checks tests (run 2) with 1 ahead on 1a2b3c4, 0:42 of usually 1:10"
    assert about == found[1][-1]


def test_without_a_landing_there_is_no_usual_time():
    (row,) = rows(seen([submission(1)], run(1, 3.25)))

    assert "checks tests on 1a2b3c4, 3.2 s so far" == row[-1]


def test_several_checks_at_once_have_a_time_each():
    (row,) = rows(seen([submission(1)], run(1, 3), run(1, 4, name="lint")))

    assert "tests 3.0 s so far, lint 4.0 s so far" in row[-1]


def test_members_of_one_set_say_who_is_ahead_and_not_the_same_again():
    found = rows(seen(queue(4, 3), run(3)))

    assert "in the same set, with 1 ahead" == found[1][-1]
    assert "in the same set, with 2 ahead" == found[2][-1]
    assert "Waits for s-0003, which is ahead of it." == found[3][-1]


def test_a_large_set_is_folded_and_all_shows_it_whole():
    waiting = seen(queue(14, 12), run(12))
    found = rows(waiting)

    assert ("checking", "4. to 12.", "9 more", "in the same set") == found[3]
    assert ["13. s-0013", "14. s-0014"] == [row[1] for row in found[4:]]
    assert 14 == len(rows(waiting, everything=True))


def test_a_thousand_are_twenty_lines_and_how_many_more():
    held = submission(1000, SubmissionState.HELD, reason="A person has to approve x.")
    waiting = seen([*queue(999, 2), held], run(2))
    found = rows(waiting)

    assert queuepage.SHOWN + 1 == len(found)
    assert "980 more" == found[-1][1]
    assert "979 queued, 1 held; see: gitagent status --all" == found[-1][-1]
    assert 1000 == len(rows(waiting, everything=True))


def test_nobody_is_lost_where_a_folded_set_and_the_cut_meet():
    found = rows(seen(queue(100, 50), run(50)))

    assert "4. to 50." == found[3][1]
    assert ("…", "34 more") == found[-1][:2]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (SubmissionState.HELD, "A person has to approve x: gitagent approve s-0002."),
        (SubmissionState.QUEUED, "It is looked at again: it conflicts with one ahead."),
        (SubmissionState.QUEUED, "Stands on s-0001, and waits for it."),
    ],
)
def test_whoever_waits_says_for_whom(state, reason):
    found = rows(seen([submission(1), submission(2, state, reason=reason)], run(1)))

    assert reason == found[1][-1]


def test_one_that_was_under_check_and_is_not_now_waits_for_the_one_ahead():
    found = rows(seen(queue(3, 3), run(1)))

    assert "Waits for s-0001, which is ahead of it." == found[1][-1]


def test_one_that_nobody_has_looked_at_comes_after_the_one_ahead():
    fresh = submission(2, SubmissionState.QUEUED)

    assert "Comes after s-0001." == rows(seen([submission(1), fresh], run(1)))[1][-1]


def test_without_a_daemon_the_records_alone_speak():
    found = rows(seen(queue(3, 2), pid=None))

    assert ["checking", "checking", "queued"] == [row[0] for row in found]
    assert "Its checks go on when a daemon runs." == found[0][-1]


def test_a_run_on_the_bare_target_asks_whether_that_is_red():
    bare = RunNow((), "tests", 1, 12.0, "key", "product", BASE)
    waiting = seen([submission(1), landed()], bare)

    assert "is the target red? It runs tests on 1a2b3c4 with nothing merged" in head(
        waiting
    )
    assert [{"name": "tests", "state": "running", "seconds": 12.0}] == [
        {key: line[key] for key in ("name", "state", "seconds")}
        for line in report(waiting, clock.now())["target"]["checks"]
    ]


def test_json_has_who_is_ahead_in_the_set_and_how_long_it_runs():
    *_, third = said(seen(queue(3, 3), run(2), run(3, 1.5, number=2)))

    assert (["s-0001", "s-0002"], "s-0003", BASE) == (
        third["with"],
        third["set"],
        third["base"],
    )
    assert [
        {"name": "tests", "state": "running", "seconds": 1.5, "usual": None, "run": 2}
    ] == third["checks"]


def test_who_has_landed_is_not_ahead_any_more_and_the_base_is_the_target():
    first = submission(1, SubmissionState.LANDED)
    (second,) = [
        each
        for each in said(seen([first, submission(2)], run(2, base="f" * 40)))
        if each["position"]
    ]

    assert ([], BASE) == (second["with"], second["base"])


@pytest.mark.parametrize(
    ("seconds", "longest", "text"),
    [
        (0.44, 0, "0.4 s"),
        (59.9, 0, "59.9 s"),
        (5, 61, "0:05"),
        (65, 0, "1:05"),
        (3725, 0, "1:02:05"),
    ],
)
def test_durations_read_like_a_clock(seconds, longest, text):
    assert text == queuepage.clock(seconds, longest)
