"""What must be seen of one candidate at a time, strategy merge."""

import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.queue import RACES
from gitagent.core.submission import Push, SubmissionState
from gitagent.core.task import TaskState
from gitagent.daemon import loop as loop_module
from gitagent.lander import land
from tests.support.cli import call
from tests.support.daemon import COMMAND, Daemon, gitagent, record, status
from tests.support.repos import Repo
from tests.support.stepping import CONFIG, Stepped, config, holders, lines, pipe
from tests.support.waiting import wait_for, wait_for_file

Step = Callable[..., Stepped]
Start = Callable[..., Daemon]

HELD = SubmissionState.HELD
LANDED = SubmissionState.LANDED
REJECTED = SubmissionState.REJECTED
WITHDRAWN = SubmissionState.WITHDRAWN

RECORDS = (".agent/tasks", ".agent/landings", ".agent/memory")


def products_differ(repo: Repo, one: str, other: str) -> list[str]:
    """Return the paths outside the record folders in which two trees differ."""
    outside = [f":(exclude){each}" for each in RECORDS]
    listed = repo.git("diff", "--name-only", one, other, "--", ".", *outside)
    return listed.splitlines()


# --- basics


def test_a_green_submission_lands_by_fast_forward_as_the_tree_that_was_checked(
    step: Step, outside: Path
):
    made = step(f"git rev-parse 'HEAD^{{tree}}' >> {outside}/checked")
    base = made.repo.head()
    tip = made.push("a", {"new.txt": "new\n"}, "Add new\n\nIt is new.")
    made.rest()

    assert LANDED is made.of(tip).state
    assert [f"{base} {tip}"] == made.repo.log("%P", "-1")
    (checked,) = lines(outside / "checked")
    assert [] == products_differ(made.repo, checked, "HEAD")
    assert [] == made.repo.paths(checked, under=".agent/landings")
    assert ("Gitagent-Checked", checked) in made.repo.trailers()
    (note,) = made.notes().values()
    assert "Add new" in note
    assert [made.of(tip).id] == made.landings()
    assert {} == made.repo.refs("refs/gitagent/candidates/")
    assert [] == made.repo.status()


def test_a_conflict_starts_no_check_and_the_next_one_lands(step: Step, outside: Path):
    made = step(f"git rev-parse HEAD^2 >> {outside}/checked")
    base = made.repo.head()
    made.direct({"a.txt": "ONE\ntwo\nthree\n"})
    bad = made.push("1", {"a.txt": "eins\ntwo\nthree\n"}, on=[base])
    good = made.push("2", {"b.txt": "b\n"}, on=[base])
    made.rest()

    assert REJECTED is made.of(bad).state
    assert "a.txt" in made.of(bad).reason
    assert LANDED is made.of(good).state
    assert [good] == lines(outside / "checked")


def test_a_second_group_waits_for_the_whole_first_whose_members_run_side_by_side(
    step: Step, outside: Path
):
    pipe(outside, "meet")
    say = f"echo $GITAGENT_CHECK >> {outside}/log"
    made = step(
        {"name": "late", "group": 2, "run": say},
        {"name": "one", "group": 1, "run": f"echo > {outside}/meet && {say}"},
        {"name": "two", "group": 1, "run": f"read x < {outside}/meet; {say}"},
    )
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    assert [{"one", "two"}, {"late"}] == [
        set(lines(outside / "log")[:2]),
        set(lines(outside / "log")[2:]),
    ]


def test_every_failure_of_a_group_is_reported_and_the_next_group_never_starts(
    step: Step, outside: Path
):
    say = f"test -e bad || exit 0; echo $GITAGENT_CHECK >> {outside}/log"
    fail = f"{say}; echo no $GITAGENT_CHECK; exit 1"
    made = step(
        {"name": "one", "run": fail},
        {"name": "two", "run": fail},
        {"name": "fine", "run": say},
        {"name": "late", "group": 2, "run": say},
    )
    tip = made.push("a", {"bad": ""})
    made.rest()

    found = made.of(tip)
    assert REJECTED is found.state
    assert "one failed twice" in found.reason
    assert "two failed twice" in found.reason
    assert 2 == found.output.count("no one")
    assert 2 == found.output.count("no two")
    assert sorted(["one", "one", "two", "two", "fine"]) == sorted(
        lines(outside / "log")
    )


def test_a_flaky_check_alone_runs_twice_and_both_outputs_are_kept(
    step: Step, outside: Path
):
    say = "[ -e new.txt ] || exit 0; echo x >> {0}/{1}"
    flaky = (
        f"{say.format(outside, 'flaky')}; tries=$(wc -l < {outside}/flaky);"
        "echo this is try $tries; [ $tries -ge 2 ]"
    )
    made = step(
        {"name": "flaky", "run": flaky},
        {"name": "solid", "run": say.format(outside, "solid")},
        {"name": "late", "group": 2, "run": say.format(outside, "late")},
    )
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    counts = [len(lines(outside / each)) for each in ("flaky", "solid", "late")]
    assert [2, 1, 1] == counts
    shown = {line.name: line for line in made.of(tip).checks}
    assert ("flaky", "passed") == (shown["flaky"].state, shown["solid"].state)
    assert [
        b"this is try 1\n",
        b"this is try 2\n",
    ] == [made.repo.raw("cat-file", "blob", each) for each in outputs(shown["flaky"])]
    (note,) = made.notes().values()
    assert "this is try 1" in note
    verdicts = [value for key, value in made.repo.trailers() if "Check" in key]
    assert any(value.startswith("flaky flaky ") for value in verdicts)


def outputs(line) -> list[str]:
    """Return the names of both outputs of a check that ran twice."""
    stem = line.receipt.removesuffix("-2.json")
    return [f"{stem}-1.log", f"{stem}-2.log"]


def test_a_check_that_fails_twice_rejects_with_both_outputs(step: Step, outside: Path):
    count = f"echo x >> {outside}/n; echo try $(wc -l < {outside}/n) says no; exit 3"
    made = step(
        {"name": "red", "run": f"test -e bad || exit 0; {count}"},
        {"name": "late", "group": 2, "run": f"echo x >> {outside}/late"},
    )
    base = made.repo.head()
    tip = made.push("a", {"bad": ""})
    made.rest()

    found = made.of(tip)
    assert REJECTED is found.state
    assert base == made.repo.head()
    assert "exit 3" in found.reason
    assert "try 1 says no" in found.output
    assert "try 2 says no" in found.output
    assert [] == lines(outside / "late")
    assert tip == made.repo.ref("refs/heads/land/a")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (config(), "no [[check]]"),
        ("target = \n", "config.toml:1"),
        (config({"name": "tests", "rum": "true"}), "rum"),
        (config("true", lander={"strategy": "octopus"}), "strategy"),
        (config({"name": "n", "run": "true", "network": ["x"]}), "network"),
    ],
)
def test_without_usable_checks_nothing_lands_and_the_message_says_why(
    step: Step, settings: str, words: str
):
    made = step("true")
    made.direct({CONFIG: settings})
    tips = [made.push(name, {name: "x\n"}) for name in ("a", "b")]
    made.rest()
    before = [made.of(tip) for tip in tips]
    told = call(made.repo, "status", "--json").json
    made.direct({CONFIG: config("true")})
    made.rest()

    for each in before:
        assert SubmissionState.QUEUED is each.state
        assert "Nothing lands" in each.reason
        assert words in each.reason
    assert words in told["target"]["paused"]
    assert [LANDED, LANDED] == [made.of(tip).state for tip in tips]


def test_a_group_that_nobody_is_in_is_passed_over(step: Step, outside: Path):
    made = step(
        {"name": "one", "group": 1, "run": f"echo one >> {outside}/log"},
        {"name": "five", "group": 5, "run": f"echo five >> {outside}/log"},
    )
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    assert ["one", "five"] == lines(outside / "log")


# --- identity


ONCE = "[ -e {0}/up ] || {{ echo up > {0}/up; read x < {0}/go; }}"

# The tips that are under check: the parents without the target's commit.
TIPS = "git rev-list --parents -1 HEAD | cut -d' ' -f3- >> {0}/checked"

SLOW = "if [ -e slow ]; then echo up > {0}/up; read x < {0}/go; fi;" + TIPS

# The second set would pass while the first one waits.
ALONE = {"lander": {"window": 1}}


def test_a_branch_that_is_pushed_anew_during_its_check_lands_only_what_is_new(
    step: Step, outside: Path
):
    pipe(outside, "go")
    made = step(SLOW.format(outside))
    base = made.repo.head()
    old = made.push("a", {"old.txt": "old\n", "slow": ""})
    made.until((outside / "up").exists)
    other = made.push("b", {"b.txt": "b\n"}, on=[base])
    made.loop.turn()
    new = made.push("a", {"new.txt": "new\n"}, on=[base])
    made.rest()

    assert WITHDRAWN is made.of(old).state
    assert [LANDED, LANDED] == [made.of(new).state, made.of(other).state]
    assert {new, other} == set(lines(outside / "checked"))
    assert "old.txt" not in made.repo.paths()
    assert {} == made.repo.refs("refs/heads/land/")
    assert made.repo.ask("merge-base", "--is-ancestor", old, "HEAD") == 1


def test_the_same_object_submitted_from_everywhere_is_one_entry_and_one_landing(
    step: Step, outside: Path
):
    pipe(outside, "go")
    made = step(f"echo x >> {outside}/runs; read x < {outside}/go")
    tip = made.push("a", {"new.txt": "new\n"})
    for name in ("land/b", "work"):
        made.repo.git("branch", name, tip)
    names = ["work", "land/b", tip, "land/a"]
    said: list[str] = []

    def submit(name: str) -> None:
        said.append(gitagent(made.repo, "submit", name).stdout.strip())

    threads = [threading.Thread(target=submit, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        made.loop.turn()
    (outside / "go").write_text("\n")
    made.rest()

    assert {made.of(tip).id} == set(said)
    assert [made.of(tip).id] == made.landings()
    assert [made.of(tip)] == made.submissions
    assert 1 == len(lines(outside / "runs"))
    assert 1 == len(made.notes())
    assert {} == made.repo.refs("refs/heads/land/")
    assert tip == made.repo.ref("refs/heads/work")


def test_a_tree_that_was_green_needs_no_run_and_the_note_names_the_earlier_one(
    step: Step, outside: Path
):
    made = step(f"echo x >> {outside}/runs")
    base = made.repo.head()
    first = made.push("a", {"new.txt": "new\n"})
    made.rest()
    (receipt,) = made.of(first).checks
    made.repo.git("update-ref", "refs/heads/main", base)
    made.repo.git("reset", "-q", "--hard")
    second = made.push("b", {"new.txt": "new\n"}, "Another with the same tree")
    made.restart().rest()
    (note,) = made.notes().values()

    assert LANDED is made.of(second).state
    assert 1 == len(lines(outside / "runs"))
    assert receipt.receipt in note


@pytest.mark.parametrize(
    "settings",
    [
        {"run": "echo x >> {0}/runs; true"},
        {"timeout": 77},
        {"sandbox": {"file_limit": 77}},
        {"history": True},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_any_change_in_the_key_is_a_run(step: Step, outside: Path, settings: dict):
    run = f"echo x >> {outside}/runs"
    sandbox = {"write": [str(outside)]}
    made = step(run, sandbox=sandbox)
    base = made.repo.head()
    made.push("a", {"new.txt": "new\n"})
    made.rest()
    made.repo.git("update-ref", "refs/heads/main", base)
    sandbox |= settings.pop("sandbox", {})
    check = {"name": "tests", "run": run, **settings}
    check["run"] = check["run"].format(outside)
    # The settings are part of the product; so the tree that is judged stays the same.
    made.direct({CONFIG: config(check, sandbox=sandbox)})
    made.push("b", {"new.txt": "new\n"})
    made.rest()

    assert 2 == len(lines(outside / "runs"))


# --- stacks


def stack(made: Stepped, *names: str, bad: str = "") -> list[str]:
    """Push commits that stand on each other, lowest first; return their tips."""
    tips: list[str] = []
    for name in names:
        files = {f"{name}.txt": f"{name}\n"} | ({"bad": ""} if name == bad else {})
        tips.append(made.push(name, files, name, on=tips[-1:]))
    return tips


def test_a_stack_lands_once_each_in_order(step: Step):
    made = step("true")
    tips = stack(made, *"gfedcba")
    made.rest()

    assert {LANDED} == {made.of(tip).state for tip in tips}
    assert [made.of(tip).id for tip in tips] == made.landings()[::-1]
    assert 7 == len(made.notes())
    merged = made.repo.log("%P", "--first-parent", f"-{len(tips)}")
    assert tips == [parents.split()[1] for parents in merged][::-1]


def test_the_top_of_a_stack_brings_what_it_stands_on(step: Step, outside: Path):
    made = step(f"echo x >> {outside}/runs")
    low = made.repo.commit_at("refs/heads/low", {"low.txt": "low\n"}, parents=None)
    low = made.push("low", {"low.txt": "low\n"})
    made.repo.git("update-ref", "-d", "refs/heads/land/low")
    top = made.push("top", {"top.txt": "top\n"}, on=[low])
    made.rest()

    assert LANDED is made.of(top).state
    assert [made.of(top).id] == made.landings()
    assert {"low.txt", "top.txt"} <= set(made.repo.paths())
    assert 1 == len(lines(outside / "runs"))


def test_what_stands_on_a_rejected_one_says_so_and_never_runs(
    step: Step, outside: Path
):
    made = step(f"{TIPS.format(outside)}; ! test -e bad", lander={"mode": "chain"})
    other = made.push("other", {"other.txt": "o\n"})
    low, mid, top = stack(made, "3", "2", "1", bad="3")
    made.rest()
    after = lines(outside / "checked")
    made.hurry().rest()

    assert [REJECTED] * 3 == [made.of(tip).state for tip in (low, mid, top)]
    assert f"needs {made.of(low).id}" in made.of(mid).reason
    assert f"needs {made.of(low).id}" in made.of(top).reason
    assert LANDED is made.of(other).state
    assert after == lines(outside / "checked")


def test_a_repair_on_top_of_a_rejected_one_is_judged_by_itself(step: Step):
    made = step("! test -e bad")
    low = made.push("low", {"bad": ""})
    made.rest()
    mended = made.push("low", {"bad": None, "good": ""}, on=[low])
    elsewhere = made.push("new", {"bad": None, "new": ""}, on=[low])
    made.restart().rest()

    assert REJECTED is made.of(low).state
    assert [LANDED, LANDED] == [made.of(tip).state for tip in (mended, elsewhere)]


def test_what_stands_on_a_replaced_one_leaves_the_queue_and_others_stay(
    step: Step, outside: Path
):
    pipe(outside, "go")
    made = step(ONCE.format(outside), **ALONE)
    base = made.repo.head()
    old = made.push("a", {"old.txt": "old\n"})
    upper = made.push("upper", {"upper.txt": "u\n"}, on=[old])
    other = made.push("other", {"other.txt": "o\n"}, on=[base])
    made.until((outside / "up").exists)
    new = made.push("a", {"new.txt": "new\n"}, on=[base])
    made.restart().rest()

    assert [WITHDRAWN, WITHDRAWN] == [made.of(tip).state for tip in (old, upper)]
    assert f"needs {made.of(old).id}" in made.of(upper).reason
    assert [LANDED, LANDED] == [made.of(tip).state for tip in (new, other)]
    assert not {"old.txt", "upper.txt"} & set(made.repo.paths())


def test_what_stands_on_one_that_only_grew_stays_in_the_queue(
    step: Step, outside: Path
):
    pipe(outside, "go")
    made = step(ONCE.format(outside), **ALONE)
    old = made.push("a", {"old.txt": "old\n"})
    upper = made.push("upper", {"upper.txt": "u\n"}, on=[old])
    made.until((outside / "up").exists)
    new = made.push("a", {"new.txt": "new\n"}, on=[old])
    made.rest()

    assert WITHDRAWN is made.of(old).state
    assert [LANDED, LANDED] == [made.of(tip).state for tip in (new, upper)]


# --- races and pushing


def moved_before(
    monkeypatch: pytest.MonkeyPatch, made: Stepped, files: dict, times: int = 1
) -> list[str]:
    """Let somebody commit to the target just before each of the next landings."""
    commits: list[str] = []
    real = land.land

    def racing(*args, **more):
        if len(commits) < times:
            content = {name: f"{len(commits)}\n" for name in files}
            commits.append(made.direct(content, "Somebody else's"))
        return real(*args, **more)

    monkeypatch.setattr(land, "land", racing)
    return commits


def test_a_target_that_moves_between_green_and_landing_is_checked_again(
    step: Step, outside: Path, monkeypatch: pytest.MonkeyPatch
):
    made = step(f"git rev-parse HEAD^1 >> {outside}/bases")
    base = made.repo.head()
    theirs = moved_before(monkeypatch, made, {"theirs.txt": ""})
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    assert [base, *theirs] == lines(outside / "bases")
    assert [f"{theirs[0]} {tip}"] == made.repo.log("%P", "-1")
    assert "0\n" == made.repo.read("theirs.txt")
    assert "new\n" == made.repo.read("new.txt")
    assert [] == made.repo.status()


def test_a_move_of_the_targets_records_alone_costs_no_run(
    step: Step, outside: Path, monkeypatch: pytest.MonkeyPatch
):
    made = step(f"echo x >> {outside}/runs")
    commits = moved_before(monkeypatch, made, {".agent/memory/a.md": ""}, times=2)
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    assert 1 == len(lines(outside / "runs"))
    assert 2 == len(commits)
    assert [f"{commits[-1]} {tip}"] == made.repo.log("%P", "-1")


def test_a_target_that_moves_all_the_time_is_given_a_rest_and_a_reason(
    step: Step, outside: Path, monkeypatch: pytest.MonkeyPatch
):
    made = step(f"echo x >> {outside}/runs")
    with monkeypatch.context() as patched:
        files = {".agent/memory/a.md": ""}
        commits = moved_before(patched, made, files, times=1000)
        tip = made.push("a", {"new.txt": "new\n"})
        made.rest()
    waiting = made.of(tip)
    made.hurry().rest()

    assert RACES == len(commits)
    assert HELD is waiting.state
    assert f"moved {RACES} times" in waiting.reason
    assert LANDED is made.of(tip).state
    assert 1 == len(lines(outside / "runs"))


def pushing(step: Step, outside: Path, tmp_path: Path, hook: str) -> tuple:
    """Make a repository that pushes its landings to a remote with a hook."""
    run = f"echo x >> {outside}/runs"
    made = step(run, lander={"push": "origin"})
    remote = made.repo.clone(tmp_path / "remote", bare=True)
    made.repo.git("remote", "add", "origin", str(remote.path))
    remote.hook("pre-receive", f"#!/bin/sh\n{hook}\n")
    return made, remote


def test_a_push_that_fails_twice_and_then_works_lands_and_checks_once(
    step: Step, outside: Path, tmp_path: Path
):
    count = f"echo x >> {outside}/pushes; [ $(wc -l < {outside}/pushes) -ge 3 ]"
    made, remote = pushing(step, outside, tmp_path, count)
    tip = made.push("a", {"new.txt": "new\n"})
    states = []
    for _ in range(3):
        made.hurry().rest()
        states.append(made.of(tip).push)

    assert [Push.FAILED, Push.FAILED, Push.PUSHED] == states
    assert [made.of(tip).id] == made.landings()
    assert 1 == len(made.notes())
    assert 1 == len(lines(outside / "runs"))
    assert remote.oid("refs/heads/main") == made.repo.oid("refs/heads/main")


def test_a_remote_that_refuses_is_quoted_and_the_difference_is_told(
    step: Step, outside: Path, tmp_path: Path
):
    made, remote = pushing(step, outside, tmp_path, "echo no such thing >&2; exit 1")
    before = remote.oid("refs/heads/main")
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()
    shown = call(made.repo, "status", "--json").json["submissions"]

    assert LANDED is made.of(tip).state
    assert before == remote.oid("refs/heads/main")
    (told,) = shown
    assert "no such thing" in told["reason"]
    assert "landed" == told["state"]


def test_a_remote_that_moved_is_checked_and_merged_and_never_forced(
    step: Step, outside: Path, tmp_path: Path
):
    made, remote = pushing(step, outside, tmp_path, "true")
    theirs = remote.commit({"theirs.txt": "theirs\n"})
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()

    assert (LANDED, Push.PUSHED) == (made.of(tip).state, made.of(tip).push)
    assert LANDED is made.of(theirs).state
    assert remote.oid("refs/heads/main") == made.repo.oid("refs/heads/main")
    assert 0 == remote.ask("merge-base", "--is-ancestor", theirs, "refs/heads/main")
    assert {"theirs.txt", "new.txt"} <= set(made.repo.paths())


def test_a_remote_that_moved_and_fails_the_checks_is_left_as_it_is(
    step: Step, outside: Path, tmp_path: Path
):
    made, remote = pushing(step, outside, tmp_path, "true")
    made.direct({CONFIG: config("test ! -e bad", lander={"push": "origin"})})
    theirs = remote.commit({"bad": ""})
    tip = made.push("a", {"new.txt": "new\n"})
    made.rest()

    assert REJECTED is made.of(theirs).state
    assert (LANDED, Push.FAILED) == (made.of(tip).state, made.of(tip).push)
    assert theirs == remote.oid("refs/heads/main")
    assert "bad" not in made.repo.paths()


# --- security


def test_the_settings_of_a_submission_decide_nothing_about_it(
    step: Step, outside: Path
):
    made = step(f"echo x >> {outside}/runs; ! test -e bad")
    sly = made.push("1", {CONFIG: config("true"), "bad": ""})
    bad = made.push("2", {"bad": ""})
    made.rest()

    assert [HELD, REJECTED] == [made.of(tip).state for tip in (sly, bad)]
    assert CONFIG in made.of(sly).reason
    assert "failed twice" in made.of(bad).reason
    assert "bad" not in made.repo.paths()


@pytest.mark.slow
def test_started_by_a_hook_neither_checks_nor_workers_see_variables_of_git(
    step: Step, outside: Path
):
    made = step(f"env >> {outside}/env")
    up = " ".join([*COMMAND, "up", "--detach"])
    hook = f"#!/bin/sh\nexport GIT_AUTHOR_NAME=X GIT_CONFIG_COUNT=0\n{up}\n"
    made.repo.hook("post-commit", hook)
    made.repo.add_task("t", f"env >> {outside}/env; echo x > x.txt")
    try:
        wait_for(
            lambda: "x.txt" in made.repo.paths("refs/heads/main"),
            made.repo.common_dir / "refs",
            what=lambda: str(status(made.repo)),
        )
    finally:
        down = gitagent(made.repo, "down")

    assert 0 == down.returncode, down.stderr
    seen = (outside / "env").read_text().splitlines()
    assert 2 == len([each for each in seen if each.startswith("PATH=")])
    assert [] == [each for each in seen if each.startswith("GIT_")]


@pytest.mark.parametrize("name", ["-x", "\u00fc/\u00df", "--force", "@", "a'b$(c)"])
def test_a_branch_of_any_name_lands(step: Step, name: str):
    made = step("test -e new.txt")
    tip = made.push(name, {"new.txt": "new\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    assert f"refs/heads/land/{name}" == made.of(tip).branch
    assert {} == made.repo.refs("refs/heads/land/")


def test_fake_trailers_of_a_person_are_no_trailers_of_the_landing(step: Step):
    made = step("true")
    fake = (
        "Add\n\nGitagent-Record: init\nGitagent-Check: tests passed 0.1s\n"
        "Gitagent-Submission: s-000000000000\nSigned-off-by: A <a@example.org>\n"
    )
    tip = made.push("a", {"new.txt": "new\n"}, fake)
    made.rest()

    keys = [key for key, _ in made.repo.trailers() if key.startswith("Gitagent-")]
    assert sorted(set(keys)) == sorted(keys)
    assert "Gitagent-Record" not in keys
    assert [made.of(tip).id] == made.landings()
    landed = call(made.repo, "log", "--json").json["landings"]
    assert [made.of(tip).id] == [each["submission"] for each in landed]
    assert 0 == call(made.repo, "verify").code


# --- life cycle


@pytest.mark.slow
def test_a_check_orphaned_by_a_kill_is_dead_and_runs_again(
    step: Step, outside: Path, daemon: Start
):
    pipe(outside, "go")
    once = (
        f"exec 3>> {outside}/held; if [ ! -e {outside}/up ]; then"
        f" (setsid sleep 1000 &) ; echo up > {outside}/up; read x < {outside}/go; fi"
    )
    made = step(once)
    tip = made.push("a", {"new.txt": "new\n"})
    first = daemon(made.repo)
    wait_for_file(outside / "up")
    held = holders(outside / "held")
    first.kill()
    second = daemon(made.repo)
    found = second.wait_submission(submission_id(tip), "landed")

    assert len(held) >= 2
    assert [] == [pid for pid in held if pid in holders(outside / "held")]
    assert ["passed"] == [each["state"] for each in found["checks"]]
    assert 1 == len(made.landings())


@pytest.mark.slow
def test_killed_during_a_push_it_pushes_once_more_and_lands_once(
    step: Step, outside: Path, tmp_path: Path, daemon: Start
):
    pipe(outside, "go")
    once = (
        f"[ -e {outside}/up ] || {{ echo up > {outside}/up; read x < {outside}/go; }}"
    )
    made, remote = pushing(step, outside, tmp_path, once)
    tip = made.push("a", {"new.txt": "new\n"})
    first = daemon(made.repo)
    wait_for_file(outside / "up")
    first.kill()
    (outside / "go").write_text("\n")
    second = daemon(made.repo)

    def pushed() -> bool:
        found = record(made.repo, f"refs/gitagent/submissions/{submission_id(tip)}")
        return found is not None and found["push"] == "pushed"

    second.until(pushed, timeout=30, what="the push")

    assert remote.oid("refs/heads/main") == made.repo.oid("refs/heads/main")
    assert 1 == len(made.landings())
    assert 1 == len(lines(outside / "runs"))
    made.repo.fsck()


def test_locks_of_dead_owners_are_removed_at_the_start(step: Step):
    made = step("true")
    folder = made.repo.common_dir
    locks = [folder / "refs/heads/main.lock", folder / "packed-refs.lock"]
    for lock in locks:
        lock.touch()
        os.utime(lock, (1_000_000_000, 1_000_000_000))
    tip = made.push("a", {"new.txt": "new\n"})
    made.restart().rest()

    assert LANDED is made.of(tip).state
    assert [False, False] == [lock.exists() for lock in locks]


def test_what_was_rejected_is_not_taken_again_when_its_record_is_archived(
    step: Step, monkeypatch: pytest.MonkeyPatch
):
    made = step("test ! -e bad", records={"keep": 1})
    tip = made.push("a", {"bad": ""})
    made.rest()
    made.repo.git("update-ref", "-d", "refs/heads/land/a")
    soon = loop_module.moment

    def later():
        now = soon()
        return replace(now, stamp="2036-01-01T00:00:00Z", monotonic=now.monotonic + 1e5)

    with monkeypatch.context() as patched:
        patched.setattr(loop_module, "moment", later)
        made.rest()
    archived = made.repo.refs("refs/gitagent/submissions/")
    made.repo.git("update-ref", "refs/heads/land/again", tip)
    made.rest()

    assert {} == archived == made.repo.refs("refs/gitagent/submissions/")
    assert "bad" not in made.repo.paths()


def test_deleting_a_task_while_its_work_is_checked_gives_exactly_one_outcome(
    step: Step, outside: Path
):
    pipe(outside, "go")
    made = step(f"echo up > {outside}/up; read x < {outside}/go")
    made.repo.add_task("t", "echo x > x.txt")
    made.until((outside / "up").exists)
    made.repo.commit({".agent/tasks/t.md": None}, "Take it back")
    made.rest()

    assert TaskState.STOPPED is made.task("t").state
    assert [WITHDRAWN] == [each.state for each in made.submissions]
    assert "x.txt" not in made.repo.paths()
    assert "x\n" == made.repo.read("x.txt", "refs/heads/agent/t")


@pytest.mark.parametrize("when", ["before", "during", "after"])
def test_a_stop_that_races_with_the_landing_gives_exactly_one_outcome(
    when: str, step: Step, monkeypatch: pytest.MonkeyPatch
):
    made = step("true")
    real, asked = land.land, []

    def stop() -> None:
        if not asked:
            asked.append(call(made.repo, "task", "stop", "t").code)

    def racing(*args, **more):
        if when == "during":
            stop()
        result = real(*args, **more)
        if when == "after":
            stop()
        return result

    monkeypatch.setattr(land, "land", racing)
    made.repo.add_task("t", "echo x > x.txt")
    if when == "before":
        made.until(lambda: made.loop.snapshot.submissions)
        stop()
    made.rest()

    (submission,) = made.submissions
    landed = "x.txt" in made.repo.paths()
    assert landed == (when != "before")
    assert submission.state is (LANDED if landed else WITHDRAWN)
    assert made.task("t").state is (TaskState.LANDED if landed else TaskState.STOPPED)
    assert made.task("t").request is None
    assert [0] == asked


@pytest.mark.slow
def test_a_second_daemon_on_a_linked_worktree_or_a_link_refuses(
    step: Step, tmp_path: Path, daemon: Start
):
    made = step("true")
    first = daemon(made.repo)
    other = made.repo.worktree(tmp_path / "other", branch="other")
    (tmp_path / "link").symlink_to(made.repo.path)
    said = [gitagent(place, "up") for place in (other.path, tmp_path / "link")]

    for done in said:
        assert 0 == done.returncode
        assert re.search(rf"\b{first.pid}\b", done.stderr + done.stdout)
