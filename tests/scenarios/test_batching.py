"""One run for many of a queue, and the search for the one that is bad."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from gitagent.core.submission import SubmissionState
from gitagent.core.switch import Position, Switch
from gitagent.host import clock
from gitagent.lander import land, submit, switch
from tests.support.cli import call
from tests.support.gated import Gated
from tests.support.stepping import CONFIG, config

Begin = Callable[..., Gated]

HELD = SubmissionState.HELD
LANDED = SubmissionState.LANDED
QUEUED = SubmissionState.QUEUED
REJECTED = SubmissionState.REJECTED
WITHDRAWN = SubmissionState.WITHDRAWN


@pytest.fixture
def batch(gated: Begin) -> Begin:
    """Make a queue in which the tree of a set vouches for all of its members."""

    def make(window: int = 1, **lander: object) -> Gated:
        return gated(mode="batch", window=window, **lander)

    return make


def moves(queue: Gated) -> list[int]:
    """Return how many submissions each move of the target has landed, oldest first."""
    said = queue.made.repo.log("%gs", "-g", "refs/heads/main")
    landings = [each.count("s-") for each in said if each.startswith("gitagent: land")]
    return landings[::-1]


def test_a_green_set_lands_by_one_move_of_the_target_after_one_run(batch: Begin):
    queue = batch()
    base = queue.made.repo.head()
    tips = queue.push_all("abcd")
    queue.made.rest()

    assert "abcd" == queue.landed()
    assert ["abcd"] == queue.started()
    assert [4] == moves(queue)
    line = queue.made.repo.log("%H %P", "--first-parent", f"{base}..main")[::-1]
    assert list(tips.values()) == [each.split()[2] for each in line]
    said = {
        dict(queue.made.repo.trailers(each.split()[0]))["Gitagent-Checked"]
        for each in line
    }
    assert ["abcd"] == [queue.letters(each) for each in said]
    assert 4 == len(queue.made.notes())
    assert [] == queue.made.repo.status()
    assert 0 == call(queue.made.repo, "verify").code


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("one", "ad")
def test_of_four_with_a_bad_one_exactly_that_one_is_rejected_after_few_runs(
    batch: Begin, one: str, window: int
):
    queue = batch(window)
    tips = queue.push_all("abcd", **{one: "bad"})
    queue.made.rest()

    expected = {name: REJECTED if name == one else LANDED for name in "abcd"}
    assert expected == queue.states(tips)
    runs = queue.runs()
    reruns = sum(count - 1 for count in runs.values())
    ahead = window - 1  # sets that another slot tries before it is known who is bad
    most = 1 + 2 * math.log2(4) + 1  # the last is the bare target
    assert len(queue.started()) <= most + reruns + 2 * ahead
    assert max(runs.values()) <= 2


@pytest.mark.parametrize("every", ["abcd", "abcdefghijklmnopqrst"])
def test_a_flake_of_a_batch_costs_few_runs_and_blames_nobody(batch: Begin, every: str):
    queue = batch(window=2)
    queue.flake(every)
    tips = queue.push_all(every)
    queue.made.rest()

    assert dict.fromkeys(every, LANDED) == queue.states(tips)
    assert 1 == queue.receipts()[every, "failed"]
    assert len(queue.started()) <= 8


def test_the_same_set_on_the_same_target_is_never_tried_a_third_time(batch: Begin):
    queue = batch(2)
    tips = queue.push_all("abcdef", b="bad", e="bad")
    queue.made.rest()
    queue.made.hurry().restart().rest()

    assert {"b", "e"} == {n for n, s in queue.states(tips).items() if s is REJECTED}
    assert "acdf" == queue.landed()
    assert max(queue.runs().values()) <= 2
    assert max(queue.receipts().values()) <= 2


def test_of_two_that_are_bad_only_together_the_later_one_is_rejected(batch: Begin):
    queue = batch(2)
    tips = queue.push_all("abcd", b="pair", d="pair")
    queue.made.rest()

    assert {"a": LANDED, "b": LANDED, "c": LANDED, "d": REJECTED} == queue.states(tips)
    assert "abc" == queue.letters()


def test_withdrawn_while_the_batch_runs_the_rest_go_on_without_it(batch: Begin):
    queue = batch()
    queue.hold("abcd")
    tips = queue.push_all("abcd")
    queue.until_started("abcd")
    each = queue.made.of(tips["b"])
    queue.made.repo.git("update-ref", "-d", each.branch)
    gone = replace(each, state=WITHDRAWN, reason="Its submitter took it back.")
    submit.write(queue.made.loop.repo, each, gone, "withdrawn")
    queue.made.rest()

    assert WITHDRAWN is queue.made.of(tips["b"]).state
    assert "acd" == queue.landed() == queue.letters()
    assert ["abcd", "acd"] == queue.started()
    assert {("acd", "passed"): 1} == queue.receipts()


def test_a_green_tree_with_one_that_was_withdrawn_meanwhile_does_not_land(
    batch: Begin, monkeypatch: pytest.MonkeyPatch
):
    queue = batch()
    tips = queue.push_all("ab")
    real, asked = land.land, []

    def racing(*args, **more):
        if not asked:
            each = queue.made.of(tips["b"])
            queue.made.repo.git("update-ref", "-d", each.branch)
            gone = replace(each, state=WITHDRAWN, reason="Taken back.")
            asked.append(submit.write(queue.made.loop.repo, each, gone, "withdrawn"))
        return real(*args, **more)

    monkeypatch.setattr(land, "land", racing)
    queue.made.rest()

    assert {"a": LANDED, "b": WITHDRAWN} == queue.states(tips)
    assert "a" == queue.letters()
    assert ["ab", "a"] == queue.started()


def test_the_longest_green_set_lands_and_what_runs_behind_it_goes_on(batch: Begin):
    queue = batch(2)
    names = "abcdefghijkl"
    tips = queue.push_all(names)
    queue.hold(*(names[: n + 1] for n in range(len(names))))
    queue.made.until(lambda: len(queue.started()) == 2)
    short, long = sorted(queue.started(), key=len)
    queue.let(short)
    queue.made.until(lambda: queue.landed() == short)
    landed = queue.landed()
    behind = queue.runs()[long]
    for n in range(len(names)):
        queue.free(names[: n + 1])
    queue.made.restart().rest()

    assert short == landed
    assert 1 == behind
    assert {LANDED} == set(queue.states(tips).values())


def test_with_a_window_of_two_and_many_entries_never_more_than_two_are_under_check(
    batch: Begin, monkeypatch: pytest.MonkeyPatch
):
    queue = batch(2)
    sizes = []
    real = queue.made.loop.turn

    def turn() -> bool:
        acted = real()
        runs = queue.made.loop.live.runs.values()
        halting = {id(run) for run in runs if run.cancel.is_set()}
        live = [run for run in runs if id(run) not in halting and run.submissions]
        sizes.append(len({run.candidate.tips for run in live}))
        return acted

    monkeypatch.setattr(type(queue.made.loop), "turn", lambda _: turn())
    tips = queue.push_all("abcdefgh", c="bad", g="bad")
    queue.made.rest()

    assert 2 == max(sizes)
    assert "abdefh" == queue.landed()
    assert 8 == len(tips)


def test_c_promoted_over_a_while_a_batch_runs_lands_first(batch: Begin):
    queue = batch()
    queue.hold("abc")
    tips = queue.push_all("abc")
    queue.until_started("abc")
    done = call(queue.made.repo, "promote", queue.made.of(tips["c"]).id)
    queue.let("abc")
    queue.made.rest()

    assert 0 == done.code
    assert "cab" == queue.landed()
    assert {"abc"} == set(queue.started())


# --- a target that is red or moves


def test_a_red_target_blames_nobody_says_so_and_a_repair_lands(batch: Begin):
    queue = batch(2)
    queue.made.direct({"x": "bad\n"})
    tips = queue.push_all("abc")
    queue.made.rest()
    told = [queue.made.of(tip) for tip in tips.values()]
    tips |= {"x": queue.push("x", "good")}
    queue.made.rest()

    assert {QUEUED} == {each.state for each in told}
    assert all("target is red" in (each.reason or "") for each in told)
    assert {LANDED} == set(queue.states(tips).values())
    assert 2 >= max(queue.runs()[name] for name in ("ax", "bx", "cx"))


def test_a_move_of_the_targets_records_alone_costs_no_run(batch: Begin):
    queue = batch()
    queue.hold("abc")
    queue.push_all("abc")
    queue.until_started("abc")
    queue.made.repo.add_task("later", "true", front='after = ["nothing"]')
    queue.made.loop.turn()
    queue.let("abc")
    queue.made.rest()

    assert ["abc"] == queue.started()
    assert "abc" == queue.landed()
    assert ".agent/tasks/later.md" in queue.made.repo.paths()


def test_a_direct_commit_between_green_and_landing_makes_the_batch_anew(
    batch: Begin, monkeypatch: pytest.MonkeyPatch
):
    queue = batch()
    base = queue.made.repo.head()
    tips = queue.push_all("abc")
    real, theirs = land.land, []

    def racing(*args, **more):
        if not theirs:
            theirs.append(queue.made.direct({"t": "good\n"}, "Somebody else's"))
        return real(*args, **more)

    monkeypatch.setattr(land, "land", racing)
    queue.made.rest()

    assert {LANDED} == set(queue.states(tips).values())
    assert "abct" == queue.letters()
    assert ["abc", "abct"] == queue.started()
    line = queue.made.repo.log("%H", "--first-parent", f"{base}..main")
    assert theirs[0] == line[-1]
    assert [] == queue.made.repo.status()


def test_a_direct_commit_that_breaks_what_was_green_keeps_it_from_landing(
    batch: Begin, monkeypatch: pytest.MonkeyPatch
):
    queue = batch()
    tips = queue.push_all("ab", b="pair")
    real, theirs = land.land, []

    def racing(*args, **more):
        if not theirs:
            theirs.append(queue.made.direct({"t": "pair\n"}, "Somebody else's"))
        return real(*args, **more)

    monkeypatch.setattr(land, "land", racing)
    queue.made.rest()

    assert {"a": LANDED, "b": REJECTED} == queue.states(tips)
    assert "at" == queue.letters()


# --- conflicts and stacks


def conflicting(queue: Gated, first: str) -> dict[str, str]:
    """Offer a and b, which conflict with each other, and c."""
    base = queue.made.repo.head()
    files = {
        "a": {"a": f"{first}\n", "a.txt": "A\n"},
        "b": {"b": "good\n", "a.txt": "B\n"},
        "c": {"c": "good\n"},
    }
    return {n: queue.made.push(n, each, on=[base]) for n, each in files.items()}


def test_of_two_that_conflict_the_second_is_rejected_after_the_first_has_landed(
    batch: Begin,
):
    queue = batch()
    queue.hold("ac")
    tips = conflicting(queue, "good")
    queue.until_started("ac")
    waiting = queue.made.of(tips["b"])
    queue.let("ac")
    queue.made.rest()

    assert QUEUED is waiting.state
    assert {"a": LANDED, "b": REJECTED, "c": LANDED} == queue.states(tips)
    assert "a.txt" in queue.made.of(tips["b"]).reason
    assert ["ac"] == queue.started()


def test_of_two_that_conflict_the_second_lands_if_the_first_is_rejected(batch: Begin):
    queue = batch()
    tips = conflicting(queue, "bad")
    queue.made.rest()

    assert {"a": REJECTED, "b": LANDED, "c": LANDED} == queue.states(tips)


def test_the_top_of_a_stack_submitted_lands_the_lower_ones_too_once_each_in_order(
    batch: Begin,
):
    queue = batch()
    low = queue.push("c")
    mid = queue.push("b", on=[low])
    top = queue.push("a", on=[mid])
    queue.made.rest()

    assert "cba" == queue.landed()
    assert ["abc"] == queue.started()
    assert [3] == moves(queue)
    assert LANDED is queue.made.of(top).state


# --- settings, pause, drain


def test_what_changes_the_settings_ends_its_batch_and_passes_old_and_new_checks(
    batch: Begin,
):
    queue = batch()
    out, repo, base = queue.outside, queue.made.repo, queue.made.repo.head()
    extra = config(f"echo x >> {out}/new").replace('"tests"', '"new"')
    new = repo.read(CONFIG) + extra
    tips = {"b": queue.made.push("b", {"b": "good\n", CONFIG: new}, on=[base])}
    queue.made.rest()
    held = queue.made.of(tips["b"])
    call(repo, "pause")
    tips |= queue.push_all("ac")
    queue.made.rest()
    done = [
        call(repo, "promote", queue.made.of(tips["a"]).id),
        call(repo, "approve", held.id),
        call(repo, "resume"),
    ]
    queue.made.rest()

    assert HELD is held.state
    assert [0, 0, 0] == [each.code for each in done]
    assert {"a": LANDED, "b": LANDED, "c": LANDED} == queue.states(tips)
    assert "abc" == queue.landed()
    assert [2, 1] == moves(queue)
    assert ["ab", "abc"] == queue.started()
    assert 2 == len((out / "new").read_text().split())
    names = {line.name for line in queue.made.of(tips["b"]).checks}
    assert {"tests", "new"} == names
    assert 0 == call(repo, "verify").code


def test_paused_while_it_is_green_nothing_lands_until_resume_and_then_without_a_run(
    batch: Begin,
):
    queue = batch()
    queue.hold("abc")
    queue.push_all("abc")
    queue.until_started("abc")
    paused = call(queue.made.repo, "pause", "--because", "I look").code
    queue.made.loop.turn()
    queue.let("abc")
    queue.made.rest()
    before = queue.landed()
    queue.made.restart().rest()
    still = queue.landed()
    resumed = call(queue.made.repo, "resume").code
    queue.made.rest()

    assert (0, 0) == (paused, resumed)
    assert ["", ""] == [before, still]
    assert "abc" == queue.landed()
    assert ["abc"] == queue.started()


def test_drained_lands_what_came_before_and_nothing_that_comes_after(batch: Begin):
    queue = batch()
    queue.hold("ab")
    tips = queue.push_all("ab")
    queue.until_started("ab")
    loop = queue.made.loop
    with loop.repo.objects() as objects:
        old = switch.read(objects, objects.refs())
    new = Switch(Position.DRAINING, clock.stamp_us(), "Ann <ann@example.org>")
    switch.write(loop.repo, old, new, "draining")
    tips |= queue.push_all("c")
    queue.made.until(lambda: len(queue.made.submissions) == 3)
    queue.let("ab")
    queue.made.rest()

    assert {"a": LANDED, "b": LANDED, "c": QUEUED} == queue.states(tips)
    assert ["ab"] == queue.started()
