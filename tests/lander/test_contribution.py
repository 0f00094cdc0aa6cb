"""What a tip adds, when what it stands on has landed in another form."""

import random

import pytest

from gitagent.core.settings import Strategy
from gitagent.errors import UserError
from gitagent.git.merge import Merger, MergeResult
from gitagent.git.repository import discover
from gitagent.git.text import Person
from gitagent.lander import contribution as module
from gitagent.lander.contribution import (
    contribution,
    merge,
    merged_by,
    others,
    replayed,
    subjects,
)
from tests.support.repos import Repo

MAIN, WORK = "refs/heads/main", "refs/heads/work"
LINES = "".join(f"line {n}\n" for n in range(9))


def with_line(number, text):
    return LINES.replace(f"line {number}\n", f"{text}\n")


def land(repo, tip, files, ref=MAIN):
    """Commit what a landing of ``tip`` with one parent would be."""
    return repo.commit_at(ref, files, f"Land\n\nbody\n\nGitagent-Tip: {tip}\n")


def added(repo, base, tip, then=merge):
    found = discover(repo.path)
    with found.objects() as objects, Merger(found, objects) as merger:
        what = contribution(found, objects, base, tip)
        if then is merge:
            return merge(merger, what)
        return then(merger, objects, what)


def steps_of(merger, objects, what):
    return replayed(merger, objects, what, merge(merger, what).tree)


@pytest.fixture
def repo(tmp_path):
    return Repo.make(tmp_path / "r", {"a": LINES, "b": "1\n"}, bare=True)


@pytest.fixture
def stack(repo):
    """Give a repository, a lower tip that was landed by squash, and an upper one."""
    root = repo.oid(MAIN)
    one = repo.commit_at(WORK, {"a": with_line(2, "two")}, "one", parents=(root,))
    lower = repo.commit_at(WORK, {"a": with_line(2, "TWO")}, "lower")
    repo.commit_at(MAIN, {"b": "2\n"}, "meanwhile")
    land(repo, lower, {"a": with_line(2, "TWO")})
    repo.commit_at(MAIN, {"a": with_line(2, "changed since")}, "since")
    upper = repo.commit_at(WORK, {"c": "1\n"}, "upper", parents=(lower,))
    return repo, one, lower, upper


def test_an_upper_tip_adds_what_it_has_on_top_of_the_landed_one(stack):
    repo, _, lower, upper = stack

    result = added(repo, repo.oid(MAIN), upper)
    what = added(repo, repo.oid(MAIN), upper, lambda *known: known[2])

    assert ["a", "b", "c"] == repo.paths(result.tree)
    assert "changed since" in repo.read("a", result.tree)
    assert (lower,) == what.landed
    assert (upper,) == what.commits


def test_git_alone_would_see_a_conflict_there(stack):
    repo, _, _, upper = stack
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        result = merger.merge(repo.oid(MAIN), upper)

    assert MergeResult(None, ("a",)) == result


def test_an_upper_tip_is_replayed_without_what_has_landed(stack):
    repo, _, _, upper = stack

    steps = added(repo, repo.oid(MAIN), upper, steps_of)

    assert [upper] == [step.source for step in steps]


def test_the_newest_landed_tip_counts(stack):
    repo, one, lower, upper = stack
    land(repo, one, {"d": ""})

    result = added(repo, repo.oid(MAIN), upper)
    what = added(repo, repo.oid(MAIN), upper, lambda *known: known[2])

    assert "changed since" in repo.read("a", result.tree)
    assert (lower,) == what.landed


def test_what_a_landed_tip_and_another_share_counts(repo):
    root = repo.oid(MAIN)
    shared = repo.commit_at(WORK, {"a": with_line(2, "two")}, parents=(root,))
    one = repo.commit_at("refs/heads/one", {"a": with_line(2, "2")}, parents=(shared,))
    two = repo.commit_at("refs/heads/two", {"c": ""}, parents=(shared,))
    land(repo, one, {"a": with_line(2, "2")})

    result = added(repo, repo.oid(MAIN), two)
    what = added(repo, repo.oid(MAIN), two, lambda *known: known[2])

    assert with_line(2, "2") == repo.read("a", result.tree)
    assert (shared,) == what.landed
    assert (two,) == what.commits


def test_a_landed_tip_that_was_pruned_is_passed_over(repo):
    root = repo.oid(MAIN)
    tip = repo.commit_at(WORK, {"c": ""}, parents=(root,))
    land(repo, "1" * 40, {"d": ""})

    assert ["a", "b", "c", "d"] == repo.paths(added(repo, repo.oid(MAIN), tip).tree)


def test_a_trailer_that_is_no_object_id_is_passed_over(repo):
    root = repo.oid(MAIN)
    tip = repo.commit_at(WORK, {"c": ""}, parents=(root,))
    land(repo, "--all", {"d": ""})

    assert ["a", "b", "c", "d"] == repo.paths(added(repo, repo.oid(MAIN), tip).tree)


def test_two_landed_tips_that_were_merged_count_both(repo):
    root = repo.oid(MAIN)
    one = repo.commit_at(WORK, {"a": with_line(1, "one")}, parents=(root,))
    two = repo.commit_at("refs/heads/two", {"b": "two\n"}, parents=(root,))
    both = {"a": with_line(1, "one"), "b": "two\n"}
    tip = repo.commit_at(WORK, {**both, "c": ""}, parents=(one, two))
    land(repo, one, {"a": with_line(1, "one")})
    land(repo, two, {"b": "two\n"})
    repo.commit_at(MAIN, {"a": with_line(1, "ONE"), "b": "TWO\n"})

    result = added(repo, repo.oid(MAIN), tip)

    assert ["a", "b", "c"] == repo.paths(result.tree)
    assert "TWO\n" == repo.read("b", result.tree)


def test_a_tip_that_has_merged_the_landing_needs_nothing_told(stack):
    repo, _, _, upper = stack
    merged = repo.commit_at(
        WORK, {"a": with_line(2, "TWO"), "b": "2\n"}, parents=(upper, repo.oid(MAIN))
    )
    tip = repo.commit_at(WORK, {"a": with_line(2, "mine")}, parents=(merged,))

    result = added(repo, repo.oid(MAIN), tip)

    assert with_line(2, "mine") == repo.read("a", result.tree)


def test_what_landed_before_the_target_was_merged_is_not_replayed_again(stack):
    repo, _, lower, upper = stack
    files = {"a": with_line(2, "changed since"), "b": "2\n"}
    repo.commit_at(WORK, files, "merge", parents=(upper, repo.oid(MAIN)))
    tip = repo.commit_at(WORK, {"d": "1\n"}, "on top")
    repo.commit_at(MAIN, {"a": with_line(2, "changed again")})

    what = added(repo, repo.oid(MAIN), tip, lambda *known: known[2])
    steps = added(repo, repo.oid(MAIN), tip, steps_of)

    assert () == what.landed
    assert (upper, tip) == what.commits
    assert [upper, tip] == [step.source for step in steps]
    assert lower not in what.commits


def test_what_lands_before_it_is_no_part_of_it(repo):
    root = repo.oid(MAIN)
    lower = repo.commit_at(WORK, {"c": "1\n"}, parents=(root,))
    upper = repo.commit_at(WORK, {"d": "1\n"})
    found = discover(repo.path)

    with found.objects() as objects:
        what = contribution(found, objects, root, upper, (lower,))

    assert (upper,) == what.commits


def test_a_landed_tip_itself_adds_nothing(stack):
    repo, _, lower, _ = stack
    base = repo.oid(MAIN)

    assert MergeResult(repo.oid(f"{base}^{{tree}}")) == added(repo, base, lower)
    assert () == added(repo, base, lower, steps_of)


def test_a_tip_on_a_step_above_the_target_knows_the_landings_below(stack):
    repo, _, _, upper = stack
    other = repo.commit_at("refs/heads/o", {"e": ""}, parents=(repo.oid(MAIN),))
    above = repo.commit_at(
        "refs/heads/step", {"e": ""}, "step", parents=(repo.oid(MAIN), other)
    )

    result = added(repo, above, upper)

    assert ["a", "b", "c", "e"] == repo.paths(result.tree)


def test_a_trailer_for_a_tip_that_is_not_within_means_nothing(repo):
    root = repo.oid(MAIN)
    other = repo.commit_at("refs/heads/o", {"e": ""}, parents=(root,))
    land(repo, other, {"e": ""})
    tip = repo.commit_at(WORK, {"c": ""}, parents=(root,))

    what = added(repo, repo.oid(MAIN), tip, lambda *known: known[2])

    assert () == what.landed


def test_a_merge_of_the_target_into_the_work_is_left_out_of_a_replay(repo):
    root = repo.oid(MAIN)
    one = repo.commit_at(WORK, {"c": "1\n"}, parents=(root,))
    target = repo.commit_at(MAIN, {"b": "2\n"})
    repo.commit_at(WORK, {"b": "2\n"}, "merge", parents=(one, target))
    two = repo.commit_at(WORK, {"c": "2\n"})
    repo.commit_at(MAIN, {"d": "1\n"})

    steps = added(repo, repo.oid(MAIN), two, steps_of)

    assert [one, two] == [step.source for step in steps]


def test_a_merge_that_was_more_than_a_merge_is_not_replayed(repo):
    root = repo.oid(MAIN)
    one = repo.commit_at(WORK, {"c": "1\n"}, parents=(root,))
    target = repo.commit_at(MAIN, {"b": "2\n"})
    files = {"b": "2\n", "slipped-in": "1\n"}
    tip = repo.commit_at(WORK, files, "merge", parents=(one, target))

    with pytest.raises(UserError):
        added(repo, repo.oid(MAIN), tip, steps_of)


def test_a_commit_that_does_not_apply_by_itself_is_named(repo):
    root = repo.oid(MAIN)
    bad = repo.commit_at(WORK, {"a": with_line(3, "mine")}, "bad one", parents=(root,))
    tip = repo.commit_at(WORK, {"a": LINES}, "taken back")
    repo.commit_at(MAIN, {"a": with_line(3, "theirs")})

    with pytest.raises(UserError) as refused:
        added(repo, repo.oid(MAIN), tip, steps_of)

    assert bad[:12] in refused.value.message
    assert "bad one" in refused.value.message


def test_more_commits_than_the_limit_are_not_replayed(repo, monkeypatch):
    monkeypatch.setattr(module, "COMMITS", 1)
    repo.commit_at(WORK, {"c": "1\n"}, parents=(repo.oid(MAIN),))
    tip = repo.commit_at(WORK, {"c": "2\n"})

    with pytest.raises(UserError):
        added(repo, repo.oid(MAIN), tip, steps_of)


def test_several_commits_are_listed_and_their_authors_named(repo):
    ann, bob = "Ann <ann@example.org>", "Bob <BOB@example.org>"
    root = repo.oid(MAIN)
    repo.commit_at(WORK, {"c": "1"}, "first\n\nwords", parents=(root,), author=ann)
    repo.commit_at(WORK, {"c": "2"}, "Gitagent-Tip: x", author=bob)
    tip = repo.commit_at(WORK, {"c": "3"}, "third", author=ann)
    me = Person("Ann", "ANN@example.org")

    listed = added(
        repo, root, tip, lambda _, objects, what: subjects(objects, what)
    ).split("\n")
    who = added(repo, root, tip, lambda _, objects, what: others(objects, what, me))

    assert ["- first", "- Gitagent-Tip: x", "- third"] == listed
    assert (("Co-authored-by", "Bob <BOB@example.org>"),) == who


def test_one_commit_is_not_listed(repo):
    tip = repo.commit_at(WORK, {"c": "1"}, parents=(repo.oid(MAIN),))

    assert not added(
        repo, repo.oid(MAIN), tip, lambda _, objects, what: subjects(objects, what)
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_strategy_decides_the_form_and_not_the_content(tmp_path, seed):
    """Random branches on each other, landed one after another in each way."""
    draw = random.Random(seed)  # noqa: S311
    files = {f"{d}/{n}": LINES for d in "de" for n in range(3)}
    repo = Repo.make(tmp_path / "r", files, bare=True)
    targets = {each: repo.oid(MAIN) for each in ("merge", "squash", "rebase")}
    tips, outcomes = [repo.oid(MAIN)], []
    for n in range(10):
        parents = [draw.choice(tips[-4:])]
        if draw.random() < 0.25:
            parents += {draw.choice(tips[-4:])} - set(parents)
        ref = f"refs/heads/b{n}"
        tip = repo.commit_at(ref, _small(draw), f"c{n}", parents=tuple(parents))
        tips.append(tip)
        if draw.random() < 0.6:
            made = {each: trial(repo, each, targets[each], tip) for each in targets}
            if made["rebase"] is None:
                continue
            outcomes.append(made["merge"])
            assert 1 == len(set(made.values()))
            for each, tree in made.items():
                if isinstance(tree, str):
                    landed = put(repo, each, targets[each], tip, tree)
                    targets[each] = landed

    assert any(isinstance(each, str) for each in outcomes)


def trial(repo, strategy, base, tip):
    """Return the tree that landing gives, the conflicts, or None: not replayable."""
    found = discover(repo.path)
    with found.objects() as objects, Merger(found, objects) as merger:
        try:
            facts = (found, merger, objects, base, tip)
            merged = merged_by(Strategy(strategy), *facts)
        except UserError:
            return None
    return merged.tree or merged.conflicts


def put(repo, strategy, base, tip, tree):
    """Write a landing commit of a tree."""
    parents = ["-p", base] + (["-p", tip] if strategy == "merge" else [])
    who = ("-c", "user.name=T", "-c", "user.email=t@x")
    message = f"Land\n\nIt.\n\nGitagent-Tip: {tip}\n"
    return repo.git(*who, "commit-tree", *parents, "-m", message, tree)


def _small(draw):
    path = f"{draw.choice('de')}/{draw.randrange(3)}"
    text = with_line(draw.randrange(9), f"new {draw.randrange(99)}")
    return draw.choice(({path: text}, {path: text}, {f"{path}-new": text}))


@pytest.mark.parametrize("seed", range(6))
def test_git_merges_and_squashes_to_the_same_tree_in_a_worktree(tmp_path, seed):
    """Submodules, links, binaries, modes, renamed folders, attributes, criss-cross."""
    draw = random.Random(seed)  # noqa: S311
    repo = Repo.make(tmp_path / "r", _start())
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},sub")
    repo.git("commit", "-q", "-m", "sub")
    tips = [repo.head()]
    for n in range(8):
        parents = [draw.choice(tips[-3:])]
        if draw.random() < 0.3:
            parents += {draw.choice(tips[-4:])} - set(parents)
        ref = f"refs/heads/b{n}"
        tips.append(repo.commit_at(ref, _change(draw), f"c{n}", parents=tuple(parents)))
    pairs = [tuple(draw.sample(tips[-5:], 2)) for _ in range(4)]
    there = repo.worktree(tmp_path / "w")

    for base, tip in pairs:
        expected = [in_worktree(there, base, tip, how) for how in ((), ("--squash",))]
        result = added(repo, base, tip)

        assert [result.tree or result.conflicts] * 2 == expected


def in_worktree(there, base, tip, how):
    """Return the tree that git-merge(1) makes, or the paths in conflict."""
    there.git("reset", "-q", "--hard")
    there.git("clean", "-qffdx")
    there.git("checkout", "-q", "--detach", base)
    failed = there.ask("merge", "-q", "--no-commit", *(how or ("--no-ff",)), tip)
    if failed:
        unmerged = there.git("ls-files", "-u", "-z", "--format=%(path)").split("\0")
        return tuple(sorted({_original(path) for path in unmerged if path}))
    return there.git("write-tree")


def _original(path):
    return path.rpartition("~")[0] or path


def _start():
    files = {f"d/{n}": LINES + f"{n}\n" for n in range(4)}
    return {
        **files,
        "link@": "d/0",
        "run": "#!/bin/sh\n",
        "bin": b"\0" * 50,
        "log": LINES,
        "raw": LINES,
        ".gitattributes": "log merge=union\nraw -text -merge\n",
    }


def _change(draw):
    n = draw.randrange(4)
    text = with_line(draw.randrange(9), f"new {draw.randrange(3)}")
    moved = {f"d/{k}": None for k in range(4)} | {
        f"e/{k}": LINES + f"{k}\n" for k in range(4)
    }
    return draw.choice(
        (
            {f"d/{n}": text + f"{n}\n"},
            {f"d/{n}": text + f"{n}\n"},
            {f"d/new{n}": text},
            {"log": text},
            {"raw": text},
            {"run*": "#!/bin/sh\n"},
            {"bin": b"\0" * 50 + bytes([n])},
            {"link@": f"d/{n}"},
            {"run": None},
            moved,
            {f"e/{n}": text},
        )
    )
