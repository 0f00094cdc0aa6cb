"""Many merges in a row: one process or one each, the same answer."""

import os
import random
import signal
import tempfile

import pytest

from gitagent.errors import GitError
from gitagent.git import merge as module
from gitagent.git.merge import Merger, MergeResult, merge
from gitagent.git.repository import discover
from tests.support.repos import Repo

MAIN = "refs/heads/main"
ABSENT = "1" * 40


@pytest.fixture(autouse=True)
def _heard(monkeypatch):
    monkeypatch.setattr(module, "_mute", False)


@pytest.fixture
def git_that_hangs(tmp_path, monkeypatch):
    """Put a git on PATH that reads merges from its input and never answers."""
    real = os.environ["PATH"]
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\nPATH="{real}"\nfor word do\n'
        '  if [ "$word" = --stdin ]; then exec cat >/dev/null; fi\n'
        'done\nexec git "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{real}")


def commits(repo, *changes, base):
    return [
        repo.commit_at(f"refs/heads/b{n}", each, parents=(base,))
        for n, each in enumerate(changes)
    ]


def both_ways(repo, pairs, **how):
    """Merge every pair by one process, and again by a process each."""
    found = discover(repo.path)
    with found.objects() as objects:
        with Merger(found, objects) as one:
            together = [one.merge(*pair, **how) for pair in pairs]
            assert module.LIVES == one._lives
        with Merger(found, objects) as other:
            other._lives = 0
            apart = [other.merge(*pair, **how) for pair in pairs]
            assert other._talker is None
    return together, apart


def test_one_process_answers_many_merges(tmp_path):
    repo = Repo.make(tmp_path / "r", {"a": "1\n", "b": "1\n"}, bare=True)
    base = repo.oid(MAIN)
    tips = commits(repo, {"a": "2\n"}, {"b": "2\n"}, {"a": "3\n"}, base=base)
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        first = merger.merge(tips[0], tips[1])
        child = merger._talker
        second = merger.merge(tips[0], tips[2])

        assert child is merger._talker is not None
    assert "2\n" == repo.read("b", first.tree)
    assert MergeResult(None, ("a",)) == second


def test_other_attributes_of_the_base_hold_from_that_merge_on(tmp_path):
    repo = Repo.make(tmp_path / "r", {"log": "1\n"}, bare=True)
    base = repo.oid(MAIN)
    plain, tip = commits(repo, {"log": "1\n2\n"}, {"log": "1\n3\n"}, base=base)
    union = repo.commit_at(
        MAIN, {".gitattributes": "log merge=union\n"}, parents=(plain,)
    )
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        results = [merger.merge(each, tip) for each in (plain, union, plain)]

    assert [True, False, True] == [result.tree is None for result in results]


def test_a_process_that_died_is_made_up_for(tmp_path):
    repo = Repo.make(tmp_path / "r", {"a": "1\n", "b": "1\n"}, bare=True)
    tips = commits(repo, {"a": "2\n"}, {"b": "2\n"}, base=repo.oid(MAIN))
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        before = merger.merge(*tips)
        os.kill(merger._talker._child.pid, signal.SIGKILL)
        after = merger.merge(*tips)

    assert before == after != MergeResult(None)


@pytest.mark.usefixtures("git_that_hangs")
def test_a_git_that_answers_nothing_at_once_is_given_one_merge_a_process(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "PROBE_S", 0.2)
    repo = Repo.make(tmp_path / "r", {"a": "1\n", "b": "1\n"}, bare=True)
    tips = commits(repo, {"a": "2\n"}, {"b": "2\n"}, base=repo.oid(MAIN))
    found = discover(repo.path)

    with found.objects() as objects:
        result = merge(found, objects, *tips)

    assert "2\n" == repo.read("b", result.tree)
    assert module._mute


def test_a_merge_that_takes_too_long_is_an_error(tmp_path, monkeypatch):
    repo = Repo.make(tmp_path / "r", {"a": "1\n", "b": "1\n"}, bare=True)
    tips = commits(repo, {"a": "2\n"}, {"b": "2\n"}, base=repo.oid(MAIN))
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        merger.merge(*tips)
        child = merger._talker._child
        os.kill(child.pid, signal.SIGSTOP)
        monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
        monkeypatch.setattr("gitagent.host.talker.GRACE_S", 0.1)
        with pytest.raises(GitError):
            merger.merge(*tips)

    assert child.returncode is not None


def test_an_error_of_one_merge_leaves_the_next_as_it_is(tmp_path):
    repo = Repo.make(tmp_path / "r", {"a": "1\n"}, bare=True)
    base = repo.oid(MAIN)
    tips = commits(repo, {"a": "2\n"}, {"b": "2\n"}, base=base)
    alone = repo.commit_at("refs/heads/alone", {"z": "1"}, parents=())
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        with pytest.raises(GitError):
            merger.merge(tips[0], ABSENT)
        assert MergeResult(None) == merger.merge(tips[0], alone)
        result = merger.merge(*tips)

    assert ["a", "b"] == repo.paths(result.tree)


def test_a_given_common_tree_decides_what_each_side_changed(tmp_path):
    text = "".join(f"{n}\n" for n in range(9))
    repo = Repo.make(tmp_path / "r", {"a": text}, bare=True)
    (lower,) = commits(repo, {"a": text.replace("4", "four")}, base=repo.oid(MAIN))
    upper = repo.commit_at("refs/heads/upper", {"b": "1\n"}, parents=(lower,))
    squashed = repo.commit_at(MAIN, {"a": text.replace("4", "FOUR")})
    found = discover(repo.path)

    with found.objects() as objects:
        plain = merge(found, objects, squashed, upper)
        result = merge(found, objects, squashed, upper, common=lower)
        trees = [objects.commit(each).tree for each in (squashed, upper, lower)]
        again = merge(found, objects, trees[0], trees[1], common=trees[2])

    assert MergeResult(None, ("a",)) == plain
    assert result == again
    assert text.replace("4", "FOUR") == repo.read("a", result.tree)
    assert ["a", "b"] == repo.paths(result.tree)


def test_commits_given_as_contained_are_taken_for_merged(tmp_path):
    repo = Repo.make(tmp_path / "r", {"a": "1\n", "b": "1\n"}, bare=True)
    root = repo.oid(MAIN)
    one, two = commits(repo, {"a": "one\n"}, {"b": "two\n"}, base=root)
    both = {"a": "one\n", "b": "two\n"}
    tip = repo.commit_at("refs/heads/t", {**both, "c": ""}, parents=(one, two))
    landed = repo.commit_at(MAIN, {"a": "ONE\n", "b": "TWO\n"}, parents=(root,))
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        plain = merger.merge(landed, tip)
        result = merger.merge(landed, tip, contained=(one, two))

    assert MergeResult(None, ("a", "b")) == plain
    assert ["a", "b", "c"] == repo.paths(result.tree)
    assert "ONE\n" == repo.read("a", result.tree)


def test_without_a_folder_for_its_files_a_merge_is_an_error(tmp_path, monkeypatch):
    repo = Repo.make(tmp_path / "r", {"a": "1\n"}, bare=True)
    tips = commits(repo, {"b": "2\n"}, {"c": "2\n"}, base=repo.oid(MAIN))
    found = discover(repo.path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

    with (
        found.objects() as objects,
        Merger(found, objects) as merger,
        pytest.raises(GitError),
    ):
        merger.merge(*tips)


def test_what_a_merge_needs_beside_the_repository_is_not_left_in_it(tmp_path):
    repo = Repo.make(tmp_path / "r", {"a": "1\n"}, bare=True)
    tips = commits(repo, {"b": "2\n"}, {"c": "2\n"}, base=repo.oid(MAIN))
    found = discover(repo.path)

    with found.objects() as objects, Merger(found, objects) as merger:
        merger.merge(tips[0], tips[1], common=repo.oid(MAIN))
        place = merger._place

    listed = repo.git("cat-file", "--batch-check", "--batch-all-objects")
    assert 3 == listed.count(" commit ")
    assert not place.exists()


@pytest.mark.parametrize("how", [{}, {"object_format": "sha256"}], ids=["", "sha256"])
def test_a_common_commit_works_in_every_object_format(tmp_path, how):
    repo = Repo.make(tmp_path / "r", {"a": "1\n"}, bare=True, **how)
    base = repo.oid(MAIN)
    tips = commits(repo, {"b": "2\n"}, {"c": "2\n"}, base=base)

    together, apart = both_ways(repo, [tips], common=base)

    assert together == apart
    assert ["a", "b", "c"] == repo.paths(together[0].tree)


@pytest.mark.parametrize("seed", range(4))
def test_one_process_answers_as_a_process_for_each_merge_does(tmp_path, seed):
    draw = random.Random(seed)  # noqa: S311
    repo = Repo.make(tmp_path / "r", bare=True)
    lines = [f"line {n}\n" for n in range(12)]
    files = {f"{d}/{n}": "".join(lines) for d in "xyz" for n in range(3)}
    root = repo.commit_at(MAIN, {**files, ".gitattributes": "x/0 merge=union\n"})
    tips = [root]
    for n in range(14):
        parents = draw.sample(tips, min(len(tips), draw.choice((1, 1, 2))))
        tips.append(
            repo.commit_at(f"refs/heads/t{n}", change(draw, lines), parents=parents)
        )
    pairs = [tuple(draw.sample(tips, 2)) for _ in range(30)]

    together, apart = both_ways(repo, pairs)

    assert together == apart
    assert {True, False} == {result.tree is None for result in together}


def change(draw, lines):
    """Return a change: of a line, a mode, a kind, a folder's name, or a deletion."""
    path = f"{draw.choice('xyz')}/{draw.randrange(3)}"
    new = list(lines)
    new[draw.randrange(len(new))] = f"{draw.randrange(5)}\n"
    text = "".join(new)
    return draw.choice(
        (
            {path: text},
            {path: text},
            {f"{path}*": text},
            {path: None},
            {path: None, f"w/{path}": text},
            {path: None, f"{path}/deep": "1\n"},
            {path: b"\0" + text.encode()},
            {path: None, f"{path}@": "elsewhere"},
            {f"ü {draw.randrange(9)}\n": text},
            {".gitattributes": f"{path} merge=union\n"},
        )
    )
