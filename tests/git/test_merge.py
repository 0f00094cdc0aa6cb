"""Merges in memory: git's own, whatever the configuration says."""

import os

import pytest

from gitagent.errors import GitError
from gitagent.git.merge import MergeResult, merge
from gitagent.git.merge_answer import conflict_paths
from gitagent.git.repository import discover
from tests.support.repos import Repo

MAIN, SIDE = "refs/heads/main", "refs/heads/side"
ABSENT = "1" * 40


def fork(tmp_path, base, ours, theirs, **how):
    """Make ``base`` and two commits on top of it; return repository and both tips."""
    repo = Repo.make(tmp_path / "fork", bare=True, **how)
    root = repo.commit_at(MAIN, base, "base")
    tip = repo.commit_at(SIDE, theirs, "theirs", parents=(root,))
    return repo, repo.commit_at(MAIN, ours, "ours"), tip


def merged(repo, base, tip):
    found = discover(repo.path)
    with found.objects() as objects:
        return merge(found, objects, base, tip)


def test_changes_to_different_files_come_together(tmp_path):
    repo, base, tip = fork(tmp_path, {"a": "1", "b": "1"}, {"a": "2"}, {"b": "2"})

    result = merged(repo, base, tip)

    assert result.conflicts == ()
    assert repo.read("a", result.tree) == "2"
    assert repo.read("b", result.tree) == "2"


def test_a_tip_that_contains_the_base_gives_its_own_tree(repo):
    tip = repo.commit({"a": "1"}, branch="side")

    assert MergeResult(repo.oid(f"{tip}^{{tree}}")) == merged(repo, repo.head(), tip)


def test_the_same_merge_gives_the_same_tree(tmp_path):
    repo, base, tip = fork(tmp_path, {"a": "1"}, {"b": "2"}, {"c": "2"})

    assert merged(repo, base, tip) == merged(repo, base, tip)


def test_a_text_conflict_is_a_value_with_its_path(tmp_path):
    repo, base, tip = fork(tmp_path, {"a": "1\n"}, {"a": "2\n"}, {"a": "3\n"})

    assert MergeResult(None, ("a",)) == merged(repo, base, tip)


def test_sha256_repositories_merge(tmp_path):
    repo, base, tip = fork(
        tmp_path, {"a": "1"}, {"b": "1"}, {"c": "1"}, object_format="sha256"
    )

    result = merged(repo, base, tip)

    assert 64 == len(result.tree)
    assert ["a", "b", "c"] == repo.paths(result.tree)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param({"b": b"\0"}, {"b": b"\0a"}, {"b": b"\0b"}, ("b",), id="binary"),
        pytest.param({}, {"l@": "x"}, {"l": "y"}, ("l",), id="link or file"),
        pytest.param({}, {"x": "1"}, {"x*": "2"}, ("x",), id="mode and content"),
        pytest.param({"a": "1"}, {"a": "2"}, {"a": None}, ("a",), id="modify/delete"),
        pytest.param(
            {"a": "1"}, {"a": "2"}, {"a": None, "a/b": "3"}, ("a",), id="file/folder"
        ),
        pytest.param(
            {"ü/ß": "1\n"}, {"ü/ß": "2\n"}, {"ü/ß": "3\n"}, ("ü/ß",), id="non-ASCII"
        ),
        pytest.param(
            {"a\nb": "1\n"}, {"a\nb": "2\n"}, {"a\nb": "3\n"}, ("a\nb",), id="newline"
        ),
        pytest.param({"-x": "1"}, {"-x": "2"}, {"-x": "3"}, ("-x",), id="dash"),
    ],
)
def test_conflicts_of_every_kind_name_the_path(tmp_path, base, ours, theirs, expected):
    repo, ours, theirs = fork(tmp_path, {"keep": "", **base}, ours, theirs)

    assert MergeResult(None, expected) == merged(repo, ours, theirs)


def test_a_name_that_is_not_utf8_survives(tmp_path):
    repo = Repo.make(tmp_path / "repo", bare=True)
    name = os.fsdecode(b"caf\xe9")
    tips = []
    for content in ("1\n", "2\n"):
        blob = repo.git("hash-object", "-w", "--stdin", stdin=content.encode())
        entry = os.fsencode(f"100644 blob {blob}\t{name}\0")
        tree = repo.git("mktree", "-z", stdin=entry)
        root = repo.ref(MAIN) or repo.commit_at(MAIN, {})
        tips.append(
            repo.git(
                "-c",
                "user.name=T",
                "-c",
                "user.email=t@x",
                "commit-tree",
                "-p",
                root,
                tree,
            )
        )

    assert MergeResult(None, (name,)) == merged(repo, *tips)


def test_a_file_added_where_the_other_side_renamed_the_folder_conflicts(tmp_path):
    """The case in which libgit2 gives a tree without a conflict."""
    files = {f"old/{n}": f"{n}\n" * 9 for n in range(3)}
    moved = {path.replace("old", "new"): text for path, text in files.items()}
    repo, base, tip = fork(
        tmp_path, files, {"old/more": "x"}, {**dict.fromkeys(files), **moved}
    )

    assert MergeResult(None, ("new/more",)) == merged(repo, base, tip)


def test_a_conflict_that_git_tells_in_words_only_has_a_path(tmp_path):
    """A folder was split in two, so git cannot say where a new file belongs."""
    files = {f"d/{n}": f"{n}\n" * 9 for n in range(4)}
    split = {
        f"e{n % 2}/{n}": text for n, text in enumerate(files.values())
    } | dict.fromkeys(files)
    repo, base, tip = fork(tmp_path, files, {"d/more": "x"}, split)

    assert MergeResult(None, ("d",)) == merged(repo, base, tip)


def test_criss_cross_histories_merge_from_a_merged_base(tmp_path):
    repo, one, two = fork(tmp_path, {"a": "1\n"}, {"b": "1\n"}, {"c": "1\n"})
    files = {"b": "1\n", "c": "1\n"}
    left = repo.commit_at(MAIN, {**files, "d": "1\n"}, parents=(one, two))
    right = repo.commit_at(SIDE, {**files, "a": "2\n"}, parents=(two, one))

    result = merged(repo, left, right)

    assert ["a", "b", "c", "d"] == repo.paths(result.tree)
    assert "2\n" == repo.read("a", result.tree)


def test_unrelated_histories_are_a_value(tmp_path):
    repo, base, _ = fork(tmp_path, {"a": "1"}, {"b": "1"}, {"c": "1"})
    alone = repo.commit_at("refs/heads/alone", {"z": "1"})

    assert MergeResult(None) == merged(repo, base, alone)


def test_an_object_that_is_not_here_is_an_error_and_no_conflict(repo):
    with pytest.raises(GitError):
        merged(repo, repo.head(), ABSENT)


def test_a_submodule_moved_on_both_sides_conflicts(tmp_path):
    repo = Repo.make(tmp_path / "repo", {"a": "1"})
    root, tips = repo.head(), []
    for oid in ("2" * 40, "3" * 40):
        repo.git("reset", "-q", "--hard", root)
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{oid},sub")
        repo.git("commit", "-q", "-m", "sub")
        tips.append(repo.head())

    assert MergeResult(None, ("sub",)) == merged(repo, *tips)


def test_no_merge_driver_of_the_configuration_runs(tmp_path):
    base = {"a": "1\n", ".gitattributes": "a merge=mine\n"}
    repo, ours, theirs = fork(tmp_path, base, {"a": "2\n"}, {"a": "3\n"})
    ran = tmp_path / "ran"
    repo.git("config", "merge.mine.driver", f"touch '{ran}'")
    repo.git("config", "--global", "merge.mine.driver", f"touch '{ran}'")

    found = merged(repo, ours, theirs)

    assert MergeResult(None, ("a",)) == found
    assert not ran.exists()


def test_the_driver_test_would_see_a_driver(tmp_path):
    base = {"a": "1\n", ".gitattributes": "a merge=mine\n"}
    repo, ours, theirs = fork(tmp_path, base, {"a": "2\n"}, {"a": "3\n"})
    ran = tmp_path / "ran"
    repo.git("config", "merge.mine.driver", f"touch '{ran}'")
    (repo.path / ".gitattributes").write_text(base[".gitattributes"])

    repo.git(
        "-c",
        "core.bare=false",
        "--git-dir=.",
        "--work-tree=.",
        "merge-tree",
        "--write-tree",
        ours,
        theirs,
    )

    assert ran.exists()


@pytest.mark.parametrize("where", [".gitattributes", "deep/down/.gitattributes"])
def test_attributes_of_the_base_hold_at_every_depth(tmp_path, where):
    folder = where.removesuffix(".gitattributes")
    repo, base, tip = fork(
        tmp_path,
        {where: "log merge=union\n", f"{folder}log": "1\n"},
        {f"{folder}log": "1\n2\n"},
        {f"{folder}log": "1\n3\n"},
    )

    result = merged(repo, base, tip)

    assert ["1", "2", "3"] == sorted(repo.read(f"{folder}log", result.tree).split())


def test_attributes_of_the_tip_do_not_hold(tmp_path):
    repo, base, tip = fork(
        tmp_path,
        {"log": "1\n"},
        {"log": "1\n2\n"},
        {"log": "1\n3\n", ".gitattributes": "log merge=union\n"},
    )

    assert MergeResult(None, ("log",)) == merged(repo, base, tip)


def test_a_shallow_clone_merges(tmp_path):
    repo, base, tip = fork(tmp_path, {"a": "1"}, {"b": "1"}, {"c": "1"})
    repo.commit_at(MAIN, {"d": "1"})
    shallow = Repo(tmp_path / "shallow")
    repo.git(
        "clone",
        "-q",
        "--no-single-branch",
        "--depth=3",
        f"file://{repo.path}",
        str(shallow.path),
    )

    result = merged(shallow, base, tip)

    assert ["a", "b", "c"] == shallow.paths(result.tree)


def test_a_partial_clone_fetches_what_the_merge_needs(tmp_path):
    text = "".join(f"{n}\n" for n in range(20))
    repo, base, tip = fork(
        tmp_path, {"a": text}, {"a": text + "end\n"}, {"a": "begin\n" + text}
    )
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    part = Repo(tmp_path / "part", bare=True)
    repo.git(
        "clone",
        "-q",
        "--bare",
        "--filter=blob:none",
        f"file://{repo.path}",
        str(part.path),
    )

    result = merged(part, base, tip)

    assert f"begin\n{text}end\n" == part.read("a", result.tree)


def test_invented_names_are_given_back_as_the_sides_name_them():
    sides = ("a" * 40, "b" * 40)
    fields = [f"x~{'a' * 40}", f"y~{'b' * 40}_0", "y", "", "0", "Auto-merging", "…"]

    assert ("x", "y") == conflict_paths(fields, sides)
