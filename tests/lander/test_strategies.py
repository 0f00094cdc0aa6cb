"""Landings by squash and by rebase, from the candidates to the target."""

import subprocess
from dataclasses import replace

import pytest

from gitagent.core.action import LandStep
from gitagent.core.layout import REMOTES
from gitagent.core.settings import Check, Lander, Settings, Strategy
from gitagent.files.message import trailers
from gitagent.lander import land as landing
from gitagent.lander import submit
from gitagent.lander.verify import verify
from tests.support.lander import Bench, bench, moment, task_record
from tests.support.repos import settings_text, task_text

BOTH = ("squash", "rebase")
TASK = ".agent/tasks/do.md"


@pytest.fixture(params=BOTH)
def made(request, tmp_path):
    with with_strategy(tmp_path, request.param) as each:
        yield each


def with_strategy(tmp_path, strategy, extra="", **lander):
    text = settings_text("true", f'[lander]\nstrategy = "{strategy}"\n{extra}')
    made = bench(tmp_path / "repo", {TASK: task_text(title="Do it")}, settings=text)
    return _Set(made, Lander(strategy=Strategy(strategy), **lander))


class _Set:
    def __init__(self, made, lander):
        self._made, self._lander = made, lander

    def __enter__(self):
        each = self._made.__enter__()
        check = (Check("tests", "true"),)
        each.settings = Settings(check=check, lander=self._lander)
        return each

    def __exit__(self, *how):
        return self._made.__exit__(*how)


def work(made: Bench, name: str, *changes, base="refs/heads/main"):
    """Commit each change on a branch of its own; return the tip."""
    tip = made.repo.oid(base)
    for n, files in enumerate(changes):
        ref = f"refs/heads/{name}"
        tip = made.repo.commit_at(ref, files, f"{name} {n}", parents=(tip,))
    return tip


def land_line(made: Bench, *tips, task=None):
    """Prepare a line of submissions, call the last candidate green, land them all."""
    submissions = [made.submit(tip, **({"task": task} if task else {})) for tip in tips]
    _, *candidates = made.line(*submissions)
    last = candidates[-1]
    ready = made.green(submissions[-1], last)
    record = None
    if task:
        blob = made.repo.oid(f"{made.target}:{TASK}")
        record = task_record(task, blob, "Do it")
    steps = tuple(
        LandStep(
            replace(each, checks=ready.checks, config=ready.config, task_blob=blob)
            if task
            else replace(each, checks=ready.checks, config=ready.config),
            candidate,
            record,
            last.product,
        )
        for each, candidate in zip(submissions, candidates, strict=True)
    )
    facts = (made.repository, made.objects, steps, made.settings, moment())
    result = landing.land(*facts)
    assert isinstance(result, landing.Landed)
    for each in submissions:
        made.settle(submit.find(made.objects, each.id))
    return submissions


def problems(made: Bench):
    found = verify(made.repository, made.objects, made.settings)
    return [each.text for each in found if each.problem]


def row(made: Bench, since):
    """Return the commits that were landed since, oldest first."""
    out = made.repo.git("rev-list", "--reverse", f"{since}..refs/heads/main")
    return [made.objects.commit(oid) for oid in out.split()]


def said(commit, key):
    return [value for name, value in trailers(commit.message) if name == key]


def test_a_line_lands_as_a_straight_history_that_proves_itself(made: Bench):
    before = made.target
    one = work(made, "one", {"a": "1"}, {"a": "2"})
    two = work(made, "two", {"b": "1"})

    first, second = land_line(made, one, two)
    commits = row(made, before)

    assert [] == problems(made)
    assert all(len(each.parents) == 1 for each in commits)
    ids = [name for each in commits for name in said(each, "Gitagent-Submission")]
    several = 2 if made.settings.lander.strategy is Strategy.REBASE else 1
    assert [first.id] * several + [second.id] == ids
    assert {"a", "b"} < set(made.repo.paths("refs/heads/main"))
    assert [one, two] == [tip for each in commits for tip in said(each, "Gitagent-Tip")]
    made.repo.fsck()


def test_note_and_checks_are_on_the_last_commit_of_a_submission(made: Bench):
    before = made.target
    (one,) = land_line(made, work(made, "one", {"a": "1"}, {"a": "2"}, {"a": "3"}))
    *below, last = row(made, before)

    assert [] == [value for each in below for value in said(each, "Gitagent-Check")]
    assert 1 == len(said(last, "Gitagent-Check"))
    assert any(one.id in path for path in made.repo.paths(last.oid, ".agent/landings"))
    for each in below:
        assert [] == made.repo.paths(each.oid, ".agent/landings")


def test_the_upper_part_of_a_stack_lands_after_the_lower_has_landed(made: Bench):
    lower = work(made, "lower", {"a": "1\n"}, {"a": "2\n"})
    land_line(made, lower)
    land_line(made, work(made, "since", {"a": "changed since\n"}))
    upper = work(made, "upper", {"b": "1\n"}, base=lower)

    land_line(made, upper)

    assert "changed since\n" == made.repo.read("a", made.target)
    assert "1\n" == made.repo.read("b", made.target)
    assert [] == problems(made)


def test_a_stack_lands_together(made: Bench):
    before = made.target
    lower = work(made, "lower", {"a": "1\n"}, {"a": "2\n"})
    upper = work(made, "upper", {"a": "3\n"}, base=lower)

    land_line(made, lower, upper)

    assert "3\n" == made.repo.read("a", made.target)
    several = 3 if made.settings.lander.strategy is Strategy.REBASE else 2
    assert several == len(row(made, before))
    assert [] == problems(made)


def test_what_came_before_in_a_stack_is_not_listed_again(tmp_path):
    with with_strategy(tmp_path, "squash") as made:
        lower = work(made, "lower", {"a": "1\n"}, {"a": "2\n"})
        upper = work(made, "upper", {"a": "3\n"}, {"a": "4\n"}, base=lower)
        land_line(made, lower, upper)
        message = made.objects.commit(made.target).message

    assert "- upper 0\n- upper 1\n" in message
    assert "- lower" not in message


def test_two_that_share_commits_land_together(made: Bench):
    shared = work(made, "shared", {"a": "1\n"})
    one = work(made, "one", {"a": "2\n"}, base=shared)
    two = work(made, "two", {"b": "1\n"}, base=shared)

    land_line(made, one, two)

    assert "2\n" == made.repo.read("a", made.target)
    assert [] == problems(made)


def test_a_branch_that_goes_on_after_it_has_landed_lands_again(made: Bench):
    first = work(made, "branch", {"a": "1\n"})
    land_line(made, first)
    second = work(made, "branch", {"a": "2\n"}, base=first)

    land_line(made, second)

    assert "2\n" == made.repo.read("a", made.target)


def test_what_the_target_has_by_content_has_nothing_to_land(made: Bench):
    land_line(made, work(made, "one", {"a": "1\n"}))
    same = made.repo.commit_at(
        "refs/heads/same", {"a": "1\n"}, parents=(made.repo.oid("refs/heads/main~1"),)
    )
    landed = work(made, "one", base="refs/heads/one")

    assert made.prepare(made.submit(same)).contained
    assert made.prepare(replace(made.submit(landed), id="s-1")).contained


def test_a_tasks_file_moves_with_the_last_commit(made: Bench):
    before = made.target
    land_line(made, work(made, "do", {"a": "1"}, {"a": "2"}), task="do")
    *below, last = row(made, before)

    assert all(TASK in made.repo.paths(each.oid) for each in below)
    assert ".agent/tasks/done/do.md" in made.repo.paths(last.oid)
    assert TASK not in made.repo.paths(last.oid)
    assert [] == problems(made)


def test_what_a_remote_has_is_merged(made: Bench):
    tip = work(made, "theirs", {"a": "1"})
    submission = made.submit(tip, branch=f"{REMOTES}origin")
    candidate = made.prepare(submission)

    made.land_ready(made.green(submission, candidate), candidate)

    assert tip == made.objects.commit(made.target).parents[1]


def test_every_strategy_lands_the_same_tree_of_products(tmp_path):
    trees = set()
    for strategy in Strategy:
        with with_strategy(tmp_path / strategy, strategy) as made:
            made.settings = replace(made.settings, check=(Check("tests", "true"),))
            one = work(made, "one", {"a": "1\n"}, {"d/e": "2\n"})
            two = work(made, "two", {"b": "1\n"}, {"b": None, "c": "2\n"})
            land_line(made, one, two)
            paths = made.repo.paths("refs/heads/main")
            kept = [path for path in paths if not path.startswith(".agent/")]
            trees.add(tuple((path, made.repo.read(path, "main")) for path in kept))

    assert 1 == len(trees)


def test_work_that_cannot_be_replayed_says_which_commit(tmp_path):
    with with_strategy(tmp_path, "rebase") as made:
        tip = work(made, "one", {"a": "1\n"}, {"a": None, "b": "1\n"})
        made.repo.commit_at("refs/heads/main", {"a": "2\n"})
        bad = made.objects.commit(tip).parents[0]

        candidate = made.prepare(made.submit(tip))

    assert bad[:12] in candidate.fault
    assert not candidate.product


@pytest.mark.parametrize("strategy", Strategy)
def test_signed_landings_are_verified_by_plain_git(tmp_path, strategy):
    key, signers = tmp_path / "key", tmp_path / "signers"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True
    )
    signers.write_text(f"* {key.with_suffix('.pub').read_text()}")
    with with_strategy(tmp_path, strategy, signing_key=str(key)) as made:
        before = made.target
        land_line(made, work(made, "one", {"a": "1"}, {"a": "2"}))
        commits = made.repo.git("rev-list", "--first-parent", f"{before}..main")

        for commit in commits.split():
            made.repo.git(
                "-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-commit", commit
            )  # fmt: skip
        made.repo.fsck()
