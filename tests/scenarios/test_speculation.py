"""Several of a queue under check at once, each on top of all that are ahead of it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitagent.core.submission import SubmissionState
from gitagent.core.switch import RUNNING, Position, Switch
from gitagent.host import clock
from gitagent.lander import submit, switch
from tests.support.cli import call
from tests.support.gated import Gated
from tests.support.stepping import CONFIG, config

Begin = Callable[..., Gated]

CHECKING = SubmissionState.CHECKING
HELD = SubmissionState.HELD
LANDED = SubmissionState.LANDED
QUEUED = SubmissionState.QUEUED
REJECTED = SubmissionState.REJECTED
WITHDRAWN = SubmissionState.WITHDRAWN


@pytest.fixture
def chain(gated: Begin) -> Begin:
    """Make a queue whose every landed commit was checked itself."""

    def make(window: int = 3, **lander: object) -> Gated:
        return gated(mode="chain", window=window, **lander)

    return make


def test_three_green_ones_run_at_once_and_land_in_order_with_three_runs(chain: Begin):
    queue = chain()
    queue.hold("a", "ab", "abc")
    base = queue.made.repo.head()
    tips = queue.push_all("abc")
    queue.until_started("a", "ab", "abc")
    at_once = queue.under_check()
    for name in ("a", "ab", "abc"):
        queue.let(name)
    queue.made.rest()

    assert 3 == at_once
    assert "abc" == queue.landed()
    assert {"a": 1, "ab": 1, "abc": 1} == queue.runs()
    merged = queue.made.repo.log("%P", "--first-parent", f"{base}..main")
    assert list(tips.values()) == [each.split()[1] for each in reversed(merged)]
    checked = dict(queue.made.repo.trailers("main~1"))["Gitagent-Checked"]
    assert "ab" == queue.letters(checked)


def test_a_fails_twice_so_what_runs_on_top_is_stopped_and_runs_again_without_it(
    chain: Begin,
):
    queue = chain(window=4)
    queue.hold("a", "ab", "abc")
    tips = queue.push_all("abc")
    queue.until_started("a", "ab", "abc")
    queue.let("a", 1)
    queue.until_started("a", "a")
    queue.let("a", 1)
    queue.made.rest()

    assert {"a": REJECTED, "b": LANDED, "c": LANDED} == queue.states(tips)
    assert {"a": 2, "none": 1, "ab": 1, "abc": 1, "b": 1, "bc": 1} == queue.runs()
    stopped = [name for name, _ in queue.receipts() if name in {"ab", "abc"}]
    assert [] == stopped
    assert ("a", "failed") in queue.receipts()
    story = queue.made.repo.log("%s", submit.ref_of(queue.made.of(tips["a"]).id))
    assert 1 == sum("rejected" in line for line in story)


def test_c_ends_green_first_and_lands_after_a_and_b_without_another_run(chain: Begin):
    queue = chain()
    queue.hold("a", "ab", "abc")
    queue.push_all("abc")
    queue.until_started("a", "ab", "abc")
    queue.let("abc")
    queue.until_known(("abc", "passed"))
    early = queue.landed()
    queue.let("ab")
    queue.until_known(("ab", "passed"))
    still = queue.landed()
    queue.let("a")
    queue.made.rest()

    assert ["", ""] == [early, still]
    assert "abc" == queue.landed()
    assert {"a": 1, "ab": 1, "abc": 1} == queue.runs()


def test_b_in_the_middle_fails_and_c_runs_again_exactly_once_on_a(chain: Begin):
    queue = chain()
    queue.hold("abc")
    tips = queue.push_all("abc", b="bad")
    queue.until_known(("ab", "failed"), ("ab", "failed"))
    queue.made.rest()

    assert {"a": LANDED, "b": REJECTED, "c": LANDED} == queue.states(tips)
    with_c = {name: n for name, n in queue.runs().items() if "c" in name}
    assert {"abc": 1, "ac": 1} == with_c
    assert "ac" == queue.landed()


def test_a_red_result_of_b_is_provisional_while_a_is_under_check(chain: Begin):
    queue = chain()
    queue.hold("a")
    tips = queue.push_all("ab", a="pair", b="pair")
    queue.until_known(("ab", "failed"), ("ab", "failed"))
    waiting = queue.made.of(tips["b"])
    queue.let("a", 1)
    queue.until_started("a", "a")
    queue.let("a", 1)
    queue.made.rest()

    assert not waiting.settled
    assert {"a": REJECTED, "b": LANDED} == queue.states(tips)


def test_of_two_that_are_bad_only_together_the_later_one_is_rejected(chain: Begin):
    queue = chain()
    tips = queue.push_all("abc", a="pair", c="pair")
    queue.made.rest()

    assert {"a": LANDED, "b": LANDED, "c": REJECTED} == queue.states(tips)
    assert "ab" == queue.letters()


def test_a_new_one_at_the_tail_restarts_nothing_ahead(chain: Begin):
    queue = chain()
    queue.hold("a", "ab", "abc")
    queue.push_all("ab")
    queue.until_started("a", "ab")
    queue.push_all("c")
    queue.until_started("a", "ab", "abc")
    for name in ("a", "ab", "abc"):
        queue.let(name)
    queue.made.rest()

    assert "abc" == queue.landed()
    assert {"a": 1, "ab": 1, "abc": 1} == queue.runs()


def test_the_last_one_taken_back_restarts_nothing_ahead(chain: Begin):
    queue = chain()
    queue.hold("a", "ab", "abc")
    tips = queue.push_all("abc")
    queue.until_started("a", "ab", "abc")
    take_back(queue, tips["c"])
    queue.made.until(lambda: queue.under_check() == 2)
    for name in ("a", "ab"):
        queue.let(name)
    queue.made.rest()

    assert {"a": LANDED, "b": LANDED, "c": WITHDRAWN} == queue.states(tips)
    assert {"a": 1, "ab": 1, "abc": 1} == queue.runs()
    assert {("a", "passed"): 1, ("ab", "passed"): 1} == queue.receipts()


def take_back(queue: Gated, tip: str) -> None:
    """Let the submitter withdraw one."""
    each = queue.made.of(tip)
    queue.made.repo.git("update-ref", "-d", each.branch)
    gone = replace(each, state=WITHDRAWN, reason="Its submitter took it back.")
    submit.write(queue.made.loop.repo, each, gone, "withdrawn")


def test_with_a_window_of_two_and_five_entries_never_more_than_two_are_under_check(
    chain: Begin,
):
    queue = chain(window=2)
    sets = ["a", "ab", "abc", "abcd", "abcde"]
    queue.hold(*sets)
    queue.push_all("abcde")
    seen = []
    for n, each in enumerate(sets):
        queue.until_started(*sets[: n + 2])
        seen.append((queue.under_check(), len(queue.started())))
        queue.let(each)
    queue.made.rest()

    assert 2 == max(size for size, _ in seen)
    assert [2, 3, 4, 5, 5] == [started for _, started in seen]
    assert "abcde" == queue.landed()


def test_the_window_shrinks_after_a_reset_and_grows_with_landings(chain: Begin):
    queue = chain(window=4)
    queue.hold("b", "bc", "bcd", "bcde", "bcdef")
    queue.push_all("abcdef", a="bad")
    queue.until_started("b", "bc")
    sizes = [queue.under_check()]
    for name, more in (("b", ["bcd", "bcde"]), ("bc", ["bcdef"])):
        queue.let(name)
        queue.until_started(*more)
        sizes.append(queue.under_check())
    for name in ("bcd", "bcde", "bcdef"):
        queue.let(name)
    queue.made.rest()

    assert [2, 3, 3] == sizes
    assert "bcdef" == queue.landed()


def test_c_promoted_over_a_that_runs_lands_first_and_each_holds_those_ahead(
    chain: Begin,
):
    queue = chain(window=1)
    queue.hold("a")
    tips = queue.push_all("abc")
    queue.until_started("a")
    before = {name: queue.made.of(tip).created for name, tip in tips.items()}
    done = call(queue.made.repo, "promote", queue.made.of(tips["c"]).id)
    queue.made.rest()

    assert 0 == done.code
    assert "cab" == queue.landed()
    assert ["a", "c", "ac", "abc"] == queue.started()
    assert before == {name: queue.made.of(tip).created for name, tip in tips.items()}
    assert ("a", "passed") not in queue.receipts()


# --- pause, drain, restart


def turn(queue: Gated, position: Position) -> None:
    """Turn the switch as `gitagent pause`, `drain` or `resume` do."""
    loop = queue.made.loop
    with loop.repo.objects() as objects:
        old = switch.read(objects, objects.refs())
    new = Switch(position, clock.stamp_us(), "Ann <ann@example.org>")
    switch.write(loop.repo, old, new, str(position))


def test_paused_while_it_is_green_nothing_lands_until_resume_and_then_without_a_run(
    chain: Begin,
):
    queue = chain()
    queue.hold("a", "ab")
    tips = queue.push_all("ab")
    queue.until_started("a", "ab")
    turn(queue, Position.PAUSED)
    queue.made.loop.turn()
    for name in ("a", "ab"):
        queue.let(name)
    queue.made.rest()
    paused = queue.landed()
    queue.made.restart().rest()
    still = queue.landed()
    turn(queue, RUNNING.position)
    queue.made.rest()

    assert ["", ""] == [paused, still]
    assert {"a": LANDED, "b": LANDED} == queue.states(tips)
    assert {"a": 1, "ab": 1} == queue.runs()


def test_drained_lands_what_came_before_and_takes_what_comes_after_without_a_run(
    chain: Begin,
):
    queue = chain()
    queue.hold("a")
    first = queue.push_all("a")
    queue.until_started("a")
    turn(queue, Position.DRAINING)
    later = queue.push_all("b")
    queue.made.until(lambda: len(queue.made.submissions) == 2)
    queue.let("a")
    queue.made.rest()
    drained = queue.states(first | later)
    why = queue.made.of(later["b"]).reason
    turn(queue, RUNNING.position)
    queue.made.rest()

    assert {"a": LANDED, "b": QUEUED} == drained
    assert "drain" in why
    assert {"a": LANDED, "b": LANDED} == queue.states(first | later)
    assert ["a", "ab"] == queue.started()


def test_a_restart_in_mid_chain_runs_only_what_has_no_receipt(chain: Begin):
    queue = chain()
    queue.hold("a", "abc")
    tips = queue.push_all("abc")
    queue.until_known(("ab", "passed"))
    queue.until_started("a", "abc")
    queue.free("a", "abc")
    queue.made.restart().rest()

    assert {"a": LANDED, "b": LANDED, "c": LANDED} == queue.states(tips)
    assert {"a": 2, "ab": 1, "abc": 2} == queue.runs()


# --- red targets


def test_a_red_target_blames_nobody_says_so_and_a_repair_lands(chain: Begin):
    queue = chain()
    queue.made.direct({"x": "bad\n"})
    tips = queue.push_all("a")
    queue.made.rest()
    told = queue.made.of(tips["a"])
    tips |= {"x": queue.push("x", "good")}
    queue.made.rest()

    assert QUEUED is told.state
    assert "target is red" in told.reason
    assert {"a": LANDED, "x": LANDED} == queue.states(tips)
    assert queue.landed() in {"xa", "ax"}


def test_all_whom_a_red_target_stops_are_told_so_and_it_comes_to_rest(chain: Begin):
    queue = chain()
    queue.made.direct({"x": "bad\n"})
    tips = queue.push_all("ab")
    queue.made.rest()

    for tip in tips.values():
        assert QUEUED is queue.made.of(tip).state
        assert "target is red" in queue.made.of(tip).reason


# --- conflicts with one ahead


def test_of_two_that_conflict_the_second_is_rejected_after_the_first_has_landed(
    chain: Begin,
):
    queue = chain()
    queue.hold("a")
    base = queue.made.repo.head()
    files = [{"a": "good\n", "a.txt": "A\n"}, {"b": "good\n", "a.txt": "B\n"}]
    tips = {
        name: queue.made.push(name, each, on=[base])
        for name, each in zip("ab", files, strict=True)
    }
    queue.until_started("a")
    queue.made.until(lambda: queue.made.of(tips["b"]).reason)
    waiting = queue.made.of(tips["b"])
    queue.let("a")
    queue.made.rest()

    assert QUEUED is waiting.state
    assert "a.txt" in waiting.reason
    assert {"a": LANDED, "b": REJECTED} == queue.states(tips)
    assert "a.txt" in queue.made.of(tips["b"]).reason
    assert ["a"] == queue.started()


def test_of_two_that_conflict_the_second_lands_if_the_first_is_rejected(chain: Begin):
    queue = chain()
    base = queue.made.repo.head()
    tips = {
        "a": queue.made.push("a", {"a": "bad\n", "a.txt": "A\n"}, on=[base]),
        "b": queue.made.push("b", {"b": "good\n", "a.txt": "B\n"}, on=[base]),
    }
    queue.made.rest()

    assert {"a": REJECTED, "b": LANDED} == queue.states(tips)
    assert "B\n" == queue.made.repo.read("a.txt")


# --- the target moves


def test_a_direct_commit_between_green_and_landing_is_merged_and_nothing_is_lost(
    chain: Begin,
):
    queue = chain()
    queue.hold("a", "ab")
    base = queue.made.repo.head()
    tips = queue.push_all("ab")
    queue.until_started("a", "ab")
    theirs = queue.made.direct({"t": "good\n"}, "Somebody else's")
    for name in ("a", "ab"):
        queue.free(name)
    queue.made.rest()

    assert {"a": LANDED, "b": LANDED} == queue.states(tips)
    assert "abt" == queue.letters()
    line = queue.made.repo.log("%H", "--first-parent", f"{base}..main")
    assert theirs == line[-1]
    assert {"at": 1, "abt": 1} == {n: c for n, c in queue.runs().items() if "t" in n}


def test_a_move_of_the_targets_records_alone_restarts_no_run(chain: Begin):
    queue = chain()
    queue.hold("a", "ab")
    tips = queue.push_all("ab")
    queue.until_started("a", "ab")
    queue.made.direct({".agent/memory/m.md": "m\n"}, "A record")
    queue.made.loop.turn()
    for name in ("a", "ab"):
        queue.let(name)
    queue.made.rest()

    assert {"a": LANDED, "b": LANDED} == queue.states(tips)
    assert {"a": 1, "ab": 1} == queue.runs()
    assert "m\n" == queue.made.repo.read(".agent/memory/m.md")


# --- settings that change on the way


def test_what_changes_the_settings_passes_old_and_new_checks_and_ends_the_line(
    chain: Begin,
):
    queue = chain()
    old = queue.made.repo.read(CONFIG)
    run = old.split('run = "')[1].split('"\n')[0]
    out = queue.outside
    new = old + config(f"echo new >> {out}/new").replace('"tests"', '"new"')
    tips = {"a": queue.made.push("a", {"a": "good\n", CONFIG: new})}
    tips |= queue.push_all("b")
    queue.made.rest()
    held = queue.states(tips)
    passed_by = queue.landed()
    done = call(queue.made.repo, "approve", queue.made.of(tips["a"]).id)
    queue.made.rest()
    tips |= queue.push_all("c")
    queue.made.rest()

    assert run
    assert 0 == done.code, done.stderr
    assert HELD is held["a"]
    assert "b" == passed_by
    assert {"a": LANDED, "b": LANDED, "c": LANDED} == queue.states(tips)
    checks = [line.name for line in queue.made.of(tips["a"]).checks]
    assert ["tests", "new"] == sorted(checks, reverse=True)
    assert ["new"] * 2 == (out / "new").read_text().split()
