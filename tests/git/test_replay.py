"""Commits made anew in memory: as git-rebase(1) makes them in a worktree."""

import random

import pytest

from gitagent.errors import GitError, UserError
from gitagent.git.merge import Merger
from gitagent.git.replay import Step, Stuck, beyond, replay, sides
from gitagent.git.repository import discover
from tests.support.repos import Repo

MAIN, WORK = "refs/heads/main", "refs/heads/work"
LINES = "".join(f"line {n}\n" for n in range(9))


def onto(repo, base, tip):
    """Replay the tip's own commits onto the base."""
    found = discover(repo.path)
    with found.objects() as objects, Merger(found, objects) as merger:
        own = sides(found, base, tip).own
        plain = [commit for commit, parents in own if len(parents) < 2]
        return replay(merger, objects, base, plain)


@pytest.fixture
def forked(tmp_path):
    """Give a repository whose target went on after the work had begun."""
    repo = Repo.make(tmp_path / "r", {"a": LINES, "b": "1\n"})
    root = repo.head()
    repo.commit_at(MAIN, {"main": "1\n"})
    repo.git("reset", "-q", "--hard")
    return repo, root


def test_each_commit_is_made_anew_in_order(forked):
    repo, root = forked
    one = repo.commit_at(WORK, {"a": LINES.replace("3", "three")}, parents=(root,))
    two = repo.commit_at(WORK, {"c": "2\n"})

    steps = onto(repo, repo.head(), two)

    assert [one, two] == [step.source for step in steps]
    assert [["a", "b", "main"], ["a", "b", "c", "main"]] == [
        repo.paths(step.tree) for step in steps
    ]


def test_a_conflict_names_its_commit_and_the_paths(forked):
    repo, root = forked
    repo.commit_at(WORK, {"b": "2\n"}, parents=(root,))
    bad = repo.commit_at(WORK, {"main": "2\n"})
    last = repo.commit_at(WORK, {"d": "2\n"})

    assert Stuck(bad, ("main",)) == onto(repo, repo.head(), last)


def test_what_changes_nothing_there_is_left_out(forked):
    repo, root = forked
    repo.commit_at(WORK, {"main": "1\n"}, parents=(root,))
    repo.commit_at(WORK, {}, "nothing")
    tip = repo.commit_at(WORK, {"c": "1\n"})

    steps = onto(repo, repo.head(), tip)

    assert [tip] == [step.source for step in steps]


def test_a_tip_whose_changes_are_all_there_has_no_step(forked):
    repo, root = forked
    tip = repo.commit_at(WORK, {"main": "1\n"}, parents=(root,))

    assert () == onto(repo, repo.head(), tip)


def test_a_commit_without_parents_is_all_that_it_holds(forked):
    repo, _ = forked
    tip = repo.commit_at(WORK, {"c": "1\n"}, parents=())
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        (step,) = replay(merger, objects, repo.head(), [tip])

    assert ["a", "b", "c", "main"] == repo.paths(step.tree)


def test_onto_what_it_was_made_on_a_commit_is_itself(forked):
    repo, root = forked
    tip = repo.commit_at(WORK, {"c": "1\n"}, parents=(root,))

    assert (Step(tip, repo.oid(f"{tip}^{{tree}}")),) == onto(repo, root, tip)


def test_a_commit_that_no_checkout_can_hold_is_refused(forked):
    repo, root = forked
    blob = repo.oid("HEAD:b")
    tree = repo.git("mktree", stdin=f"100644 blob {blob}\t.GIT\n".encode())
    bad = repo.git("commit-tree", "-p", root, "-m", "bad", tree)
    good = repo.git("commit-tree", "-p", bad, "-m", "mended", f"{root}^{{tree}}")

    with pytest.raises(UserError):
        onto(repo, repo.head(), good)


def test_sides_are_told_apart(forked):
    repo, root = forked
    one = repo.commit_at(WORK, {"c": "1\n"}, parents=(root,))
    merged = repo.commit_at(WORK, {"main": "1\n"}, parents=(one, repo.head()))
    tip = repo.commit_at(WORK, {"d": "1\n"})
    target = repo.commit_at(MAIN, {"e": "1\n"})
    beside = repo.commit_at("refs/heads/side", {"f": "1\n"}, parents=(root,))
    top = repo.commit_at(MAIN, {"f": "1\n"}, parents=(target, beside))

    both = sides(discover(repo.path), top, tip)

    assert [one, merged, tip] == [commit for commit, _ in both.own]
    assert (top, target) == both.below


def test_what_is_beyond_known_commits_passes_over_those_that_are_gone(forked):
    repo, root = forked
    one = repo.commit_at(WORK, {"c": "1\n"}, parents=(root,))
    tip = repo.commit_at(WORK, {"d": "1\n"})
    beside = repo.commit_at("refs/heads/side", {"f": "1\n"}, parents=(one,))

    found = beyond(discover(repo.path), tip, [root, "1" * 40, beside])

    assert ((tip, (one,)),) == found


def test_an_object_that_is_not_here_is_an_error(forked):
    repo, _ = forked

    with pytest.raises(GitError):
        sides(discover(repo.path), repo.head(), "1" * 40)


@pytest.mark.parametrize("seed", range(6))
def test_git_rebase_in_a_worktree_makes_the_same_trees(tmp_path, seed):
    draw = random.Random(seed)  # noqa: S311
    repo = Repo.make(
        tmp_path / "r", {f"{d}/{n}": LINES for d in "xy" for n in range(3)}
    )
    root = repo.head()
    for n in range(draw.randrange(1, 5)):
        repo.commit_at(MAIN, change(draw), f"main {n}")
    for n in range(draw.randrange(1, 7)):
        parents = (repo.ref(WORK) or root,)
        made = repo.commit_at(WORK, change(draw), f"work {n}", parents=parents)
        if draw.random() < 0.2:
            side = repo.commit_at("refs/heads/side", change(draw), parents=parents)
            repo.commit_at(WORK, {}, "both", parents=(made, side))
    main, tip = repo.oid(MAIN), repo.oid(WORK)

    expected = rebased(repo, main, tip, tmp_path / "w")
    made = onto(repo, main, tip)

    if isinstance(made, Stuck):
        assert expected == list(made.conflicts)
    else:
        assert expected == [step.tree for step in made]


def rebased(repo, main, tip, path):
    """Return the trees that git-rebase(1) makes, or the paths that it is stuck in."""
    there = repo.worktree(path, at=tip)
    how = ("--reapply-cherry-picks", "--empty=drop", "--no-keep-empty")
    if there.ask("rebase", "-q", *how, main):
        return sorted(there.git("diff", "--name-only", "--diff-filter=U").splitlines())
    trees = there.git("log", "--reverse", "--format=%T", f"{main}..HEAD").splitlines()
    return trees if there.head() != main else []


def change(draw):
    path = f"{draw.choice('xy')}/{draw.randrange(3)}"
    rows = LINES.splitlines(keepends=True)
    rows[draw.randrange(len(rows))] = f"{draw.randrange(3)}\n"
    text = "".join(rows)
    return draw.choice(
        (
            {path: text},
            {path: text},
            {path: text},
            {f"{path}*": text},
            {path: None},
            {path: None, f"z/{path}": text},
            {f"x/new{draw.randrange(3)}": text},
        )
    )
